-- Acknowledges entries of a work queue, and gives others back: those are idle for ever from now
-- on, so that whoever looks next takes them, and all who wait are told to look.
-- KEYS  partition, stream
-- ARGV  topic id, group, consumer, channel, how many ids are acknowledged, those, the others
local stream, group, consumer, channel = KEYS[2], ARGV[2], ARGV[3], ARGV[4]
local FIRST = 6
local released_from = FIRST + tonumber(ARGV[5])
if redis.call('HGET', KEYS[1], 'id') ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end

for i = FIRST, released_from - 1 do redis.call('XACK', stream, group, ARGV[i]) end
local is_any_free = false
for i = released_from, #ARGV do
  local id = ARGV[i]
  -- Another consumer may have got it meanwhile.
  local own = redis.pcall('XPENDING', stream, group, id, id, 1, consumer)
  if not own.err and #own > 0 then
    redis.call('XCLAIM', stream, group, consumer, 0, id, 'TIME', 1, 'JUSTID')
    is_any_free = true
  end
end
if is_any_free then redis.call('PUBLISH', channel, 'released') end
return {'OK'}
