-- Forgets transactions of a group that ended long ago.
-- KEYS  the group's transactions
-- ARGV  ended before, in ms
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local state, time = string.match(all[i + 1], '^%d+ %d+ (%a+) %d+ (%d+)$')
  if state == 'ended' and tonumber(time) < tonumber(ARGV[1]) then
    redis.call('HDEL', KEYS[1], all[i])
  end
end
return {'OK'}
