-- Registers a producer's transaction in a partition, which takes its batches from now on; returns
-- {'OK'}, a refusal, or {'LEFT_OPEN', number, epoch} of an earlier one that nobody has ended.
-- KEYS  partition, producers, transactions
-- ARGV  topic id, producer, epoch, number, coordinator's epoch
local partition, producers, transactions = KEYS[1], KEYS[2], KEYS[3]
local producer, epoch, number = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local coordinator = tonumber(ARGV[5])
local state = load_state(partition)
if state.id ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local known = known_transaction(transactions, producer)
if known then
  if coordinator < known.coordinator then return {'TRANSACTION_COORDINATOR_FENCED'} end
  if epoch < known.epoch then return {'INVALID_PRODUCER_EPOCH'} end
  if number < known.number or (number == known.number and not known.is_open) then
    return {'INVALID_TXN_STATE'}
  end
  if number > known.number and first_written(state, producer) then
    return {'LEFT_OPEN', whole(known.number), whole(known.epoch)}
  end
end
local used = string.match(redis.call('HGET', producers, producer) or '', '^%d+')
if used and epoch < tonumber(used) then return {'INVALID_PRODUCER_EPOCH'} end
-- From now on scripts look at what transactions need, before they write.
if not state.open then redis.call('HSET', partition, 'open', '') end
remember_transaction(transactions, producer, epoch, number, 'open', coordinator, clock_ms())
return {'OK'}
