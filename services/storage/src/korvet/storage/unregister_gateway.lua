-- Withdraws a gateway's registration, if it is still its own; returns whether it was.
-- KEYS  gateways
-- ARGV  channel, node id, incarnation
local current = redis.call('HGET', KEYS[1], ARGV[2])
local body = current and string.match(current, '^%d+ (.*)$')
if not body or cjson.decode(body).incarnation ~= ARGV[3] then return 0 end
redis.call('HDEL', KEYS[1], ARGV[2])
redis.call('PUBLISH', ARGV[1], 'gateways')
return 1
