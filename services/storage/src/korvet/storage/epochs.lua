-- Leader epochs: "epoch:first id,epoch:first id,…", the first one implied as 0:0-0. A new
-- history of Redis (a restart, a promoted replica) may have lost a tail that consumers have
-- read, so it starts a new epoch, by which they notice (KIP-320). `heard` is the highest epoch
-- that the caller ever heard of: what Redis has lost may include epochs that clients know, and
-- those must never be given again.
local function newest_epoch(state)
  return tonumber(string.match(state.epochs or '', '(%d+):%d+%-%d+$') or 0)
end

-- Whether nothing can be lost between two histories (korvet.redis.history): Redis forgets
-- a promotion when its backlog goes.
local function is_same_history(known, current)
  return known == current or string.sub(known or '', 1, #current + 1) == current .. ':'
end

-- Starts an epoch if one is due; returns whether it was.
local function observe_history(state, history, sequences, heard)
  if is_same_history(state.history, history) and newest_epoch(state) >= heard then return false end
  state.history = history
  local first = '0-0'
  if state.last then
    local left, right = split(state.last)
    first = join(step(left, right, 1, sequences))
  end
  local kept = {}
  for number, id in string.gmatch(state.epochs or '0:0-0', '(%d+):(%d+%-%d+)') do
    local left, right = split(id)
    local first_left, first_right = split(first)
    -- An epoch in which nothing was written leaves no trace.
    if before(left, right, first_left, first_right) then
      kept[#kept + 1] = number .. ':' .. id
    end
  end
  kept[#kept + 1] = whole(math.max(newest_epoch(state), heard) + 1) .. ':' .. first
  state.epochs = table.concat(kept, ',')
  return true
end
