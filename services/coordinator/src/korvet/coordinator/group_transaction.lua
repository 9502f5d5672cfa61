-- What a group remembers of a producer's last transaction: "epoch number state coordinator time",
-- where the state is 'open' or 'ended'.
local function last_transaction(key, producer)
  local value = redis.call('HGET', key, producer)
  if not value then return nil end
  local epoch, number, state, coordinator = string.match(value, '^(%d+) (%d+) (%a+) (%d+) ')
  return {epoch = tonumber(epoch), number = tonumber(number), is_open = state == 'open',
    coordinator = tonumber(coordinator)}
end

local function remember(key, producer, epoch, number, state, coordinator)
  local time = redis.call('TIME')
  local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
  redis.call('HSET', key, producer,
    string.format('%.0f %.0f %s %.0f %s', epoch, number, state, coordinator, now))
end

-- Of those that wait for a producer's transaction, the stream keys.
local function pending_streams(key, producer)
  local prefix, found = producer .. ' ', {}
  for _, field in ipairs(redis.call('HKEYS', key)) do
    if string.sub(field, 1, #prefix) == prefix then
      found[#found + 1] = string.sub(field, #prefix + 1)
    end
  end
  return found
end
