-- Makes a group a work queue, unless it is another kind of group already.
-- KEYS  group, groups
-- ARGV  the group's name
local state = redis.call('GET', KEYS[1])
if state then return string.match(state, '^[^\n]*') == 'queue' and 'OK' or 'OTHER_KIND' end
redis.call('SET', KEYS[1], 'queue')
redis.call('SADD', KEYS[2], ARGV[1])
return 'OK'
