-- Appends a batch to each of several partitions, or to none of them; returns an answer for each.
-- KEYS  of each log (`open_log`)
-- ARGV  for each log: how many arguments it has, then those of the log and of its batch
local logs, batches, answers = {}, {}, {}
local now, argument = clock_ms(), 1
local is_refused, are_duplicates = false, true
for i = 1, #KEYS / LOG_KEYS do
  local log = open_log((i - 1) * LOG_KEYS + 1, argument + 1)
  local refused
  if log then
    batches[i] = read_batch(argument + 1 + LOG_ARGUMENTS)
    refused = refusal(log, batches[i], now)
  else
    refused = {'UNKNOWN_TOPIC'}
  end
  logs[i], answers[i] = log, refused or {'OPERATION_NOT_ATTEMPTED'}
  is_refused = is_refused or refused
  are_duplicates = are_duplicates and refused and refused[1] == 'DUPLICATE'
  argument = argument + 1 + tonumber(ARGV[argument])
end
if is_refused and not are_duplicates then
  for i, answer in ipairs(answers) do
    -- Of a part it is not true that the whole was appended before.
    if answer[1] == 'DUPLICATE' then answers[i] = {'OUT_OF_ORDER_SEQUENCE_NUMBER'} end
  end
end
if is_refused then return answers end

local spots = {}
for i, log in ipairs(logs) do
  local batch = batches[i]
  spots[i] = place(log, now, batch.count, batch.bytes, log.stamp_time and now or batch.latest)
  -- Only the first XADD may fail, and that is of one stream.
  check_ahead(log.stream, spots[i].base, log.stream)
end
for i, log in ipairs(logs) do answers[i] = append(log, batches[i], spots[i], now) end
return answers
