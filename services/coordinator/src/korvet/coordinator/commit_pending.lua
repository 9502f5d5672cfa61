-- Keeps offsets of one group until a producer's transaction ends; returns {'OK'}, {'NOT_OWNER'},
-- {'PRODUCER_FENCED'} where a later epoch is known, or {'NOT_OPEN'}.
-- KEYS  the group, its transactions, its pending offsets
-- ARGV  owner, producer id, epoch, then for each partition: stream key, offset, topic id, leader
--       epoch, metadata
if not is_owned(KEYS[1], ARGV[1]) then return {'NOT_OWNER'} end
local last, epoch = last_transaction(KEYS[2], ARGV[2]), tonumber(ARGV[3])
if last and epoch < last.epoch then return {'PRODUCER_FENCED'} end
if not last or not last.is_open or epoch ~= last.epoch then return {'NOT_OPEN'} end
for at = 4, #ARGV, 5 do
  redis.call('HSET', KEYS[3], ARGV[2] .. ' ' .. ARGV[at],
    table.concat({ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4]}, ' '))
end
redis.call('PERSIST', KEYS[2])
return {'OK'}
