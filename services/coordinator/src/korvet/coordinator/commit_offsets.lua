-- Commits offsets of one group; returns {'OK'} or {'NOT_OWNER'}.
-- KEYS  the group, its offsets, then the committed offset of each partition
-- ARGV  owner, then for each partition: stream key, offset, topic id, leader epoch, metadata
if not is_owned(KEYS[1], ARGV[1]) then return {'NOT_OWNER'} end
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
for i = 3, #KEYS do
  local at = 2 + (i - 3) * 5
  redis.call('SET', KEYS[i], ARGV[at + 1])
  redis.call('HSET', KEYS[2], ARGV[at],
    ARGV[at + 2] .. ' ' .. ARGV[at + 3] .. ' ' .. now .. ' ' .. ARGV[at + 4])
end
return {'OK'}
