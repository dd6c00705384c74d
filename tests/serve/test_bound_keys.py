"""A key that is bound to labels changes nothing beyond them: what contradicts there is a conflict for those who see both."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from rememo import Client, Memory
from rememo.errors import InvalidInput
from rememo.serve.auth import ApiKeys
from rememo.testing import ManualClock

LONG_AGO = datetime(2001, 1, 1, tzinfo=UTC)


@pytest.fixture
def home(memory: Memory, clock: ManualClock) -> Memory:
    """Where ana said without a key that she lives in Lisbon."""
    room = memory.scope(user="ana", room="home")
    room.messages.add("user", "I live in Lisbon.").wait()
    clock.advance(60)
    return room


@pytest.fixture
def bound(serve: Any, keys: ApiKeys) -> Iterator[Callable[..., Client]]:
    """Give clients whose keys are bound to labels."""
    address = serve()
    with ExitStack() as stack:

        def client(**labels: Any) -> Client:
            _, key = keys.add(**labels, rights=["read", "write"])
            return stack.enter_context(Client(address, key=key))

        yield client


@pytest.fixture
def support(bound: Callable[..., Client]) -> Client:
    """Another room, under a key that is bound to it."""
    return bound(room="support").scope(user="ana")


def versions(room: Memory) -> list[Any]:
    """Return everything of a room, with all that it ever was."""
    records = [*room.list(limit=1_000), *room.list(kind="revision", limit=1_000)]
    return [[version.to_dict() for version in room.history(record.id)] for record in records]


def homes(memory: Any) -> dict[str, str]:
    return {fact.object: fact.status for fact in memory.facts.list(predicate="lives_in", current_only=False)}


def spans(memory: Any) -> dict[str, tuple[str, Any, Any, float]]:
    found = memory.facts.list(predicate="lives_in", current_only=False)
    return {fact.object: (fact.status, fact.valid_from, fact.valid_to, fact.confidence) for fact in found}


WAYS: dict[str, Callable[[Client], Any]] = {
    "said": lambda room: room.messages.add("user", "I moved to Porto.").wait(),
    "denied": lambda room: room.messages.add("user", "I no longer live in Lisbon. I live in Porto.").wait(),
    "corrected": lambda room: room.messages.add("user", "I live in Porto, not in Lisbon.").wait(),
    "in a batch": lambda room: _in_a_batch(room).wait(),
    "as a record": lambda room: room.update(
        room.add("Hello.", kind="message").id, text="I moved to Porto.", data={"role": "user", "bound": []}
    ).wait(),
    "edited": lambda room: _edited(room).wait(),
    "by hand": lambda room: room.facts.add("ana", "lives_in", "Porto"),
    "changed by hand": lambda room: room.facts.update(room.facts.add("ana", "lives_in", "Faro").id, object="Porto"),
}


def _in_a_batch(room: Client) -> Any:
    with room.batch() as batch:
        batch.messages.add("user", "I moved to Porto.")
    return batch.receipt


def _edited(room: Client) -> Any:
    return room.update(room.messages.add("user", "Hello.").wait().id, text="I moved to Porto.")


@pytest.mark.requirement("api.rest")
@pytest.mark.parametrize("way", WAYS)
def test_what_a_room_key_writes_ends_nothing_in_another_room(way: str, memory: Memory, home: Memory, support: Client):
    before = versions(home)
    WAYS[way](support)
    assert homes(support)["Porto"] == "current"
    assert versions(home) == before
    everywhere = memory.scope(user="ana")
    [conflict] = everywhere.facts.conflicts()
    assert {fact.object for fact in conflict.facts} == {"Lisbon", "Porto"}
    assert support.facts.conflicts() == []
    everywhere.facts.resolve(conflict, keep="Porto")
    assert homes(home) == {"Lisbon": "retracted"}
    assert homes(support)["Porto"] == "current"
    assert everywhere.facts.conflicts() == []


def test_whoever_sees_both_may_keep_what_was_there(home: Memory, memory: Memory, support: Client):
    WAYS["said"](support)
    [conflict] = memory.facts.conflicts()
    memory.facts.resolve(conflict, keep="Lisbon")
    assert (homes(home), homes(support)) == ({"Lisbon": "current"}, {"Porto": "retracted"})


@pytest.mark.parametrize("labels", [{}, {"user": "ana"}], ids=str)
def test_a_key_that_sees_both_rooms_ends_what_it_contradicts(
    home: Memory, bound: Callable[..., Client], labels: dict[str, str]
):
    WAYS["said"](bound(**labels).scope(user="ana", room="support"))
    assert homes(home) == {"Lisbon": "superseded"}
    assert home.facts.conflicts() == []


def test_whoever_sees_the_room_ends_later_what_a_bound_key_said(home: Memory, support: Client, clock: ManualClock):
    WAYS["said"](support)
    clock.advance(60)
    home.messages.add("user", "I moved to Faro.").wait()
    assert homes(home) == {"Lisbon": "superseded", "Faro": "current"}
    assert homes(support) == {"Porto": "superseded"}
    assert home.facts.conflicts() == []


def test_a_key_ends_what_it_sees(support: Client, clock: ManualClock):
    support.messages.add("user", "I live in Lisbon.").wait()
    clock.advance(60)
    WAYS["said"](support)
    assert homes(support) == {"Lisbon": "superseded", "Porto": "current"}


def test_taking_back_what_another_said_in_its_room_revives_nothing_elsewhere(
    memory: Memory, home: Memory, support: Client
):
    said = memory.scope(user="ana", room="support").messages.add("user", "I moved to Porto.").wait()
    assert homes(home) == {"Lisbon": "superseded"}
    before = versions(home)
    support.delete(said.id).wait()
    assert homes(support) == {}
    assert versions(home) == before


REVISED = (
    ("I live in Lisbon.", "I moved to Porto."),
    ("The wifi password is tulip42.", "The wifi password is daffodil7."),
)
TAKEN_BACK: dict[str, Callable[[Client, str], Any]] = {
    "deleted": lambda room, id: room.delete(id),
    "edited": lambda room, id: room.update(id, text="Good morning."),
    "cleared": lambda room, _: room.messages.clear(),
    "gone back": lambda room, _: room.rollback("before"),
    "undone": lambda room, id: room.undo(room.delete(id).wait()),
}


@pytest.mark.parametrize("way", TAKEN_BACK)
@pytest.mark.parametrize("texts", REVISED, ids=["a fact", "no fact"])
def test_what_a_room_key_takes_back_changes_no_revision_elsewhere(
    memory: Memory, support: Client, clock: ManualClock, way: str, texts: tuple[str, str]
):
    home = memory.scope(user="ana", room="home")
    home.messages.add("user", texts[0]).wait()
    clock.advance(60)
    memory.snapshot("before")
    clock.advance(60)
    said = memory.scope(user="ana", room="support").messages.add("user", texts[1]).wait()
    assert home.count(kind="revision") == 1
    clock.advance(60)
    before = versions(home)
    TAKEN_BACK[way](support, said.id).wait()
    assert versions(home) == before
    # Who sees both rooms takes it back everywhere.
    clock.advance(60)
    if way == "undone":
        memory.delete(said.id).wait()
        assert home.count(kind="revision") == 0


@pytest.mark.parametrize("elsewhere", [None, "I have lived in Porto since 2019.", "I live in Faro."])
def test_a_guess_under_a_bound_key_tells_nothing_of_other_rooms(
    memory: Memory, support: Client, clock: ManualClock, elsewhere: str | None
):
    if elsewhere is not None:
        memory.scope(user="ana", room="home").messages.add("user", elsewhere).wait()
    clock.advance(60)
    receipt = support.messages.add("user", "I live in Porto.").wait()
    said_now = spans(support)
    assert said_now == {"Porto": ("current", None, None, said_now["Porto"][3])}
    [fact] = support.facts.list(predicate="lives_in")
    assert [source.id for source in fact.sources] == [receipt.id]
    # Nor does one that is dated back, or put into an old message.
    support.messages.add("user", "I live in Porto.", at=LONG_AGO).wait()
    support.update(receipt.id, text="I live in Braga.").wait()
    assert {fact.object for fact in support.facts.list(predicate="lives_in")} == {"Braga"}
    assert support.facts.conflicts() == []


def test_amending_by_hand_changes_the_fact_itself_and_nothing_elsewhere(memory: Memory, home: Memory, support: Client):
    memory.scope(user="ana", room="support").messages.add("user", "I moved to Porto.").wait()
    [fact] = support.facts.list(predicate="lives_in")
    before = versions(home)
    assert support.facts.update(fact.id, confidence=0.25, valid_from=LONG_AGO).id == fact.id
    assert support.facts.get(fact.id).confidence == 0.25
    assert versions(home) == before
    # Whoever reaches further may amend what a bound key said; that alone decides no conflict.
    told = support.facts.add("ana", "works_at", "Acme")
    home.facts.add("ana", "works_at", "Initech", valid_from=LONG_AGO + timedelta(days=1))
    assert memory.facts.update(told.id, confidence=0.5).id == told.id
    assert {fact.object for fact in home.facts.list(predicate="works_at")} == {"Initech"}


def test_a_bound_key_says_nothing_of_how_far_it_reaches(support: Client):
    with pytest.raises(InvalidInput, match="bound"):
        support.messages.add("user", "Hello.", data={"bound": []})
    id = support.messages.add("user", "Hello.").id
    support.update(id, data={"role": "user"})
    assert support.get(id).data == {"role": "user", "bound": ["room"]}
