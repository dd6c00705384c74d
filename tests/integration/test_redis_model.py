"""Key-value on Redis against a model: whatever is done, both say the same."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from rememo.model.audit import NewAuditEntry
from rememo.store.kv.protocol import Entry
from rememo.store.redis.address import parse_address
from rememo.store.redis.client import RedisClient
from rememo.store.redis.key_value import RedisKeyValue
from rememo.testing import ManualClock
from rememo.testing.redis import RedisPrefixes

# Few, so that something happens to each of them.
KEYS = st.sampled_from(["a", "ab", "é"])
SPACES = st.sampled_from(["[null,null,null]", '[null,"u",null]'])
TENANTS = st.sampled_from(["default", "default", "default", "{other}"])
PLACES = st.tuples(TENANTS, SPACES, KEYS)
Place = tuple[str, str, str]


@dataclass
class Told:
    value: str
    version: int
    expires_at: datetime | None
    sliding: float | None


class Machine(RuleBasedStateMachine):
    places: RedisPrefixes

    @initialize()
    def open(self) -> None:
        self.clock = ManualClock()
        self.kv = RedisKeyValue(
            RedisClient(parse_address(self.places.lend()), name="kv", without=""), record=self.refuse
        )
        self.held: dict[Place, Told] = {}
        self.last: dict[Place, int] = {}

    def refuse(self, note: NewAuditEntry) -> None:
        raise AssertionError(note)

    def alive(self, place: Place) -> Told | None:
        told = self.held.get(place)
        return None if told is None or (told.expires_at and told.expires_at <= self.clock()) else told

    def entries(self, tenant: str, space: str) -> dict[str, Told]:
        found = {place[2]: self.alive(place) for place in self.held if place[:2] == (tenant, space)}
        return {key: told for key, told in sorted(found.items()) if told is not None}

    @rule(place=PLACES, value=st.text(max_size=3), ttl=st.none() | st.floats(0.5, 50), sliding=st.booleans(),
          swap=st.none() | st.sampled_from(["right", "zero", "old"]))  # fmt: skip
    def set(self, place: Place, value: str, ttl: float | None, sliding: bool, swap: str | None) -> None:
        there, old = self.alive(place), self.last.get(place, 0)
        version = there.version if there else 0
        expected = {None: None, "right": version, "zero": 0, "old": max(old - 1, 1)}[swap]
        sliding = sliding and ttl is not None
        given = self.kv.set(*place, f'"{value}"', self.clock(), ttl=ttl, sliding=sliding, expected=expected)
        if expected is not None and expected != version:
            assert given is None
            return
        assert given is not None
        # It counts on by one while it is there, and never gives a version of this key again.
        assert given == version + 1 if there else given > old
        ends = None if ttl is None else self.clock() + timedelta(microseconds=round(ttl * 1_000_000))
        self.held[place] = Told(f'"{value}"', given, ends, ttl if sliding else None)
        self.last[place] = given

    def get(self, place: Place) -> None:
        told, entry = self.alive(place), self.kv.get(*place, self.clock())
        if told is None:
            assert entry is None
            return
        assert entry is not None
        assert (entry.key, entry.value, entry.version) == (place[2], told.value, told.version)
        if told.sliding is not None and told.expires_at is not None:
            later = self.clock() + timedelta(microseconds=round(told.sliding * 1_000_000))
            if later - told.expires_at > timedelta(microseconds=round(told.sliding * 1_000_000) // 20):
                told.expires_at = later
        assert entry.expires_at == told.expires_at

    @rule(place=PLACES)
    def delete(self, place: Place) -> None:
        assert self.kv.delete(*place, self.clock()) is (self.alive(place) is not None)
        self.held.pop(place, None)

    @rule(tenant=TENANTS, space=SPACES, pattern=st.sampled_from(["*", "a*", "?", "[ab]", "*b", "none", "é"]))
    def invalidate(self, tenant: str, space: str, pattern: str) -> None:
        doomed = [key for key in self.entries(tenant, space) if fnmatchcase(key, pattern)]
        assert self.kv.invalidate(tenant, space, pattern, self.clock()) == len(doomed)
        for place in [place for place in self.held if place[:2] == (tenant, space) and fnmatchcase(place[2], pattern)]:
            del self.held[place]

    @rule(seconds=st.floats(0.1, 30))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        for place in self.held:
            self.get(place)

    @rule(tenant=TENANTS)
    def sweep(self, tenant: str) -> None:
        self.kv.sweep(tenant, self.clock())
        assert self.kv.sweep(tenant, self.clock()) == 0

    @rule(place=PLACES, ahead=st.integers(-1, 3))
    def load(self, place: Place, ahead: int) -> None:
        version = max(self.last.get(place, 0) + ahead, 1)
        stored = self.kv.load(place[0], place[1], Entry(key=place[2], value='"loaded"', version=version))
        if version > self.last.get(place, 0):
            assert stored
        if stored:
            self.held[place] = Told('"loaded"', version, None, None)
            self.last[place] = max(version, self.last.get(place, 0))

    @rule(tenant=TENANTS, key=KEYS)
    def erase(self, tenant: str, key: str) -> None:
        self.kv.erase(tenant, lambda _, name: name == key)
        for place in [place for place in self.held if place[0] == tenant and place[2] == key]:
            del self.held[place]

    @rule(places=st.lists(PLACES, max_size=4))
    def versions(self, places: list[Place]) -> None:
        for tenant in ("default", "{other}"):
            mine = [place for place in places if place[0] == tenant]
            found = self.kv.versions(tenant, [place[1:] for place in mine], self.clock())
            assert found == tuple(told.version if (told := self.alive(place)) else 0 for place in mine)

    @invariant()
    def all_of_it_is_the_same(self) -> None:
        for tenant in ("default", "{other}"):
            expected = {
                (place[1], place[2], told.value, told.version)
                for place in self.held
                if place[0] == tenant and (told := self.alive(place))
            }
            found = {
                (space, entry.key, entry.value, entry.version) for space, entry in self.kv.dump(tenant, self.clock())
            }
            assert found == expected
            assert self.kv.count(tenant, self.clock()) == len(expected)
            for space in {place[1] for place in self.held if place[0] == tenant}:
                assert self.kv.keys(tenant, space, "*", self.clock()) == list(self.entries(tenant, space))

    def teardown(self) -> None:
        if hasattr(self, "kv"):
            self.kv.close()


def test_whatever_is_done_it_is_as_the_model_says(places: RedisPrefixes):
    class Lent(Machine):
        pass

    Lent.places = places
    run_state_machine_as_test(
        Lent,
        settings=settings(
            max_examples=30, stateful_step_count=40, deadline=None, suppress_health_check=[HealthCheck.too_slow]
        ),
    )
