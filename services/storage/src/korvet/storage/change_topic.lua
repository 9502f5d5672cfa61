-- Changes a topic that is still as the caller has read it; returns {'OK', version},
-- {'GONE'} or {'CHANGED'}.
-- KEYS  the topic, catalogue version, then each partition that is added
-- ARGV  name, id, the version that was read, channel, how many fields to remove,
--       those, then field, value, …
local topic, counter = KEYS[1], KEYS[2]
local name, id, expected, channel, removed = ARGV[1], ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])

local current = redis.call('HMGET', topic, 'id', 'version')
if current[1] ~= id then return {'GONE'} end
if current[2] ~= expected then return {'CHANGED'} end

local version = next_version(counter)
local fields = {'version', version}
for i = 6 + removed, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', topic, unpack(fields))
for i = 6, 5 + removed do redis.call('HDEL', topic, ARGV[i]) end
local history = #KEYS > 2 and current_history()
for i = 3, #KEYS do redis.call('HSET', KEYS[i], 'id', id, 'history', history) end
redis.call('PUBLISH', channel, 'topic:' .. version .. ':' .. name)
return {'OK', version}
