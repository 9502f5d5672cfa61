-- Makes sure that a work queue has its Redis group on a partition, and the consumer in it. What
-- Kafka's consumers or a deleted queue of the name have left there is not the queue's.
-- KEYS  partition, stream, queues
-- ARGV  topic id, group, consumer, the queue's id, the id before the first entry that a new group
--       gets
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local group = ARGV[2]
if redis.call('HGET', KEYS[3], group) ~= ARGV[4] then
  if redis.call('EXISTS', KEYS[2]) == 1 then redis.call('XGROUP', 'DESTROY', KEYS[2], group) end
  redis.call('HSET', KEYS[3], group, ARGV[4])
end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[2], group, ARGV[5], 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return made end
redis.call('XGROUP', 'CREATECONSUMER', KEYS[2], group, ARGV[3])
return {'OK'}
