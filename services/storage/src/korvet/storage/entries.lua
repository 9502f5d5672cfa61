-- Adds a batch's entries to its stream, and only these: the first XADD is the first write of all.
--
-- On a batch topic the payload is the batch. On a record topic it begins with 'alike', where all
-- records have the same fields, or with 'any' (record_arguments.py makes both):
--   alike  how many fields, which of them is the timestamp if that is told by runs (else 0),
--          the fields' names; how many runs, and of each the time and for how many records;
--          then all other values, record by record
--   any    of each record how many words its fields and values are, and those

-- Ends of ids by their last digit, on either encoding.
local ENDS = {[0] = '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}
local DENSE_ENDS = {[0] = '0-0', '1-0', '2-0', '3-0', '4-0', '5-0', '6-0', '7-0', '8-0', '9-0'}

-- A function that gives one id after the other. It is what `step` does by one, but Lua makes
-- strings of numbers slowly: so just each tenth id has its number made into one.
local function ids_from(left, right, sequences)
  local ends, prefix, number = ENDS, whole(left) .. '-', right
  if sequences == 0 then ends, prefix, number = DENSE_ENDS, '', left end
  local digit = number % 10
  local head = prefix
  if number >= 10 then head = prefix .. whole((number - digit) / 10) end
  return function()
    local id = head .. ends[digit]
    number, digit = number + 1, digit + 1
    if number == sequences then
      left, number, digit = left + 1, 0, 0
      prefix = whole(left) .. '-'
      head = prefix
    elseif digit == 10 then
      digit, head = 0, prefix .. whole(number / 10)
    end
    return id
  end
end

-- What all entries of a batch have besides their records' own fields.
local function marks_of(log, batch, now)
  local marks = {}
  if log.stamp_time then marks = {'appended', whole(now)} end
  if batch.transactional then
    marks[#marks + 1] = 'producer'
    marks[#marks + 1] = batch.producer .. ':' .. whole(batch.epoch)
  end
  return marks
end

local function add_alike(stream, position, count, next_id, marks)
  local call, words, unpack = redis.call, ARGV, unpack
  local command, own, size = {stream, ''}, {}, 2
  local fields, timed = tonumber(words[position]), tonumber(words[position + 1])
  position = position + 1
  for field = 1, fields do
    command[size + 1] = words[position + field]
    if field ~= timed then own[#own + 1] = size + 2 end
    size = size + 2
  end
  local time_at = 2 * timed + 2
  for _, mark in ipairs(marks) do
    size = size + 1
    command[size] = mark
  end
  local run, left = position + fields + 2, 0
  position = run + 2 * tonumber(words[run - 1])
  if timed == 0 then left = count end
  for _ = 1, count do
    if left == 0 then
      command[time_at], left = words[run], tonumber(words[run + 1])
      run = run + 2
    end
    left = left - 1
    command[2] = next_id()
    for i = 1, #own do command[own[i]] = words[position + i - 1] end
    position = position + #own
    call('XADD', unpack(command, 1, size))
  end
end

local function add_any(stream, position, count, next_id, marks)
  for _ = 1, count do
    local size = tonumber(ARGV[position])
    local fields = {unpack(ARGV, position + 1, position + size)}
    for i = 1, #marks do fields[size + i] = marks[i] end
    redis.call('XADD', stream, next_id(), unpack(fields))
    position = position + size + 1
  end
end

local function add_entries(log, batch, spot, now)
  local position = batch.payload
  if log.format == 'batch' then
    if log.stamp_time then
      redis.call('XADD', log.stream, spot.last, 'batch', ARGV[position], 'appended', whole(now))
    else
      redis.call('XADD', log.stream, spot.last, 'batch', ARGV[position])
    end
    return
  end
  local add = ARGV[position] == 'alike' and add_alike or add_any
  local next_id = ids_from(spot.left, spot.right, log.sequences)
  add(log.stream, position + 1, batch.count, next_id, marks_of(log, batch, now))
end
