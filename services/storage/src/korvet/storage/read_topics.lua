-- Reads topics at one moment; returns the catalogue's version then, and each one's fields.
-- KEYS  catalogue version, then the topics
-- A script and no MULTI, which a full Redis refuses.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
local found = {string.format('%.0f', math.max(now, last))}
for i = 2, #KEYS do found[i] = redis.call('HGETALL', KEYS[i]) end
return found
