-- Destroys a Redis consumer group, if it is there; whoever takes work from it is told to look.
-- KEYS  partition, stream
-- ARGV  topic id, group, channel
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
if redis.call('EXISTS', KEYS[2]) == 1 and redis.call('XGROUP', 'DESTROY', KEYS[2], ARGV[2]) == 1 then
  redis.call('PUBLISH', ARGV[3], 'destroyed')
end
return {'OK'}
