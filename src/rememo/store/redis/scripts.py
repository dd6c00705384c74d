"""The scripts that a Redis server runs: each is one step that nothing comes in between.

A namespace has an index (a hash: key to version, end and sliding time), its ends (a sorted set, for those that have one) and
a string for each value, which Redis itself lets go some time after its end. The index remembers the version of what has
expired until it is swept with a later write, and then the tenant's floor does, so that no version is given twice. All keys of
a tenant have one hash tag: on a cluster they lie on one node.
"""

import hashlib
from dataclasses import dataclass

GRACE_MILLIS = 60_000
"""How much longer Redis keeps a value than it can be seen: clocks differ, and what is seen is decided by Rememo's."""
_WEEK_MICROS = 7 * 86_400 * 1_000_000

_COMMON = f"""
local function parts(meta)
  return string.match(meta, '^(%d+) (%S+) (%S+)$')
end
local function ahead(ends, now)
  return ends == '-' or tonumber(ends) > tonumber(now)
end
local function whole(number)
  return string.format('%.0f', number)
end
local function raise_floor(floor, version)
  if tonumber(version) > tonumber(redis.call('GET', floor) or '0') then
    redis.call('SET', floor, version)
  end
end
-- An index ends a week after the last of its entries, unless one of them has no end.
local function settle(index, ends, spaces, space, now)
  local count = redis.call('HLEN', index)
  if count == 0 then
    redis.call('ZREM', spaces, space)
  elseif redis.call('ZCARD', ends) < count then
    redis.call('PERSIST', index)
    redis.call('PERSIST', ends)
    redis.call('ZADD', spaces, '+inf', space)
  else
    local last = tonumber(redis.call('ZRANGE', ends, -1, -1, 'WITHSCORES')[2]) + {_WEEK_MICROS}
    local left = whole(math.max(math.ceil((last - tonumber(now)) / 1000), {GRACE_MILLIS}))
    redis.call('PEXPIRE', index, left)
    redis.call('PEXPIRE', ends, left)
    redis.call('ZADD', spaces, whole(last), space)
  end
end
local function sweep(index, ends, floor, spaces, now)
  for _, key in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', now, 'LIMIT', 0, 20)) do
    local meta = redis.call('HGET', index, key)
    if meta then
      raise_floor(floor, (parts(meta)))
      redis.call('HDEL', index, key)
    end
    redis.call('ZREM', ends, key)
  end
  redis.call('ZREMRANGEBYSCORE', spaces, '-inf', now)
end
local function put(index, ends, value, key, version, life, sliding, text, millis)
  redis.call('HSET', index, key, version .. ' ' .. life .. ' ' .. sliding)
  if life == '-' then
    redis.call('ZREM', ends, key)
    redis.call('SET', value, text)
  else
    redis.call('ZADD', ends, life, key)
    redis.call('SET', value, text, 'PX', millis)
  end
end
"""


@dataclass(frozen=True, slots=True)
class Script:
    """A script and what a server knows it by."""

    text: str
    sha: str


def make_script(body: str) -> Script:
    """Return a script."""
    return Script(body, hashlib.sha1(body.encode()).hexdigest())  # noqa: S324 - the name that Redis gives it


def _script(body: str) -> Script:
    return make_script(_COMMON + body)


# KEYS: index, ends, value, spaces. ARGV: key, now, space.
GET = _script(f"""
local meta = redis.call('HGET', KEYS[1], ARGV[1])
if not meta then return false end
local version, ends, sliding = parts(meta)
if not ahead(ends, ARGV[2]) then return false end
local value = redis.call('GET', KEYS[3])
if not value then return false end
if sliding ~= '-' and ends ~= '-' then
  local later = tonumber(ARGV[2]) + tonumber(sliding)
  -- A write for every read would be dear: the end moves in steps of a twentieth of the time to live.
  if later - tonumber(ends) > math.floor(tonumber(sliding) / 20) then
    ends = whole(later)
    redis.call('HSET', KEYS[1], ARGV[1], version .. ' ' .. ends .. ' ' .. sliding)
    redis.call('ZADD', KEYS[2], ends, ARGV[1])
    redis.call('PEXPIRE', KEYS[3], whole(math.ceil(tonumber(sliding) / 1000) + {GRACE_MILLIS}))
    settle(KEYS[1], KEYS[2], KEYS[4], ARGV[3], ARGV[2])
  end
end
return {{value, version, ends, sliding}}
""")

