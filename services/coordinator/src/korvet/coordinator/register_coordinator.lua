-- Registers a coordinator or renews its registration, by Redis's clock; returns {'OK', address,
-- incarnation, …} of all that are live, or {'LOST'}: a registration that has lapsed, or was
-- taken by a later run at the same address, is never renewed.
-- KEYS  coordinators
-- ARGV  address, incarnation, ttl in ms, '1' to renew
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local live, renewed = {'OK'}, false
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local expires, incarnation = string.match(all[i + 1], '^(%d+) (%S+)$')
  if not expires or tonumber(expires) <= now then
    redis.call('HDEL', KEYS[1], all[i])
  elseif all[i] ~= ARGV[1] then
    live[#live + 1] = all[i]
    live[#live + 1] = incarnation
  elseif incarnation == ARGV[2] then
    renewed = true
  end
end
if ARGV[4] == '1' and not renewed then return {'LOST'} end
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f %s', now + tonumber(ARGV[3]), ARGV[2]))
live[#live + 1] = ARGV[1]
live[#live + 1] = ARGV[2]
return live
