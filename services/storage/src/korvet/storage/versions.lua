-- Gives the catalogue its next version. Versions are times in microseconds where the clock
-- allows: a Redis that has lost its newest changes, or everything, then still gives higher
-- ones than those that somebody may remember.
local function next_version(counter)
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local last = tonumber(redis.call('GET', counter) or 0)
  -- Not '..', which writes numbers from 1e14 on in scientific notation.
  local version = string.format('%.0f', math.max(now, last + 1))
  redis.call('SET', counter, version)
  return version
end
