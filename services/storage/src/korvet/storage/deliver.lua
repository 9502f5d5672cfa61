-- Delivers to a Redis consumer what a fetch has just read, so that XPENDING shows who has it.
-- The group is made where it is missing, and moved where the fetch was not the next in line. An
-- entry that is pending from an earlier delivery is then the new consumer's. A work queue's group
-- is left alone.
-- KEYS  partition, stream, index, queues
-- ARGV  topic id, sequences, group, consumer, the id before the fetch offset, '1' if Redis
--       takes ENTRIESREAD, how many entries were read, the first one's id and the last one's
local state = load_state(KEYS[1])
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
if redis.call('EXISTS', KEYS[2]) == 0 then return {'OK'} end
local log = {stream = KEYS[2], index = KEYS[3], sequences = tonumber(ARGV[2]),
  format = 'record', state = state}
local group, consumer, position, counts = ARGV[3], ARGV[4], ARGV[5], ARGV[6] == '1'
local count, first, last = tonumber(ARGV[7]), ARGV[8], ARGV[9]
if redis.call('HEXISTS', KEYS[4], group) == 1 then return {'OK'} end

local delivered = last_delivered(log, group)
if not delivered then
  set_position(log, group, position, counts)
  delivered = position
end
if count == 0 then return {'OK'} end
local following = redis.call('XRANGE', log.stream, '(' .. delivered, '+', 'COUNT', 1)[1]
if not following or following[1] ~= first then
  -- Logs are trimmed from their head: if the first entry is there, all of them are.
  local left = redis.call('XRANGE', log.stream, first, last, 'COUNT', 1)[1]
  if not left then return {'OK'} end
  if left[1] ~= first then
    first = left[1]
    count = #redis.call('XRANGE', log.stream, first, last)
  end
  local first_left, first_right = split(first)
  set_position(log, group, join(step(first_left, first_right, -1, log.sequences)), counts)
end
redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', count, 'STREAMS', log.stream, '>')
return {'OK'}
