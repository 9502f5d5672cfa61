-- Registers a gateway or renews its registration; returns {'OK', live gateways…}, or
-- {'DUPLICATE', the live one} where another gateway has its node id.
-- KEYS  gateways
-- ARGV  channel, node id, incarnation, ttl in ms, the gateway as JSON
local gateways = KEYS[1]
local channel, node, incarnation = ARGV[1], ARGV[2], ARGV[3]
local ttl, body = tonumber(ARGV[4]), ARGV[5]

-- Redis's clock, so that those of gateways and storages need not agree.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- An earlier run at the same address is dead, or this one could not listen there. Its place
-- is taken at once, so that the gateway is listed without a gap.
local function is_another(other)
  local theirs, ours = cjson.decode(other), cjson.decode(body)
  local has_moved = theirs.host ~= ours.host or theirs.port ~= ours.port
  return theirs.incarnation ~= incarnation and has_moved
end

local live, lapsed, current = {'OK', body}, {node}, nil
local all = redis.call('HGETALL', gateways)
for i = 1, #all, 2 do
  local expires, other = string.match(all[i + 1], '^(%d+) (.*)$')
  if not expires or tonumber(expires) <= now then
    lapsed[#lapsed + 1] = all[i]
  elseif all[i] == node then
    if is_another(other) then return {'DUPLICATE', other} end
    current = other
  else
    live[#live + 1] = other
  end
end

-- HDEL comes first: a full Redis lets a script write once it has begun with something that
-- needs no memory, and live gateways must not lapse because Redis is full.
redis.call('HDEL', gateways, unpack(lapsed))
redis.call('HSET', gateways, node, string.format('%.0f ', now + ttl) .. body)
if current ~= body or #lapsed > 1 then redis.call('PUBLISH', channel, 'gateways') end
return live
