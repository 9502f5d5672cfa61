-- Gives a consumer of a work queue entries. claim 'idle': first what was delivered before and not
-- acknowledged in time, then new ones; '': just new ones; 'own': what this very consumer had when
-- it went, and nothing else. Returns the log's start, in how many ms to look again for what is not
-- acknowledged (0: there may be more now, -1: not looked), whether there is nothing new left, and
-- the entries with their delivery counts.
--
-- Nothing is taken of what an open transaction may still abort. Markers, and what was aborted, are
-- acknowledged here: nobody gets them.
--
-- Redis limits by entries, not by records or bytes: so they are taken a few at a time.
-- KEYS  partition, stream, aborted
-- ARGV  topic id, group, consumer, format, most records, most bytes, claim, idle ms,
--       where to begin among what is not acknowledged
local stream, aborted, group, consumer, format = KEYS[2], KEYS[3], ARGV[2], ARGV[3], ARGV[4]
local most_records, most_bytes = tonumber(ARGV[5]), tonumber(ARGV[6])
local claim, idle_ms = ARGV[7], tonumber(ARGV[8])
local LOOKED_AT = 1000 -- pending entries from which the next time to look is told
local RECORDS_AT_ONCE = 16
local MOST_DROPPED = 1024 -- more entries that nobody gets are left for the next look

local log = redis.call('HMGET', KEYS[1], 'id', 'start', 'open')
if log[1] ~= ARGV[1] then return {'UNKNOWN_TOPIC'} end
local unstable = string.match(log[3] or '', '^%d+:(%d+%-%d+)')

-- Whose transaction an entry belongs to, and whether it is the marker that ends it.
local function writer(entry)
  local fields = entry[2]
  if format == 'record' then
    for i = 1, #fields, 2 do
      if fields[i] == 'producer' then
        return string.match(fields[i + 1], '^%d+'), fields[1] == 'control'
      end
    end
  elseif fields[1] == 'batch' and #fields[2] >= 61 then
    -- The attributes have a bit for each, and are behind base offset, length, epoch, magic and
    -- checksum; the producer's id is behind four more numbers.
    local flags = struct.unpack('>I2', fields[2], 22)
    if math.floor(flags / 16) % 2 == 1 then
      return whole(struct.unpack('>I8', fields[2], 44)), math.floor(flags / 32) % 2 == 1
    end
  end
end

local function was_aborted(entry, producer)
  local left, right = split(entry[1])
  local from = entry[1]
  while true do
    local found = redis.call('XRANGE', aborted, from, '+', 'COUNT', 64)
    for _, transaction in ipairs(found) do
      -- Its fields are producer, first, stable.
      local fields = transaction[2]
      local first_left, first_right = split(fields[4])
      if fields[2] == producer and not before(left, right, first_left, first_right) then
        return true
      end
      -- What ended later has begun where this one says that all was decided, or behind it.
      local stable_left, stable_right = split(fields[6])
      if before(left, right, stable_left, stable_right) then return false end
      from = '(' .. transaction[1]
    end
    if #found < 64 then return false end
  end
end

local taken, records, bytes, dropped = {}, 0, 0, 0
local function take(entry, count)
  if log[3] then
    local producer, is_marker = writer(entry)
    if producer and (is_marker or was_aborted(entry, producer)) then
      redis.call('XACK', stream, group, entry[1])
      dropped = dropped + 1
      return
    end
  end
  taken[#taken + 1] = {entry[1], count, entry[2]}
  records = records + math.max(1, records_in(entry, format))
  for _, word in ipairs(entry[2]) do bytes = bytes + #word end
end
local function has_room()
  return records < most_records and bytes < most_bytes and dropped < MOST_DROPPED
end

-- How many of the next entries are decided; at most so many.
local function decided(count)
  if not unstable then return count end
  for _, info in ipairs(redis.call('XINFO', 'GROUPS', stream)) do
    local facts = {}
    for i = 1, #info, 2 do facts[info[i]] = info[i + 1] end
    if facts.name == group then
      local last = '(' .. facts['last-delivered-id']
      return #redis.call('XRANGE', stream, last, '(' .. unstable, 'COUNT', count)
    end
  end
  return count
end

local due = -1
if claim ~= '' then
  local least = claim == 'own' and 0 or idle_ms
  local question = {stream, group, 'IDLE', least, ARGV[9], '+', most_records}
  if claim == 'own' then question[8] = consumer end
  local pending = redis.pcall('XPENDING', unpack(question))
  if pending.err then
    return string.find(pending.err, 'NOGROUP', 1, true) and {'NO_GROUP'} or pending
  end
  for _, item in ipairs(pending) do
    if not has_room() then due = 0 break end
    local entry = redis.call('XCLAIM', stream, group, consumer, 0, item[1])[1]
    if entry then
      take(entry, item[4] + 1)
    else
      -- It was trimmed: nobody can have it any more.
      redis.call('XACK', stream, group, item[1])
    end
  end
  if #pending == most_records then due = 0 end
  if due ~= 0 then
    due = idle_ms
    for _, item in ipairs(redis.call('XPENDING', stream, group, '-', '+', LOOKED_AT)) do
      due = math.min(due, idle_ms - item[3])
    end
    due = math.max(due, 1)
  end
end

local is_drained = 0
while claim ~= 'own' and has_room() and is_drained == 0 do
  local wanted = format == 'batch' and 1 or math.min(most_records - records, RECORDS_AT_ONCE)
  local count = decided(wanted)
  local found = count > 0 and redis.pcall('XREADGROUP', 'GROUP', group, consumer,
    'COUNT', count, 'STREAMS', stream, '>')
  if not found then
    is_drained = 1
  elseif found.err then
    return string.find(found.err, 'NOGROUP', 1, true) and {'NO_GROUP'} or found
  else
    for _, entry in ipairs(found[1][2]) do take(entry, 1) end
    if #found[1][2] < wanted then is_drained = 1 end
  end
end
return {'OK', log[2] or '', due, is_drained, taken}
