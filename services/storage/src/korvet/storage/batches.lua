-- One batch for one log: its arguments, and whether it may be appended.
local BATCH_ARGUMENTS = 8

-- A batch from its arguments, which begin at this place. Then comes the payload.
local function read_batch(argument)
  return {count = tonumber(ARGV[argument]), bytes = tonumber(ARGV[argument + 1]),
    latest = tonumber(ARGV[argument + 2]), producer = ARGV[argument + 3],
    epoch = tonumber(ARGV[argument + 4]), sequence = tonumber(ARGV[argument + 5]),
    expiry = tonumber(ARGV[argument + 6]), transactional = ARGV[argument + 7] ~= '',
    own_epoch = ARGV[argument + 7] == 'own epoch', payload = argument + BATCH_ARGUMENTS}
end

-- Whether the batch is its producer's next: nil, or why not, as the script's answer. Keeps the
-- producer's last batches, newest last, in `batch.earlier`: "sequence:count:base id:time".
local function sequence_refusal(log, batch, now)
  local earlier = {}
  batch.earlier = earlier
  local known = redis.call('HGET', log.producers, batch.producer)
  if not known then return nil end
  local known_epoch, used, rest = string.match(known, '^(%d+) (%d+) (.*)$')
  known_epoch = tonumber(known_epoch)
  -- As in Kafka, nobody expires whose transaction is open here.
  if now - tonumber(used) > batch.expiry and not first_written(log.state, batch.producer) then
    known_epoch = -1
  elseif batch.epoch < known_epoch then
    return {'INVALID_PRODUCER_EPOCH'}
  elseif batch.epoch > known_epoch and batch.sequence ~= 0 then
    return {'OUT_OF_ORDER_SEQUENCE_NUMBER'}
  end
  if batch.epoch ~= known_epoch then return nil end
  local oldest, next_sequence
  for entry in string.gmatch(rest, '%S+') do
    local first, size, base, time = string.match(entry, '^(%d+):(%d+):([%d-]+):(%d+)$')
    if tonumber(first) == batch.sequence and tonumber(size) == batch.count then
      return {'DUPLICATE', base, time, log.state.start or '', log.state.last}
    end
    oldest = oldest or tonumber(first)
    next_sequence = (tonumber(first) + tonumber(size)) % SEQUENCES
    earlier[#earlier + 1] = entry
  end
  if not next_sequence then
    -- Known by the end of a transaction, and not heard of since.
    return batch.sequence ~= 0 and {'OUT_OF_ORDER_SEQUENCE_NUMBER'} or nil
  end
  if batch.sequence == next_sequence then return nil end
  local behind = (next_sequence - batch.sequence) % SEQUENCES
  -- Clients take "duplicate" as "appended before": it must be true of every record. Fewer than
  -- five batches are all that there ever were of this producer, whose first one may have failed
  -- before the next was taken: what comes before them is missing.
  local span = #earlier < 5 and (next_sequence - oldest) % SEQUENCES or SEQUENCES / 2
  if behind >= batch.count and behind <= span then return {'DUPLICATE_SEQUENCE_NUMBER'} end
  return {'OUT_OF_ORDER_SEQUENCE_NUMBER'}
end

-- Why the batch is not appended, as the script's answer; nil: nothing speaks against it.
local function refusal(log, batch, now)
  if batch.producer == '' then return nil end
  local refused = sequence_refusal(log, batch, now)
  -- What was appended before is answered so, whatever became of its transaction. A gap comes
  -- second: without its registration a batch has no place in any sequence.
  local is_gap = refused and refused[1] == 'OUT_OF_ORDER_SEQUENCE_NUMBER'
  if refused and not (is_gap and batch.transactional) then return refused end
  if batch.transactional or (log.state.open or '') ~= '' then
    local reason = transaction_refusal(log, batch)
    if reason then return {reason} end
  end
  if refused then return refused end
  -- With an epoch for each transaction (KIP-890) this would be the first one's first batch: the
  -- one before it was refused, and would be out of order for ever once this is appended.
  if batch.own_epoch and batch.sequence ~= 0 and #batch.earlier == 0 then
    return {'OUT_OF_ORDER_SEQUENCE_NUMBER'}
  end
end

-- Appends a batch that has its place; returns the script's answer.
local function append(log, batch, spot, now)
  add_entries(log, batch, spot, now)
  local state = log.state
  if batch.producer ~= '' then
    local kept = batch.earlier
    kept[#kept + 1] = whole(batch.sequence) .. ':' .. whole(batch.count) .. ':' .. spot.base
      .. ':' .. whole(now)
    while #kept > 5 do table.remove(kept, 1) end
    redis.call('HSET', log.producers, batch.producer,
      whole(batch.epoch) .. ' ' .. whole(now) .. ' ' .. table.concat(kept, ' '))
    if batch.transactional and not first_written(state, batch.producer) then
      add_open(state, batch.producer, spot.base)
    end
  end
  settle(log, spot, now, whole(state.bytes))
  return {'OK', spot.base, whole(now), state.start or '', spot.previous}
end
