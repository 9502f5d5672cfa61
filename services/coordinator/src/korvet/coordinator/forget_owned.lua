-- Deletes something that has an owner, if nobody else has saved it since, and takes what is not
-- there off the list of names. Returns {'OK'} or {'CHANGED'}.
-- KEYS  its value, the set of all names
-- ARGV  the first line of the value ('' to delete no value), its name
local value = redis.call('GET', KEYS[1])
if value then
  if string.match(value, '^[^\n]*') ~= ARGV[1] then return {'CHANGED'} end
  redis.call('DEL', KEYS[1])
end
redis.call('SREM', KEYS[2], ARGV[2])
return {'OK'}
