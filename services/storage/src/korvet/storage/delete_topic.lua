-- Takes a topic out of the catalogue and retires its keys; returns {'OK', version},
-- {'GONE'} or {'CHANGED'}. Nothing is freed here, so it is quick however large the log is.
-- KEYS  topics, topic ids, the topic, catalogue version, deletions, then for each key of
--       each partition: its name, its retired name
-- ARGV  name, id, partition count, channel, then the channel of each partition
local topics, ids, topic, counter, deletions = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local name, id, partitions, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local current = redis.call('HMGET', topic, 'id', 'partitions')
if current[1] ~= id then return {'GONE'} end
if current[2] ~= partitions then return {'CHANGED'} end

-- A full Redis refuses a script's first write if it could need memory, but none after
-- that. SREM needs none, so that topics can be deleted when that is needed most.
redis.call('SREM', topics, name)
redis.call('HSET', deletions, id, partitions .. ':' .. name)
redis.call('HDEL', ids, id)
redis.call('DEL', topic)
for i = 6, #KEYS, 2 do
  if redis.call('EXISTS', KEYS[i]) == 1 then redis.call('RENAME', KEYS[i], KEYS[i + 1]) end
end
local version = next_version(counter)
redis.call('PUBLISH', channel, 'deleted:' .. version .. ':' .. name .. ':' .. id)
-- Whoever waits for records there learns that none will come.
for i = 5, #ARGV do redis.call('PUBLISH', ARGV[i], 'deleted') end
return {'OK', version}
