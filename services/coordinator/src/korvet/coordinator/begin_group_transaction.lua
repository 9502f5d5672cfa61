-- Registers a producer's transaction with a group; returns {'OK'}, or why it is refused: {'ENDED'},
-- {'PRODUCER_FENCED'} or {'COORDINATOR_FENCED'}. May be repeated.
-- KEYS  the group's transactions
-- ARGV  producer id, epoch, number, coordinator's epoch
local epoch, number, coordinator = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local last = last_transaction(KEYS[1], ARGV[1])
if last then
  if coordinator < last.coordinator then return {'COORDINATOR_FENCED'} end
  if number < last.number or (number == last.number and not last.is_open) then return {'ENDED'} end
  if epoch < last.epoch then return {'PRODUCER_FENCED'} end
end
remember(KEYS[1], ARGV[1], epoch, number, 'open', coordinator)
redis.call('PERSIST', KEYS[1])
return {'OK'}
