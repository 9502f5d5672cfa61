-- Appends one batch to one partition; returns what became of it.
-- KEYS  of the log (`open_log`)
-- ARGV  of the log, then of the batch (`read_batch`)
local log = open_log(1, 1)
if not log then return {'UNKNOWN_TOPIC'} end
local batch, now = read_batch(1 + LOG_ARGUMENTS), clock_ms()
local refused = refusal(log, batch, now)
if refused then return refused end
local spot = place(log, now, batch.count, batch.bytes, log.stamp_time and now or batch.latest)
return append(log, batch, spot, now)
