-- Forgets a consumer of a work queue that has nothing pending.
-- KEYS  partition, stream
-- ARGV  topic id, group, consumer
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local pending = redis.pcall('XPENDING', KEYS[2], ARGV[2], '-', '+', 1, ARGV[3])
if not pending.err and #pending == 0 then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[2], ARGV[2], ARGV[3])
end
return {'OK'}
