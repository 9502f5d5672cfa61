-- Makes a group a work queue, unless it is another kind of group already; returns {'OK', the
-- queue's id} or {'OTHER_KIND'}.
-- KEYS  group, groups
-- ARGV  the group's name, the id that a new queue gets
local value = redis.call('GET', KEYS[1])
if value then
  local kind, id = string.match(value, '^([^\n]*)\n?(.*)$')
  if kind ~= 'queue' then return {'OTHER_KIND'} end
  return {'OK', id}
end
redis.call('SET', KEYS[1], 'queue\n' .. ARGV[2])
redis.call('SADD', KEYS[2], ARGV[1])
return {'OK', ARGV[2]}
