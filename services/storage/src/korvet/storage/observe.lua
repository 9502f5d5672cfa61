-- Notices a new history of Redis on one partition; returns its epochs.
-- KEYS  partition
-- ARGV  topic id, history, sequences, the highest epoch heard of
local state = load_state(KEYS[1])
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
if observe_history(state, ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])) then
  save_state(KEYS[1], state)
end
return {'OK', state.epochs or ''}
