-- Whether a group is still owned by this run of this coordinator: "epoch incarnation address".
-- Whatever was taken over by another one since is refused.
local function is_owned(key, owner)
  local epoch, rest = string.match(redis.call('GET', key) or '', '^classic (%d+) %d+ ([^\n]*)')
  return epoch and epoch .. ' ' .. rest == owner
end
