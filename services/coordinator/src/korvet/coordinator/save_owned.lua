-- Saves the state of something that has an owner, if nobody else has saved it since; what is
-- new is listed at once, so that it is never there and not found. Returns {'OK'} or {'CHANGED'}.
-- KEYS  its value, the set of all names
-- ARGV  the first line of the value that is replaced ('' where there is none), the new value,
--       its name
local value = redis.call('GET', KEYS[1])
local head = value and string.match(value, '^[^\n]*') or ''
if head ~= ARGV[1] then return {'CHANGED'} end
if not value then redis.call('SADD', KEYS[2], ARGV[3]) end
redis.call('SET', KEYS[1], ARGV[2])
return {'OK'}
