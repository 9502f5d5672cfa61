-- Ends a producer's transaction in a partition, once: with a marker where it has written anything.
-- Returns {'OK'}, a refusal, or {'LEFT_OPEN', number, epoch} of an earlier one that is to be
-- ended before.
-- KEYS  of the log (`open_log`)
-- ARGV  of the log, then producer, epoch from now on, number, coordinator's epoch, 'commit' or
--       'abort', the marker's bytes, and on batch topics the marker
local log = open_log(1, 1)
if not log then return {'UNKNOWN_TOPIC'} end
local at = 1 + LOG_ARGUMENTS
local producer, epoch, number = ARGV[at], tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
local coordinator, outcome = tonumber(ARGV[at + 3]), ARGV[at + 4]
local bytes, marker = tonumber(ARGV[at + 5]), ARGV[at + 6]
local state, now = log.state, clock_ms()
local first = first_written(state, producer)

local known = known_transaction(log.transactions, producer)
if known then
  if coordinator < known.coordinator then return {'TRANSACTION_COORDINATOR_FENCED'} end
  if number < known.number or (number == known.number and not known.is_open) then
    return {'OK'}
  end
  if number > known.number and first then
    return {'LEFT_OPEN', whole(known.number), whole(known.epoch)}
  end
  epoch = math.max(epoch, known.epoch)
end
local used, rest = string.match(redis.call('HGET', log.producers, producer) or '',
  '^(%d+) %d+ (.*)$')
used = tonumber(used)

-- From now on lower epochs are refused, and what comes late cannot begin this one again. Nor
-- does its producer begin in the middle: as in Kafka, whose markers tell of transactions without
-- records, too, its epoch is known here.
local function remember()
  remember_transaction(log.transactions, producer, epoch, number, 'ended', coordinator, now)
  if not used or epoch > used then used, rest = epoch, '' end
  redis.call('HSET', log.producers, producer, whole(used) .. ' ' .. whole(now) .. ' ' .. rest)
end

if not first then
  remember()
  return {'OK'}
end
-- A marker's time counts for nothing: nobody looks for it.
local spot = place(log, now, 1, bytes, -1)
if outcome == 'abort' then check_ahead(log.aborted, spot.last, log.aborted) end
if log.format == 'batch' then
  redis.call('XADD', log.stream, spot.last, 'batch', marker)
else
  redis.call('XADD', log.stream, spot.last, 'control', outcome,
    'producer', producer .. ':' .. whole(epoch), 'coordinator', whole(coordinator),
    'timestamp', whole(now))
end
local oldest = remove_open(state, producer)
if outcome == 'abort' then
  local left, right = split(spot.last)
  local stable = oldest or join(step(left, right, 1, log.sequences))
  redis.call('XADD', log.aborted, spot.last, 'producer', producer, 'first', first,
    'stable', stable)
end
remember()
-- Not a count of bytes: what was there before becomes visible with it.
settle(log, spot, now, 'ended')
return {'OK'}
