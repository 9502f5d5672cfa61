-- Reads leader epochs of many partitions at once; returns {index, id, epochs} of each
-- partition that has epochs, or whose topic id is not the expected one.
-- KEYS  the partitions
-- ARGV  the id of each one's topic
local found = {}
for i, partition in ipairs(KEYS) do
  local state = redis.call('HMGET', partition, 'id', 'epochs')
  if state[1] ~= ARGV[i] or state[2] then
    found[#found + 1] = {i, state[1] or '', state[2] or ''}
  end
end
return found
