"""Short-term state on a Redis server: which namespaces go there, and how one is opened."""

from functools import lru_cache
from importlib.util import find_spec

from rememo.errors import InvalidInput, MissingExtra
from rememo.settings import Settings
from rememo.store.cipher.protocol import MasterKeys
from rememo.store.kv.namespaces import parse_namespace
from rememo.store.kv.protocol import KeyValue
from rememo.store.kv.routed import RoutedKeyValue, Where
from rememo.store.protocol.store import Store

# What a namespace is for, as the setting names it. All else (limits, policies, keys of a server) must not be lost.
_HELD = {"": "kv", "flows": "flows", "cached": "caches", "sessions": "sessions", "profiles": "profiles"}
_WITHOUT = "records and whatever else is in the store go on; caches are passed over; {} raise until it is back"


def open_redis_state(kv: KeyValue, store: Store, settings: Settings, encryption: MasterKeys | None) -> RoutedKeyValue:
    """Return a key-value store that keeps short-term state on the Redis server that the settings name."""
    if encryption is not None:
        raise InvalidInput(
            "an encrypted memory keeps its state in its file: a Redis server would see it plain; leave kv out, or encryption"
        )
    require_redis_driver()
    # Only now: those who have no server need not have the driver.
    from rememo.store.redis.address import parse_address  # noqa: PLC0415
    from rememo.store.redis.client import RedisClient  # noqa: PLC0415
    from rememo.store.redis.key_value import RedisKeyValue  # noqa: PLC0415

    holds = frozenset(settings.kv_holds)
    raising = ", ".join(name for name in settings.kv_holds if name != "caches") or "no calls"
    server = RedisClient(parse_address(settings.kv), name="kv", without=_WITHOUT.format(raising))
    shared = RedisKeyValue(server, compress_above=settings.compress_above, record=store.note)

    @lru_cache(maxsize=10_000)
    def where(space: str) -> Where:
        use = _HELD.get(parse_namespace("", space)[1])
        if use not in holds:
            return "kept"
        return "cache" if use == "caches" else "shared"

    return RoutedKeyValue(kv, shared, where)


def require_redis_driver() -> None:
    """Raise `MissingExtra` where the Redis driver is not installed."""
    if find_spec("redis") is None:
        raise MissingExtra('state on a Redis server needs its driver: pip install "rememo[redis]"')
