-- Ids are kept as two numbers: an offset (ms << bits) can exceed 2^53, from where on Lua's
-- doubles are wrong. `sequences` is how many ids share one left half, 0 on dense topics,
-- whose right half is always 0.
local function split(id)
  local left, right = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(left), tonumber(right)
end

-- '..' is quick, but writes numbers from 1e14 on in scientific notation.
local function whole(number)
  if number < 1e14 then return number .. '' end
  return string.format('%.0f', number)
end

local function join(left, right) return whole(left) .. '-' .. whole(right) end

-- The id `count` records further on; backwards where count is negative.
local function step(left, right, count, sequences)
  if sequences == 0 then return left + count, 0 end
  local total = right + count
  local carry = math.floor(total / sequences)
  return left + carry, total - carry * sequences
end

local function before(left, right, other_left, other_right)
  return left < other_left or (left == other_left and right < other_right)
end

local function clock_ms()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

-- A partition's hash as a table, and the way back. `start` is absent until something was
-- deleted, `last` until something was written, `open` until a transaction was.
local STATE = {'id', 'last', 'start', 'history', 'epochs', 'records', 'bytes',
  'trimmedRecords', 'trimmedBytes', 'blockRecords', 'blockBytes', 'blockSince',
  'blockLatest', 'peak', 'appended', 'open'}
local COUNTERS = {records = 0, bytes = 0, trimmedRecords = 0, trimmedBytes = 0,
  blockRecords = 0, blockBytes = 0, blockSince = 0, blockLatest = -1, peak = -1, appended = 0}

-- Up to here a double counts by ones, with room for a batch more.
local LARGEST = 2 ^ 53 - 2 ^ 32
-- Of counters, which may be inexact: no timestamp is larger.
local LARGEST_COUNTER = 2 ^ 63

local function is_id(value)
  local left, right = split(value)
  -- Redis reads no ids that are longer, whatever zeros they begin with.
  return left and left <= LARGEST and right <= LARGEST and #value < 128
end

-- Fails on what is not a state, so that no script finds out when it has begun to write.
local function load_state(key)
  local values = redis.call('HMGET', key, unpack(STATE))
  local state = {}
  for i, name in ipairs(STATE) do
    local value = values[i] or nil
    local valid = true
    if COUNTERS[name] then
      value = tonumber(value or COUNTERS[name])
      -- No comparison is true of `nan`.
      valid = value and value >= -1 and value <= LARGEST_COUNTER
    elseif value and (name == 'last' or name == 'start') then
      valid = is_id(value)
    elseif value and name == 'open' then
      valid = string.match(value, '^[%d:%- ]*$')
    end
    if not valid then error(name .. ' of ' .. key .. ' is malformed') end
    state[name] = value
  end
  return state
end

local function save_state(key, state)
  local pairs_ = {}
  for _, name in ipairs(STATE) do
    local value = state[name]
    if value ~= nil then
      pairs_[#pairs_ + 1] = name
      pairs_[#pairs_ + 1] = COUNTERS[name] and whole(value) or value
    end
  end
  redis.call('HSET', key, unpack(pairs_))
end
