-- Shows a committed position as a Redis consumer group. Where fetches are delivered through the
-- group, what lies before the position is acknowledged, whoever has it, and the group itself
-- only moves ahead: what was delivered behind the position stays pending. A work queue's group is
-- left alone, whoever was called like it before.
-- KEYS  partition, stream, index, queues
-- ARGV  topic id, sequences, group, the id before the position, '1' if Redis takes
--       ENTRIESREAD, '1' if fetches are delivered
local state = load_state(KEYS[1])
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
-- Nothing was ever written: there is nothing to show yet.
if redis.call('EXISTS', KEYS[2]) == 0 then return {'OK'} end
local log = {stream = KEYS[2], index = KEYS[3], sequences = tonumber(ARGV[2]),
  format = 'record', state = state}
local group, position, counts = ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('HEXISTS', KEYS[4], group) == 1 then return {'OK'} end
local PENDING_AT_ONCE = 1000

if ARGV[6] == '1' then
  local delivered = last_delivered(log, group)
  if delivered then
    repeat
      local pending = redis.call('XPENDING', log.stream, group, '-', position, PENDING_AT_ONCE)
      local ids = {}
      for i, item in ipairs(pending) do ids[i] = item[1] end
      if #ids > 0 then redis.call('XACK', log.stream, group, unpack(ids)) end
    until #pending < PENDING_AT_ONCE
    local left, right = split(delivered)
    if not before(left, right, split(position)) then return {'OK'} end
  end
end
set_position(log, group, position, counts)
return {'OK'}
