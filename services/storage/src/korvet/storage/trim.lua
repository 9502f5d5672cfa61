-- Applies retention to a partition that nobody may be writing to, and deletes everything
-- below ARGV[7], an id, where that is given ('end': everything).
-- KEYS  partition, stream, index, aborted
-- ARGV  topic id, sequences, format, retention ms, retention bytes, "=" or "~", cut
local partition = KEYS[1]
local log = {stream = KEYS[2], index = KEYS[3], aborted = KEYS[4],
  sequences = tonumber(ARGV[2]), format = ARGV[3]}
local retention_ms, retention_bytes = tonumber(ARGV[4]), tonumber(ARGV[5])
local exact, cut = ARGV[6] == '=', ARGV[7]
local state = load_state(partition)
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
log.state = state
-- Whatever can fail comes before the first write: these, if a key is no stream.
redis.call('XLEN', log.stream)
redis.call('XLEN', log.index)
redis.call('XLEN', log.aborted)

-- What comes after the last record; on a log without any that is offset 0.
local next_left, next_right = log.sequences == 0 and 1 or 0, 0
if state.last then
  local left, right = split(state.last)
  next_left, next_right = step(left, right, 1, log.sequences)
end
local changed = false
if cut ~= '' then
  if cut == 'end' then cut = join(next_left, next_right) end
  local left, right = split(cut)
  if before(next_left, next_right, left, right) then return {'OFFSET_OUT_OF_RANGE'} end
  if state.last then
    delete_below(log, cut)
    -- A cut through the middle of a batch leaves its entry, yet the log starts at the cut.
    start_at(log, left, right)
    recount(log, 0)
    changed = true
  end
end
changed = retain(log, clock_ms(), retention_ms, retention_bytes, exact) or changed
if changed then save_state(partition, state) end
return {'OK', state.start or ''}
