-- Returns address, incarnation, … of the coordinators that are live by Redis's clock.
-- KEYS  coordinators
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local live = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local expires, incarnation = string.match(all[i + 1], '^(%d+) (%S+)$')
  if expires and tonumber(expires) > now then
    live[#live + 1] = all[i]
    live[#live + 1] = incarnation
  end
end
return live