# KEYS: index, ends, value, spaces, floor. ARGV: key, now, space, text, end, sliding, millis to live, expected version,
# "1" to keep the end that is there.
SET = _script("""
local meta = redis.call('HGET', KEYS[1], ARGV[1])
local held, alive, kept_end, kept_sliding = 0, false, '-', '-'
if meta then
  local version, ends, sliding = parts(meta)
  held, kept_end, kept_sliding = tonumber(version), ends, sliding
  alive = ahead(ends, ARGV[2]) and redis.call('EXISTS', KEYS[3]) == 1
end
if ARGV[8] ~= '-' and tonumber(ARGV[8]) ~= (alive and held or 0) then return false end
-- An expired entry still counts its versions on: a swap that waits for the old value must fail.
if not meta then held = tonumber(redis.call('GET', KEYS[5]) or '0') end
local version = whole(held + 1)
if alive and ARGV[9] == '1' then
  redis.call('HSET', KEYS[1], ARGV[1], version .. ' ' .. kept_end .. ' ' .. kept_sliding)
  redis.call('SET', KEYS[3], ARGV[4], 'KEEPTTL')
else
  put(KEYS[1], KEYS[2], KEYS[3], ARGV[1], version, ARGV[5], ARGV[6], ARGV[4], ARGV[7])
end
sweep(KEYS[1], KEYS[2], KEYS[5], KEYS[4], ARGV[2])
settle(KEYS[1], KEYS[2], KEYS[4], ARGV[3], ARGV[2])
return version
""")

# KEYS: index, ends, value, spaces. ARGV: key, now, space, text, end, sliding, millis to live, version.
LOAD = _script("""
local meta = redis.call('HGET', KEYS[1], ARGV[1])
if meta and tonumber((parts(meta))) >= tonumber(ARGV[8]) then return 0 end
put(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[8], ARGV[5], ARGV[6], ARGV[4], ARGV[7])
settle(KEYS[1], KEYS[2], KEYS[4], ARGV[3], ARGV[2])
return 1
""")

# KEYS: index, ends, spaces, floor, values… ARGV: now, space, keys…
REMOVE = _script("""
local gone, living = 0, 0
for place = 5, #KEYS do
  local key = ARGV[place - 2]
  local meta = redis.call('HGET', KEYS[1], key)
  local there = redis.call('DEL', KEYS[place])
  if meta then
    local version, ends = parts(meta)
    gone = gone + 1
    if there == 1 and ahead(ends, ARGV[1]) then living = living + 1 end
    raise_floor(KEYS[4], version)
    redis.call('HDEL', KEYS[1], key)
    redis.call('ZREM', KEYS[2], key)
  end
end
if gone > 0 then settle(KEYS[1], KEYS[2], KEYS[3], ARGV[2], ARGV[1]) end
return {gone, living}
""")

# KEYS: (index, value)… ARGV: now, keys…
VERSIONS = _script("""
local found = {}
for place = 2, #ARGV do
  local meta = redis.call('HGET', KEYS[2 * place - 3], ARGV[place])
  local version = '0'
  if meta then
    local held, ends = parts(meta)
    if ahead(ends, ARGV[1]) and redis.call('EXISTS', KEYS[2 * place - 2]) == 1 then version = held end
  end
  found[place - 1] = version
end
return found
""")

# KEYS: index, values… ARGV: now, "1" for the values too, keys…
READ = _script("""
local found = {}
for place = 2, #KEYS do
  local key = ARGV[place + 1]
  local meta = redis.call('HGET', KEYS[1], key)
  if meta then
    local version, ends, sliding = parts(meta)
    if ahead(ends, ARGV[1]) then
      if ARGV[2] == '1' then
        local value = redis.call('GET', KEYS[place])
        if value then found[#found + 1] = {key, value, version, ends, sliding} end
      elseif redis.call('EXISTS', KEYS[place]) == 1 then
        found[#found + 1] = {key}
      end
    end
  end
end
return found
""")

# KEYS: (index, ends)… ARGV: now.
COUNT = _script("""
local total = 0
for place = 1, #KEYS, 2 do
  total = total + redis.call('HLEN', KEYS[place]) - redis.call('ZCOUNT', KEYS[place + 1], '-inf', ARGV[1])
end
return total
""")

# KEYS: index, ends, spaces, floor, values… ARGV: now, space, keys…
SWEEP = _script("""
local gone = 0
for place = 5, #KEYS do
  local key = ARGV[place - 2]
  local meta = redis.call('HGET', KEYS[1], key)
  if meta then
    local version, ends = parts(meta)
    -- It may have been written anew since it was found.
    if not ahead(ends, ARGV[1]) then
      gone = gone + 1
      raise_floor(KEYS[4], version)
      redis.call('DEL', KEYS[place])
      redis.call('HDEL', KEYS[1], key)
      redis.call('ZREM', KEYS[2], key)
    end
  end
end
if gone > 0 then settle(KEYS[1], KEYS[2], KEYS[3], ARGV[2], ARGV[1]) end
return gone
""")
