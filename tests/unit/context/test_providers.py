"""Providers are known to the view where they were registered and to narrower ones, each name once."""

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Scope
from rememo.context.providers import ProviderRequest, Registry
from rememo.errors import AlreadyExists, InvalidInput, NotFound

BUILT_IN = ["time", "profile", "relationships", "facts", "plans", "flows", "documents", "passages", "messages"]


def names(memory: Memory) -> list[str]:
    return [provider.name for provider in memory.providers.list()]


def nothing(request: ProviderRequest[Any]) -> None:
    return None


@pytest.fixture
def memory():
    with Memory(":memory:", embedder=None) as memory:
        yield memory


def test_the_built_in_ones_are_there_in_their_order(memory: Memory):
    assert names(memory) == BUILT_IN
    assert memory.providers.get("time").builtin


def test_one_belongs_to_its_view_and_to_narrower_ones(memory: Memory):
    alice = memory.scope(user="alice")
    alice.provider("mine")(nothing)
    memory.providers.add("ours", nothing, position=-5, private=True, timeout="2s")
    assert names(alice)[0] == "ours"
    assert names(alice.scope(room="r"))[-1] == "mine"
    assert "mine" not in names(memory)
    assert "mine" not in names(memory.scope(user="bob"))
    assert "ours" not in names(memory.scope(tenant="other"))
    ours = memory.providers.get("ours")
    assert (ours.position, ours.private, ours.timeout, ours.scope, ours.builtin) == (-5, True, 2.0, Scope(), False)


def test_equal_positions_stand_in_the_order_of_registration(memory: Memory):
    for name in ("zebra", "ant", "cow"):
        memory.provider(name, position=500)(nothing)
    assert names(memory)[-3:] == ["zebra", "ant", "cow"]


def test_the_decorator_gives_the_function_back(memory: Memory):
    assert memory.provider("one")(nothing) is nothing
    assert memory.providers.get("one").function is nothing


def test_a_name_that_some_view_would_see_twice_is_refused(memory: Memory):
    memory.scope(user="alice").provider("weather")(nothing)
    memory.scope(user="bob").provider("weather")(nothing)
    for view in (memory, memory.scope(user="alice"), memory.scope(room="r"), memory.scope(user="bob", room="r")):
        with pytest.raises(AlreadyExists, match=r"'weather'.*remove that one first"):
            view.provider("weather")(nothing)
    with pytest.raises(AlreadyExists, match="built in"):
        memory.provider("time")(nothing)


def test_removing(memory: Memory):
    alice = memory.scope(user="alice")
    memory.provider("weather")(nothing)
    with pytest.raises(InvalidInput, match=r"whole tenant.*remove it there"):
        alice.providers.remove("weather")
    memory.providers.remove("weather")
    with pytest.raises(NotFound, match="there are documents, facts"):
        memory.providers.remove("weather")
    with pytest.raises(NotFound):
        memory.providers.get("weather")


def test_a_built_in_one_is_removed_for_a_view_and_may_be_replaced_there(memory: Memory):
    alice = memory.scope(user="alice")
    alice.providers.remove("time")
    assert "time" not in names(alice.scope(room="r"))
    assert "time" in names(memory)
    alice.provider("time")(nothing)
    assert names(alice).count("time") == 1
    assert not alice.providers.get("time").builtin
    with pytest.raises(AlreadyExists):
        memory.provider("time")(nothing)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("", {}, "empty"),
        (7, {}, "must be text"),
        ("x" * 600, {}, "more than the 512"),
        ("x", {"position": 1.5}, "position"),
        ("x", {"position": True}, "position"),
        ("x", {"private": "yes"}, "private"),
        ("x", {"timeout": 0}, "timeout"),
        ("x", {"timeout": -1}, "timeout"),
        ("x", {"timeout": float("nan")}, "timeout"),
        ("x", {"timeout": "soon"}, "timeout"),
    ],
)
def test_what_cannot_be_meant_is_refused(memory: Memory, name: Any, options: Any, says: str):
    with pytest.raises(InvalidInput, match=says):
        memory.provider(name, **options)(nothing)
    assert names(memory) == BUILT_IN


def test_what_is_no_function_and_a_forgotten_name_are_refused(memory: Memory):
    wrong: Any = "text"
    with pytest.raises(InvalidInput, match="must be a function, not str"):
        memory.providers.add("x", wrong)
    forgotten: Any = memory.provider
    with pytest.raises(InvalidInput, match="a provider needs a name"):
        forgotten(nothing)(nothing)


LABEL = st.sampled_from([None, "a", "b"])
SCOPES = st.builds(Scope, tenant=st.sampled_from(["default", "t"]), agent=LABEL, user=LABEL, room=LABEL)


@given(st.lists(st.tuples(SCOPES, st.sampled_from(["x", "y"]), st.booleans()), max_size=12))
def test_no_view_ever_sees_a_name_twice(steps: list[tuple[Scope, str, bool]]):
    registry = Registry()
    for scope, name, adding in steps:
        try:
            if adding:
                registry.add(scope, name, nothing, position=0, private=False, timeout=1)
            else:
                registry.remove(scope, name)
        except (AlreadyExists, NotFound, InvalidInput):
            continue
    for tenant, agent, user, room in product(["default", "t"], [None, "a", "b"], [None, "a", "b"], [None, "a", "b"]):
        view = Scope(tenant=tenant, agent=agent, user=user, room=room)
        seen = registry.visible(view)
        assert len({provider.name for provider in seen}) == len(seen)
        assert all(provider.scope is not None and provider.scope.contains(view) for provider in seen)
