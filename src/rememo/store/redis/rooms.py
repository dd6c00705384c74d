"""Rooms: the latest messages of conversations on a Redis server, at most so many, for so long after the last."""

import math
from collections.abc import Sequence
from datetime import datetime

from rememo.model.times import to_micros
from rememo.store.redis.client import RedisClient
from rememo.store.redis.key_value import tenant_start
from rememo.store.redis.scripts import GRACE_MILLIS, make_script

_SECOND = 1_000_000
_ALIVE = """
local ends = redis.call('GET', KEYS[3])
local alive = ends and tonumber(ends) > tonumber(ARGV[1])
"""

# KEYS: order, messages, end. ARGV: now, end, millis to live, how many at the most, (id, message)…
# What is too much leaves from the old end: not system messages while there are others, and a tool call only together with
# its results. What has just come stays.
_ADD = make_script(
    _ALIVE
    + """
if not alive then redis.call('DEL', KEYS[1], KEYS[2]) end
local newest = {}
for place = 5, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[2], ARGV[place]) == 1 then return ARGV[place] end
end
for place = 5, #ARGV, 2 do
  redis.call('RPUSH', KEYS[1], ARGV[place])
  redis.call('HSET', KEYS[2], ARGV[place], ARGV[place + 1])
  newest[ARGV[place]] = true
end
local total = redis.call('LLEN', KEYS[1])
local over = total - tonumber(ARGV[4])
if over > 0 then
  -- Mostly the first few decide, and the others need not be read.
  local ids, known, gone = redis.call('LRANGE', KEYS[1], 0, over + 20), {}, {}
  local function data(place)
    if not ids[place] then ids = redis.call('LRANGE', KEYS[1], 0, -1) end
    if not known[place] then
      local message = redis.call('HGET', KEYS[2], ids[place])
      known[place] = message and cjson.decode(message)['data'] or {}
    end
    return known[place]
  end
  local function together(place)
    local found, calls, any = {place}, {}, false
    for _, call in ipairs(data(place)['tool_calls'] or {}) do calls[call['id']], any = true, true end
    if any then
      for later = place + 1, total do
        if not gone[later] and calls[data(later)['tool_call_id'] or false] then found[#found + 1] = later end
      end
    end
    return found
  end
  for _, sparing in ipairs({true, false}) do
    for place = 1, total do
      if over <= 0 then break end
      if not gone[place] and not (sparing and data(place)['role'] == 'system') then
        local leaving, stays = together(place), false
        for _, one in ipairs(leaving) do stays = stays or newest[ids[one]] end
        if not stays then
          for _, one in ipairs(leaving) do gone[one] = true end
          over = over - #leaving
        end
      end
    end
  end
  for place in pairs(gone) do
    redis.call('LREM', KEYS[1], 1, ids[place])
    redis.call('HDEL', KEYS[2], ids[place])
  end
end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return false
"""
)

# KEYS: order, messages, end. ARGV: now, the first and the last place.
_READ = make_script(
    _ALIVE
    + """
if not alive then return {} end
local ids = redis.call('LRANGE', KEYS[1], ARGV[2], ARGV[3])
if #ids == 0 then return {} end
local found = {}
for place, id in ipairs(ids) do found[place] = redis.call('HGET', KEYS[2], id) end
return found
"""
)

# KEYS: order, messages, end. ARGV: now, id.
_GET = make_script(_ALIVE + "return alive and redis.call('HGET', KEYS[2], ARGV[2])")

# KEYS: order, messages, end. ARGV: now, "1" to remove them.
_COUNT = make_script(
    _ALIVE
    + """
local count = alive and redis.call('LLEN', KEYS[1]) or 0
if ARGV[2] == '1' then redis.call('DEL', KEYS[1], KEYS[2], KEYS[3]) end
return count
"""
)


class RedisRoom:
    """The messages of one room, as JSON texts by their ids, in the order they came."""

    def __init__(self, server: RedisClient, tenant: str, room: str, *, most: int, seconds: float) -> None:
        start = tenant_start(server.prefix, tenant)
        self._server = server
        self._keys = tuple(f"{start}{part}:{room}" for part in ("order", "messages", "end"))
        self._most = most
        self._life = round(seconds * _SECOND)

    def add(self, messages: Sequence[tuple[str, str]], moment: datetime) -> str | None:
        """Append messages, all or none; returns an id that is there already, and then nothing was changed."""
        now = to_micros(moment)
        millis = math.ceil(self._life / 1_000) + GRACE_MILLIS
        arguments = [word for message in messages for word in message]
        taken = self._server.run(_ADD, self._keys, (now, now + self._life, millis, self._most, *arguments), wrote=True)
        return None if taken is None else taken.decode()

    def read(self, first: int, last: int, moment: datetime) -> list[str]:
        """Return the messages from one place to another, both counted from the end by negative numbers."""
        items = self._server.run(_READ, self._keys, (to_micros(moment), first, last), wrote=False)
        return [item.decode() for item in items if item]

    def get(self, id: str, moment: datetime) -> str | None:
        """Return one message."""
        item = self._server.run(_GET, self._keys, (to_micros(moment), id), wrote=False)
        return None if not item else item.decode()

    def count(self, moment: datetime) -> int:
        """Return how many there are."""
        return self._server.run(_COUNT, self._keys, (to_micros(moment), "0"), wrote=False)

    def clear(self, moment: datetime) -> int:
        """Remove all of them; returns how many there were."""
        return self._server.run(_COUNT, self._keys, (to_micros(moment), "1"), wrote=True)
