-- Withdraws a registration, unless a later run at the same address has its own by now.
-- KEYS  coordinators
-- ARGV  address, incarnation
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value and string.match(value, '(%S+)$') == ARGV[2] then redis.call('HDEL', KEYS[1], ARGV[1]) end
return {'OK'}
