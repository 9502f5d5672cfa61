-- Creates a topic; returns {'OK', version}, or why not.
-- KEYS  topics, topic ids, the topic, catalogue version, then each partition
-- ARGV  name, id, channel, the name with '_' for '.' ('' where that cannot collide), '1' to
--       check only, then field, value, …
local topics, ids, topic, counter = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local name, id, channel, collision = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local existing = redis.call('HGET', topic, 'id')
if existing then return {'EXISTS', existing} end
if collision ~= '' then
  for _, other in ipairs(redis.call('SMEMBERS', topics)) do
    if string.gsub(other, '%.', '_') == collision then return {'COLLIDES', other} end
  end
end
if ARGV[5] == '1' then return {'OK', '0'} end

local version = next_version(counter)
local fields = {'id', id, 'name', name, 'version', version}
for i = 6, #ARGV do fields[#fields + 1] = ARGV[i] end
redis.call('HSET', topic, unpack(fields))
redis.call('HSET', ids, id, name)
redis.call('SADD', topics, name)
local history = current_history()
for i = 5, #KEYS do redis.call('HSET', KEYS[i], 'id', id, 'history', history) end
redis.call('PUBLISH', channel, 'topic:' .. version .. ':' .. name)
return {'OK', version}
