-- Writes a topic's fields for those who read them in Redis; returns whether it is still the
-- topic that the caller knows.
-- KEYS  the topic, then each partition
-- ARGV  id, version of its last change, then field, value, …
local current = redis.call('HMGET', KEYS[1], 'id', 'version')
if current[1] ~= ARGV[1] or current[2] ~= ARGV[2] then return 0 end

local records, bytes = 0, 0
for i = 2, #KEYS do
  local size = redis.call('HMGET', KEYS[i], 'records', 'trimmedRecords', 'bytes', 'trimmedBytes')
  records = records + tonumber(size[1] or 0) - tonumber(size[2] or 0)
  bytes = bytes + tonumber(size[3] or 0) - tonumber(size[4] or 0)
end
local mean = records > 0 and math.floor(bytes / records) or 0

local fields = {'messageBytes', string.format('%.0f', mean)}
for i = 3, #ARGV do fields[#fields + 1] = ARGV[i] end
for i = 1, #fields, 2 do
  -- Only what is new, so that the append-only file does not grow by what is not.
  if redis.call('HGET', KEYS[1], fields[i]) ~= fields[i + 1] then
    redis.call('HSET', KEYS[1], fields[i], fields[i + 1])
  end
end
return 1
