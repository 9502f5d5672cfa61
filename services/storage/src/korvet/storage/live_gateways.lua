-- Returns the gateways whose registration has not lapsed, by Redis's clock.
-- KEYS  gateways
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local live = {}
for _, value in ipairs(redis.call('HVALS', KEYS[1])) do
  local expires, body = string.match(value, '^(%d+) (.*)$')
  if expires and tonumber(expires) > now then live[#live + 1] = body end
end
return live
