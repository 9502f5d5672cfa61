-- Puts entries at the end of a log; for appends of one and of several partitions, and for the
-- markers that end transactions.
--
-- Redis rolls nothing back. So a script does whatever can fail before its first write; that is
-- XADD, which Redis refuses when it is full, when the key is no stream, or when an id is not
-- above the stream's last one; and nothing after it can fail: the keys have been looked at, and
-- a script that has begun to write is not stopped for want of memory.
local SEQUENCES = 2147483648 -- sequence numbers wrap around after int32's largest
local LOG_KEYS, LOG_ARGUMENTS = 6, 13

-- A log from its keys and arguments, which begin at these places; nil where the partition is
-- not that of the topic that the caller means.
local function open_log(key, argument)
  local log = {partition = KEYS[key], stream = KEYS[key + 1], producers = KEYS[key + 2],
    index = KEYS[key + 3], transactions = KEYS[key + 4], aborted = KEYS[key + 5]}
  log.state = load_state(log.partition)
  if log.state.id ~= ARGV[argument] then return nil end
  log.history, log.heard_epoch = ARGV[argument + 1], tonumber(ARGV[argument + 2])
  log.channel, log.format = ARGV[argument + 3], ARGV[argument + 4]
  log.exact, log.sequences = ARGV[argument + 5] == '=', tonumber(ARGV[argument + 6])
  log.retention_ms, log.retention_bytes = tonumber(ARGV[argument + 7]), tonumber(ARGV[argument + 8])
  log.block_records, log.block_bytes = tonumber(ARGV[argument + 9]), tonumber(ARGV[argument + 10])
  log.block_ms, log.stamp_time = tonumber(ARGV[argument + 11]), ARGV[argument + 12] == '1'
  return log
end

-- Fails if a stream's last id is not below this one.
local function check_ahead(stream, id, what)
  -- Fails if it is no stream.
  if redis.call('XLEN', stream) == 0 and redis.call('EXISTS', stream) == 0 then return end
  local info = redis.call('XINFO', 'STREAM', stream)
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' then
      local left, right = split(info[i + 1])
      if not before(left, right, split(id)) then error(what .. ' is ahead of its log') end
    end
  end
end

-- Finds the place of `count` records behind the last one, and makes the log's state true for
-- them. Writes nothing; where a key is not what it should be, fails.
local function place(log, now, count, bytes, latest)
  local state, sequences = log.state, log.sequences
  -- The clock's on time encoding, but never an offset that was given before.
  local left, right = 1, 0
  if sequences ~= 0 then left = now end
  local spot = {previous = state.last or '', points = {}}
  if state.last then
    local last_left, last_right = split(state.last)
    if sequences == 0 or last_left >= left then
      left, right = step(last_left, last_right, 1, sequences)
    end
  end
  spot.left, spot.right = left, right
  spot.base = join(left, right)
  spot.last = join(step(left, right, count - 1, sequences))

  -- Index points: the open block is closed when it has grown old, and when this fills it.
  local points = spot.points
  local function close_block(at)
    points[#points + 1] = {at, 'time', whole(state.appended), 'latest', whole(state.blockLatest),
      'peak', whole(state.peak), 'records', whole(state.records), 'bytes', whole(state.bytes),
      'blockRecords', whole(state.blockRecords), 'blockBytes', whole(state.blockBytes)}
    state.blockRecords, state.blockBytes, state.blockLatest = 0, 0, -1
  end
  observe_history(state, log.history, sequences, log.heard_epoch)
  if state.blockRecords > 0 and now - state.blockSince >= log.block_ms then
    close_block(state.last)
  end
  if state.blockRecords == 0 then state.blockSince = now end
  state.last, state.appended = spot.last, now
  state.records, state.bytes = state.records + count, state.bytes + bytes
  state.blockRecords, state.blockBytes = state.blockRecords + count, state.blockBytes + bytes
  state.blockLatest = math.max(state.blockLatest, latest)
  state.peak = math.max(state.peak, state.blockLatest)
  if state.blockRecords >= log.block_records or state.blockBytes >= log.block_bytes then
    close_block(spot.last)
  end
  -- An index's entries are small, so that XINFO, which shows two of them, costs little.
  if #points > 0 then
    check_ahead(log.index, points[1][1], log.index)
  else
    redis.call('XLEN', log.index)
  end
  -- What trims the log trims this, too.
  if state.open then redis.call('XLEN', log.aborted) end
  return spot
end

-- Writes what belongs to entries that were added, and wakes those who wait with `news`.
local function settle(log, spot, now, news)
  for _, point in ipairs(spot.points) do redis.call('XADD', log.index, unpack(point)) end
  retain(log, now, log.retention_ms, log.retention_bytes, log.exact)
  save_state(log.partition, log.state)
  redis.call('PUBLISH', log.channel, news)
end
