-- Which history of its data this Redis tells (korvet.redis.history says why). A partition
-- notes it, to notice when there is another one.
local function current_history()
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local replication = redis.call('INFO', 'replication')
  if (string.match(replication, 'second_repl_offset:(-?%d+)') or '-1') == '-1' then return run end
  return run .. ':' .. string.match(replication, 'master_replid:(%w+)')
end
