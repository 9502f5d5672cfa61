-- Finds the first block of the index, after the id ARGV[2] ('-': any), in which a record may
-- have the timestamp ARGV[1] or a later one. Returns the ids around it: the last one before
-- the block, and its own last one ('': the open block); then ''. Or two of '' and the id after
-- which to search on, where none of about ARGV[3] blocks was it.
--
-- `peak`, the largest timestamp so far, only grows; so it can be searched by halves. A peak
-- may stem from a record that has been trimmed: then `latest` of the block tells, and that of
-- each one behind it, of which there may be more than Redis should be kept from others for.
-- KEYS  index
local index, wanted, after, most = KEYS[1], tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local function field(point, name)
  for i = 1, #point[2], 2 do
    if point[2][i] == name then return tonumber(point[2][i + 1]) end
  end
end

local from = after == '-' and '-' or '(' .. after
local first = redis.call('XRANGE', index, from, '+', 'COUNT', 1)[1]
local last = redis.call('XREVRANGE', index, '+', '-', 'COUNT', 1)[1]
if not first then return {after == '-' and '0-0' or after, '', ''} end
local low, high = split(first[1]), split(last[1])
while low < high do
  local middle = math.floor((low + high) / 2)
  local point = redis.call('XRANGE', index, whole(middle), '+', 'COUNT', 1)[1]
  if field(point, 'peak') >= wanted then high = middle else low = split(point[1]) + 1 end
end
-- Several points may share a left half, of which only the first was looked at.
local start = whole(low - 1) .. '-0'
local first_left, first_right = split(first[1])
if before(low - 1, 0, first_left, first_right) then start = first[1] end
while true do
  local points = redis.call('XRANGE', index, start, '+', 'COUNT', 64)
  for _, point in ipairs(points) do
    if field(point, 'latest') >= wanted then
      -- Where nothing is before, Redis would walk the whole index to find that out.
      local head = redis.call('XRANGE', index, '-', '+', 'COUNT', 1)[1]
      if head[1] == point[1] then return {'0-0', point[1], ''} end
      local previous = redis.call('XREVRANGE', index, '(' .. point[1], '-', 'COUNT', 1)[1]
      return {previous[1], point[1], ''}
    end
    start = '(' .. point[1]
  end
  if #points < 64 then return {last[1], '', ''} end
  most = most - #points
  if most <= 0 then return {'', '', points[#points][1]} end
end
