-- Counts the records from an id on, or up to another; returns them with the log's start and
-- its last id. In one script, so that nothing is appended between the two counts.
-- KEYS  partition, stream, index
-- ARGV  topic id, sequences, format, id, and perhaps the id before which to end
local state = load_state(KEYS[1])
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local log = {stream = KEYS[2], index = KEYS[3], sequences = tonumber(ARGV[2]),
  format = ARGV[3], state = state}
local count = records_from(log, split(ARGV[4]))
if ARGV[5] then count = math.max(0, count - records_from(log, split(ARGV[5]))) end
return {'OK', whole(count), state.start or '', state.last or ''}
