-- Redis's own consumer groups on a log. `log` is as in counting.lua.

-- The last id that was delivered to a group; nil where there is no such group.
local function last_delivered(log, group)
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', log.stream)) do
    local found = {}
    for i = 1, #info, 2 do found[info[i]] = info[i + 1] end
    if found.name == group then return found['last-delivered-id'] end
  end
end

-- Lets a group stand behind an id, and makes it where it is missing. `counts` where Redis takes
-- the number of entries up to there, from which XINFO GROUPS tells the lag.
local function set_position(log, group, id, counts)
  local options = {log.stream, group, id}
  if counts then
    local left, right = split(id)
    local behind = records_from(log, step(left, right, 1, log.sequences))
    options[4], options[5] = 'ENTRIESREAD', whole(log.state.records - behind)
  end
  local moved = redis.pcall('XGROUP', 'SETID', unpack(options))
  if moved.err then
    if not string.find(moved.err, 'NOGROUP', 1, true) then error(moved.err) end
    redis.call('XGROUP', 'CREATE', unpack(options))
  end
end
