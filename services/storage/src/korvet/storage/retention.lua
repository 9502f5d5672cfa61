-- Trimming, for appends, the sweeper and DeleteRecords alike. `log` has the keys `stream`,
-- `index` and `aborted`, the topic's `sequences` and `format`, and the partition's `state`. Once
-- the keys are known to be of the right types, nothing here can fail, whatever is in them.
--
-- The log's start is one past the last record that was deleted, not the first one that is
-- left: ids have gaps, and a consumer that stands in one, having read everything before it,
-- has missed nothing and must not be told that its offset is out of range.

-- What an index entry tells: its time, the log's records and bytes up to it, and those of its
-- block alone. Nil where it cannot be true: what others have added or damaged is passed over.
-- Its fields are time, latest, peak, records, bytes, blockRecords, blockBytes.
local function read_point(log, entry)
  local fields, state = entry[2], log.state
  local time, records, bytes = tonumber(fields[2]), tonumber(fields[8]), tonumber(fields[10])
  local block_records, block_bytes = tonumber(fields[12]), tonumber(fields[14])
  if time and records and bytes and block_records and block_bytes
    and 0 <= time and time <= LARGEST
    and 0 <= block_records and block_records <= records and records <= state.records
    and 0 <= block_bytes and block_bytes <= bytes and bytes <= state.bytes then
    return {id = entry[1], time = time, records = records, bytes = bytes,
      block_records = block_records, block_bytes = block_bytes}
  end
end

-- Calls with the index's points, from the head on, for as long as that returns true.
local function visit_points(log, visit)
  local from, count = '-', 1
  while true do
    local page = redis.call('XRANGE', log.index, from, log.state.last, 'COUNT', count)
    for _, entry in ipairs(page) do
      local point = read_point(log, entry)
      if point and not visit(point) then return end
    end
    if #page < count then return end
    from, count = '(' .. page[count][1], 32
  end
end

-- The last point of those, from the head on, that all satisfy a condition.
local function last_point(log, satisfies)
  local found
  visit_points(log, function(point)
    if not satisfies(point) then return false end
    found = point
    return true
  end)
  return found
end

-- The block that the log begins with: the records and bytes before it, and in it.
local function oldest_block(log)
  local state = log.state
  local records, bytes = state.records, state.bytes
  local block_records, block_bytes = state.blockRecords, state.blockBytes
  visit_points(log, function(point)
    records, bytes = point.records, point.bytes
    block_records, block_bytes = point.block_records, point.block_bytes
    return false
  end)
  return math.max(records - block_records, 0), math.max(bytes - block_bytes, 0),
    block_records, block_bytes
end

-- What comes after an id that need not be a record's: others may add what lies ahead of the log,
-- and on time encoding what lies behind all records of a millisecond.
local function behind(log, id)
  local left, right = split(id)
  local last_left, last_right = split(log.state.last)
  if before(last_left, last_right, left, right) then left, right = last_left, last_right end
  return step(left, math.min(right, log.sequences - 1), 1, log.sequences)
end

local function start_at(log, left, right)
  local state = log.state
  if state.start then
    local start_left, start_right = split(state.start)
    if not before(start_left, start_right, left, right) then return end
  end
  state.start = join(left, right)
end

local function between(low, value, high) return math.max(low, math.min(value, high)) end

-- Makes index and counters true for the log's new start. They are exact where records can be
-- counted, on dense topics by their ids and on record topics by their entries; elsewhere to
-- a block, within which `bytes` is a guess at what went.
local function recount(log, bytes)
  local state = log.state
  if state.open then redis.call('XTRIM', log.aborted, 'MINID', state.start) end
  local length = redis.call('XLEN', log.stream)
  if length == 0 then
    redis.call('XTRIM', log.index, 'MAXLEN', 0)
    state.trimmedRecords, state.trimmedBytes = state.records, state.bytes
    state.blockRecords, state.blockBytes, state.blockLatest = 0, 0, -1
    return
  end
  redis.call('XTRIM', log.index, 'MINID', state.start)
  local first_record, first_byte, block_records, block_bytes = oldest_block(log)
  local gone, share = nil, 0
  if log.sequences == 0 then
    gone = split(state.start) - 1
  elseif log.format == 'record' then
    gone = state.records - length
  end
  if gone then
    local records = between(first_record, gone, first_record + block_records)
    state.trimmedRecords = math.floor(records)
    if block_records > 0 then share = (state.trimmedRecords - first_record) / block_records end
    state.trimmedBytes = math.floor(first_byte + share * block_bytes)
  else
    bytes = between(first_byte, state.trimmedBytes + bytes, first_byte + block_bytes)
    state.trimmedBytes = math.floor(bytes)
    if block_bytes > 0 then share = (state.trimmedBytes - first_byte) / block_bytes end
    state.trimmedRecords = math.floor(first_record + share * block_records)
  end
