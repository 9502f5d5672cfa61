-- Makes sure that a work queue has its Redis group on a partition, and the consumer in it.
-- KEYS  partition, stream
-- ARGV  topic id, group, consumer, the id before the first entry that a new group gets
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local made = redis.pcall('XGROUP', 'CREATE', KEYS[2], ARGV[2], ARGV[4], 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP', 1, true) then return made end
redis.call('XGROUP', 'CREATECONSUMER', KEYS[2], ARGV[2], ARGV[3])
return {'OK'}
