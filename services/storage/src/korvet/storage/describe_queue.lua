-- Tells how far a work queue is in a partition; returns {'OK', records that nobody has taken, records
-- that were taken and not acknowledged, the log's last id}, or {'NONE'} where it consumes nothing.
-- KEYS  partition, stream, index, queues
-- ARGV  topic id, sequences, format, group
local state = load_state(KEYS[1])
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local group = ARGV[4]
if redis.call('HEXISTS', KEYS[4], group) == 0 or redis.call('EXISTS', KEYS[2]) == 0 then
  return {'NONE'}
end
local log = {stream = KEYS[2], index = KEYS[3], sequences = tonumber(ARGV[2]), format = ARGV[3],
  state = state}
local delivered = last_delivered(log, group)
if not delivered then return {'NONE'} end
local PENDING_AT_ONCE = 1000

local function pending_records()
  if log.format == 'record' then return redis.call('XPENDING', log.stream, group)[1] end
  local count, from = 0, '-'
  repeat
    local pending = redis.call('XPENDING', log.stream, group, from, '+', PENDING_AT_ONCE)
    for _, item in ipairs(pending) do
      local entry = redis.call('XRANGE', log.stream, item[1], item[1])[1]
      if entry then count = count + records_in(entry, log.format) end
      from = '(' .. item[1]
    end
  until #pending < PENDING_AT_ONCE
  return count
end

local left, right = split(delivered)
local waiting = records_from(log, step(left, right, 1, log.sequences))
return {'OK', whole(waiting), whole(pending_records()), state.last or ''}
