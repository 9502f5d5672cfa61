-- Forgets committed offsets of one group, and those that transactions would commit for the same
-- partitions; returns {'OK'} or {'NOT_OWNER'}.
-- KEYS  the group, its offsets, its transactions, its pending offsets, then the committed offset of
--       each partition
-- ARGV  owner, '1' to delete the group as well, for how many ms its transactions are then
--       remembered, so that what comes late is refused, then the stream key of each partition
if not is_owned(KEYS[1], ARGV[1]) then return {'NOT_OWNER'} end
local deleted = {}
for i = 5, #KEYS do
  local stream = ARGV[i - 1]
  redis.call('DEL', KEYS[i])
  redis.call('HDEL', KEYS[2], stream)
  deleted[stream] = true
end
for _, field in ipairs(redis.call('HKEYS', KEYS[4])) do
  if deleted[string.match(field, '^%d+ (.*)$')] then redis.call('HDEL', KEYS[4], field) end
end
if ARGV[2] == '1' then
  redis.call('DEL', KEYS[1], KEYS[2], KEYS[4])
  redis.call('PEXPIRE', KEYS[3], ARGV[3])
end
return {'OK'}
