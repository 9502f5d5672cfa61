-- Gives away the next producer id; returns it as text.
-- KEYS  producer ids
-- Not below the clock's milliseconds: a Redis that has lost its newest writes then does not
-- give an id to a second producer.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local id = math.max(tonumber(redis.call('GET', KEYS[1]) or 0) + 1, now)
local text = string.format('%.0f', id)
redis.call('SET', KEYS[1], text)
return text
