-- Forgets a work queue; whether there was one.
-- KEYS  the group
local value = redis.call('GET', KEYS[1])
if not value or string.match(value, '^[^\n]*') ~= 'queue' then return 0 end
return redis.call('DEL', KEYS[1])
