-- Counts records exactly. The index knows how many were appended up to the end of each block,
-- so only the entries of one block have to be looked at.

-- How many records an entry holds. A batch's header has the last one's distance from the first
-- behind base offset, length, epoch, magic, checksum and attributes; what is shorter than a
-- header is no batch.
local function records_in(entry, format)
  if format == 'record' then return 1 end
  local name, batch = entry[2][1], entry[2][2]
  if name ~= 'batch' or #batch < 61 then return 0 end
  return (struct.unpack('>I4', batch, 24)) + 1
end

local function records_up_to(point)
  for i = 1, #point[2], 2 do
    if point[2][i] == 'records' then return tonumber(point[2][i + 1]) end
  end
end

-- The records of the batches from an id to another. The first batch may begin before the id;
-- where the distance is too large for a double, it is larger than any batch.
local function records_in_batches(log, left, right, to)
  local count = 0
  for i, entry in ipairs(redis.call('XRANGE', log.stream, join(left, right), to)) do
    local held = records_in(entry, 'batch')
    if i == 1 then
      local end_left, end_right = split(entry[1])
      local distance = (end_left - left) * math.max(log.sequences, 1) + end_right - right + 1
      held = math.min(held, distance)
    end
    count = count + held
  end
  return count
end

-- The entries from an id to another, on time encoding. Ids of one millisecond follow each other
-- without a hole, since logs are deleted from their heads: so its last entry tells how many there
-- are, and entries that came in batches need not be looked at one by one.
local function count_entries(log, from, to)
  local count, runs = 0, 0
  while runs < 8 or count > 8 * runs do
    local first = redis.call('XRANGE', log.stream, from, to, 'COUNT', 1)[1]
    if not first then return count end
    local left, right = split(first[1])
    local to_left = split(to)
    local run_end = left == to_left and to or join(left, log.sequences)
    local last = redis.call('XREVRANGE', log.stream, run_end, first[1], 'COUNT', 1)[1]
    local _, last_right = split(last[1])
    count, runs, from = count + last_right - right + 1, runs + 1, '(' .. last[1]
  end
  return count + #redis.call('XRANGE', log.stream, from, to)
end

-- The records from an id on that a reader gets. `log` has the keys `stream` and `index`, the
-- topic's `sequences` and `format`, and the partition's `state`.
local function records_from(log, left, right)
  local state = log.state
  if state.start then
    local start_left, start_right = split(state.start)
    if before(left, right, start_left, start_right) then left, right = start_left, start_right end
  end
  if not state.last then return 0 end
  local last_left, last_right = split(state.last)
  if before(last_left, last_right, left, right) then return 0 end
  local to, count = state.last, 0
  local point = redis.call('XRANGE', log.index, join(left, right), '+', 'COUNT', 1)[1]
  if point then to, count = point[1], state.records - records_up_to(point) end
  -- On a dense log from which nothing was ever left out, records are as many as ids.
  local to_left = split(to)
  if log.sequences == 0 and state.records - count == to_left then
    return count + to_left - left + 1
  end
  if log.format == 'batch' then return count + records_in_batches(log, left, right, to) end
  return count + count_entries(log, join(left, right), to)
end
