-- Ends a producer's transaction with a group: what it would commit is committed, or dropped.
-- Returns {'OK'}, also where it has ended before, {'COORDINATOR_FENCED'}, or {'CHANGED'} where the
-- pending offsets are not those of which the keys were given. May be repeated.
-- KEYS  the group, its transactions, its pending offsets, its offsets, then the committed offset of
--       each pending partition
-- ARGV  producer id, epoch that is valid from now on, number, coordinator's epoch, 'commit' or
--       'abort', for how many ms a group that is not there is remembered, then the stream key of
--       each pending partition
local producer, epoch, number = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local coordinator = tonumber(ARGV[4])
local last = last_transaction(KEYS[2], producer)
if last then
  if number < last.number or (number == last.number and not last.is_open) then return {'OK'} end
  if coordinator < last.coordinator then return {'COORDINATOR_FENCED'} end
end
local given, pending = {}, pending_streams(KEYS[3], producer)
for i = 5, #KEYS do given[ARGV[i + 2]] = KEYS[i] end
for _, stream in ipairs(pending) do
  if not given[stream] then return {'CHANGED'} end
end
local is_commit = ARGV[5] == 'commit' and last and number == last.number
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
for _, stream in ipairs(pending) do
  local field = producer .. ' ' .. stream
  if is_commit then
    local offset, topic, leader, metadata =
      string.match(redis.call('HGET', KEYS[3], field), '^(%S+) (%S+) (%S+) (.*)$')
    redis.call('SET', given[stream], offset)
    redis.call('HSET', KEYS[4], stream, table.concat({topic, leader, now, metadata}, ' '))
  end
  redis.call('HDEL', KEYS[3], field)
end
if last and last.epoch > epoch then epoch = last.epoch end
-- Also where it has never begun here: a beginning that comes late is then refused.
remember(KEYS[2], producer, epoch, number, 'ended', coordinator)
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('PEXPIRE', KEYS[2], ARGV[6]) end
return {'OK'}
