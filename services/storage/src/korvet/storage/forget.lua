-- Deletes fields of a hash, each only if it still has this value.
-- KEYS  the hash
-- ARGV  field, value, …
for i = 1, #ARGV, 2 do
  if redis.call('HGET', KEYS[1], ARGV[i]) == ARGV[i + 1] then
    redis.call('HDEL', KEYS[1], ARGV[i])
  end
end
return 'OK'