end

-- Everything up to this id has gone, about so many bytes.
local function account(log, through, bytes)
  start_at(log, behind(log, through))
  recount(log, bytes)
end

-- Deletes everything below an id; returns whether there was anything.
local function delete_below(log, id)
  -- Asked from the head first: where nothing is below, Redis walks the whole stream to find
  -- the last entry below.
  if id == '0-0' or #redis.call('XRANGE', log.stream, '-', '(' .. id, 'COUNT', 1) == 0 then
    return false
  end
  local last = redis.call('XREVRANGE', log.stream, '(' .. id, '-', 'COUNT', 1)[1]
  local mean = (log.state.bytes - log.state.trimmedBytes) / redis.call('XLEN', log.stream)
  local removed = redis.call('XTRIM', log.stream, 'MINID', '=', id)
  account(log, last[1], removed * mean)
  return true
end

-- Deletes whole blocks, up to the one that ends with this point.
local function delete_blocks(log, point)
  redis.call('XTRIM', log.stream, 'MINID', '=', join(behind(log, point.id)))
  account(log, point.id, point.bytes - log.state.trimmedBytes)
end

-- By age. On time encoding the ids tell the time of the append, to the millisecond; on dense
-- topics, and with approximate trimming, whole blocks of the index go.
local function delete_expired(log, cutoff, exact)
  if cutoff <= 0 then return false end
  if log.sequences ~= 0 and exact then return delete_below(log, join(cutoff, 0)) end
  if log.state.appended < cutoff then
    redis.call('XTRIM', log.stream, 'MAXLEN', 0)
    account(log, log.state.last, 0)
    return true
  end
  local point = last_point(log, function(point) return point.time < cutoff end)
  if point then delete_blocks(log, point) end
  return point ~= nil
end

-- By size: whole blocks first, then entries of the oldest one that is left, records by their
-- mean size and batches by their own. As in Kafka no less than `keep` bytes stay; and never
-- less than one entry.
local function delete_surplus(log, keep, exact)
  local state = log.state
  local surplus = state.bytes - state.trimmedBytes - keep
  if surplus <= 0 then return false end
  local point = last_point(log, function(point)
    return point.bytes < state.bytes and point.bytes - state.trimmedBytes <= surplus
  end)
  if point then
    delete_blocks(log, point)
    surplus = state.bytes - state.trimmedBytes - keep
  end
  if not exact or surplus <= 0 then return point ~= nil end
  local length = redis.call('XLEN', log.stream)
  local _, _, block_records, block_bytes = oldest_block(log)
  local last, bytes = nil, 0
  if block_bytes <= 0 then return point ~= nil end -- its points are missing
  if log.format == 'record' then
    local count = math.min(length - 1, math.floor(surplus * block_records / block_bytes))
    if count >= 1 then
      redis.call('XTRIM', log.stream, 'MAXLEN', '=', length - count + 1)
      last = redis.call('XRANGE', log.stream, '-', '+', 'COUNT', 1)[1]
      redis.call('XTRIM', log.stream, 'MAXLEN', '=', length - count)
    end
  elseif block_bytes <= 524288 then
    -- A larger block is most likely a single batch, and then not worth reading.
    while length > 1 do
      local head = redis.call('XRANGE', log.stream, '-', '+', 'COUNT', 1)[1]
      bytes = bytes + #head[2][2]
      if bytes > surplus then
        bytes = bytes - #head[2][2]
        break
      end
      last, length = head, length - 1
      redis.call('XTRIM', log.stream, 'MAXLEN', '=', length)
    end
  end
  if last then account(log, last[1], bytes) end
  return point ~= nil or last ~= nil
end

-- Applies a topic's retention; a negative limit means none. Returns whether anything went.
local function retain(log, now, retention_ms, retention_bytes, exact)
  if not log.state.last or redis.call('XLEN', log.stream) == 0 then return false end
  local expired = retention_ms >= 0 and delete_expired(log, now - retention_ms, exact)
  local surplus = retention_bytes >= 0 and delete_surplus(log, retention_bytes, exact)
  return expired or surplus
end
