-- What a partition knows of producers' transactions. In the hash `transactions` each producer has
-- its last one: "epoch number open|ended coordinator's-epoch time". Those of them that have
-- written are in the state's `open`, oldest first: "producer:first id producer:first id …".
local function known_transaction(key, producer)
  local value = redis.call('HGET', key, producer)
  if not value then return nil end
  local epoch, number, status, coordinator =
    string.match(value, '^(%d+) (%d+) (%a+) (%d+) %d+$')
  if not epoch then error('producer ' .. producer .. ' of ' .. key .. ' is malformed') end
  return {epoch = tonumber(epoch), number = tonumber(number), is_open = status == 'open',
    coordinator = tonumber(coordinator)}
end

local function remember_transaction(key, producer, epoch, number, status, coordinator, now)
  redis.call('HSET', key, producer, whole(epoch) .. ' ' .. whole(number) .. ' ' .. status .. ' '
    .. whole(coordinator) .. ' ' .. whole(now))
end

-- The first id of what a producer's open transaction has written here; nil: nothing.
local function first_written(state, producer)
  return string.match(' ' .. (state.open or ''), ' ' .. producer .. ':(%d+%-%d+)')
end

local function add_open(state, producer, first)
  local open = state.open or ''
  state.open = open .. (open == '' and '' or ' ') .. producer .. ':' .. first
end

-- Takes a producer's transaction out; the first id of the oldest that is left, or nil.
local function remove_open(state, producer)
  local kept = {}
  for entry in string.gmatch(state.open, '%S+') do
    if string.match(entry, '^%d+') ~= producer then kept[#kept + 1] = entry end
  end
  state.open = table.concat(kept, ' ')
  return string.match(state.open, '^%d+:(%d+%-%d+)')
end

-- Why a producer's batch has no place here; nil: it has.
local function transaction_refusal(log, batch)
  if not batch.transactional then
    return first_written(log.state, batch.producer) and 'INVALID_TXN_STATE'
  end
  local known = known_transaction(log.transactions, batch.producer)
  if known and batch.epoch < known.epoch then return 'INVALID_PRODUCER_EPOCH' end
  -- Without its registration nobody would ever end what this begins.
  if not known or not known.is_open or batch.epoch > known.epoch then
    return 'INVALID_TXN_STATE'
  end
end
