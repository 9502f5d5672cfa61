-- Destroys a Redis consumer group, if it is there; whoever takes work from it is told to look. A
-- work queue's is left alone, unless it is what is meant.
-- KEYS  partition, stream, queues
-- ARGV  topic id, group, '1' if it is a work queue's, channel
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
-- A Kafka group's end may be told late, when the name is a queue's.
if ARGV[3] ~= '1' and redis.call('HEXISTS', KEYS[3], ARGV[2]) == 1 then return {'OK'} end
redis.call('HDEL', KEYS[3], ARGV[2])
if redis.call('EXISTS', KEYS[2]) == 1 and redis.call('XGROUP', 'DESTROY', KEYS[2], ARGV[2]) == 1 then
  redis.call('PUBLISH', ARGV[4], 'destroyed')
end
return {'OK'}
