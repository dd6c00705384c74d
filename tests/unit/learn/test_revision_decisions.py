"""Revisions that somebody looks at: listed with how sure they are, confirmed, rejected, and taken back with what made them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory
from rememo.errors import InvalidInput, NotFound, ReadOnly

START = datetime(2024, 1, 5, 10, tzinfo=UTC)
LATER = START + timedelta(days=200)
VIM, NO_VIM = "I always use vim.", "I no longer use vim."
pytestmark = pytest.mark.requirement("conflict.policy")


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as memory:
        yield memory


@pytest.fixture
def view(memory: Memory) -> Memory:
    return memory.scope(user="ana", room="r")


def say(view: Memory, *texts: str) -> list[str]:
    """Add messages a month apart, and give their ids."""
    return [
        view.messages.add("user", text, at=START + place * timedelta(days=30)).id for place, text in enumerate(texts)
    ]


def statuses(view: Memory, question: str) -> dict[str, str]:
    """Return how what was found stands, a message that is one hit with its fact as that."""
    hits = view.search(question, at=LATER)
    return {record.text: hit.status for hit in hits for record in (hit.record, *hit.sources)}


def test_a_revision_is_listed_with_its_reason_and_how_sure_it_is(memory: Memory, view: Memory):
    old, new = say(view, VIM, NO_VIM)
    [revision] = view.revisions.list()
    assert (revision.id, revision.by, revision.wording, revision.text, revision.decision) == (
        old,
        new,
        VIM,
        NO_VIM,
        "open",
    )
    assert revision.reason
    assert 0 < revision.confidence <= 1
    assert view.revisions.list(id=old) == [revision]
    assert view.revisions.list(id=new) == []
    assert view.revisions.list(max_confidence=revision.confidence / 2) == []
    assert view.revisions.list(decided=True) == []
    assert memory.scope(user="bob").revisions.list() == []
    with pytest.raises(InvalidInput, match="max_confidence"):
        view.revisions.list(max_confidence=2)


def test_what_is_rejected_holds_and_what_is_confirmed_is_certain(view: Memory):
    first = "My gym is FitLife on Main Street."
    old, new = say(view, first, "I changed gyms, I go to IronHouse now.")
    question = "which gym do I go to?"
    assert statuses(view, question)[first] == "superseded"
    assert view.revisions.reject(old, new).decision == "rejected"
    assert statuses(view, question)[first] != "superseded"
    assert first in view.context(question, max_tokens=500, at=LATER).text
    confirmed = view.revisions.confirm(old, new)
    assert (confirmed.decision, confirmed.confidence) == ("confirmed", 1.0)
    assert statuses(view, question)[first] == "superseded"
    assert [revision.decision for revision in view.revisions.list(decided=True)] == ["confirmed"]


def test_what_facts_say_is_not_rejected_here(view: Memory):
    old, new = say(view, VIM, NO_VIM)
    before = view.revisions.list()
    with pytest.raises(InvalidInput, match=r"facts\.update"):
        view.revisions.reject(old, new)
    assert view.revisions.list() == before


def test_facts_that_a_rejected_revision_had_ended_hold_again(view: Memory):
    old, new = say(view, "I love sushi on Fridays.", "Fridays are for pizza now, no more sushi.")
    assert not view.facts.list(subject="ana", predicate="likes")
    view.revisions.reject(old, new)
    assert [fact.object for fact in view.facts.list(subject="ana", predicate="likes")] == ["sushi"]


def test_a_decision_stays_when_the_record_is_learned_from_again(view: Memory):
    old, new = say(view, "Our daily standup is at 9am.", "Standup moved to 10:30 from now on.")
    view.revisions.reject(old, new)
    view.update(new, metadata={"seen": True}).wait()
    assert [revision.decision for revision in view.revisions.list(id=old)] == ["rejected"]


@pytest.mark.parametrize("decided", [False, True])
@pytest.mark.parametrize("how", ["delete", "undo", "rollback"])
def test_a_revision_goes_with_the_later_statement(view: Memory, how: str, decided: bool):
    [old] = say(view, "Our daily standup is at 9am.")
    view.snapshot("before")
    receipt = view.messages.add("user", "Standup moved to 10:30 from now on.", at=LATER)
    assert [revision.id for revision in view.revisions.list()] == [old]
    if decided:
        view.revisions.reject(old, receipt.id)
    if how == "delete":
        view.delete(receipt.id)
    elif how == "undo":
        view.undo(receipt)
    else:
        view.rollback("before")
    assert view.revisions.list() == []
    assert not view.list(kind="revision")
    assert statuses(view, "when is the standup?")["Our daily standup is at 9am."] != "superseded"


def test_what_cannot_be_decided_is_told(memory: Memory, view: Memory):
    old, new = say(view, VIM, NO_VIM)
    with pytest.raises(NotFound, match="is not known to revise"):
        view.revisions.reject(new, old)
    with pytest.raises(NotFound):
        view.revisions.reject(old, "nothing")
    with pytest.raises(NotFound):
        memory.scope(user="bob").revisions.confirm(old, new)
    with pytest.raises(ReadOnly):
        view.as_of(LATER).revisions.confirm(old, new)
    home, moved = say(view, "I live in Lisbon.", "I moved to Porto.")
    [other] = [revision for revision in view.revisions.list(id=home) if revision.by != moved]
    with pytest.raises(InvalidInput, match=r"facts\.update"):
        view.revisions.reject(home, other.by)
