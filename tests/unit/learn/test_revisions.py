"""What later statements make of earlier ones: found without a predicate, shown in hits, left out of contexts, undone."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory
from rememo.learn.revise.signals import TABLE, SignalRow, find_signals
from rememo.settings import Settings

START = datetime(2024, 1, 5, 10, tzinfo=UTC)
LATER = START + timedelta(days=200)


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:") as memory:
        yield memory


def say(view: Memory, *texts: str) -> list[str]:
    """Add messages a month apart, and give their ids."""
    return [
        view.messages.add("user", text, at=START + place * timedelta(days=30)).wait().id
        for place, text in enumerate(texts)
    ]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.kind)
def test_every_row_finds_its_examples(row: SignalRow) -> None:
    assert row.examples, "a row without examples cannot be relied on"
    for example in row.examples:
        assert row.kind in find_signals(example), example


@pytest.mark.parametrize(
    "after",
    [
        "I won't quit my job.", "If I sold the car, I would miss it.", "My sister sold her car.", "I might sell the car one day.",
        "Does anybody want to buy a car?", "My brother quit his job at the bank.",
    ],
)  # fmt: skip
def test_wishes_questions_and_others_end_nothing(memory: Memory, after: str) -> None:
    view = memory.scope(user="ana", room="r")
    say(view, "I drive a red car.", "I work at the bank.", after)
    assert {hit.status for hit in view.search("do I have a car?", at=LATER)} <= {"current", "unknown"}


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize(
    ("before", "after", "question"),
    [
        ("I live in Lisbon.", "I moved to Porto.", "where do I live?"),
        ("I take the bus to work.", "I cycle to work now.", "how do I get to work?"),
        ("Our daily standup is at 9am.", "Standup moved to 10:30 from now on.", "when is the standup?"),
        ("The wifi password is tulip42.", "The wifi password is daffodil7.", "what is the wifi password?"),
        ("The meeting with Laura is on Tuesday.", "The meeting with Laura is cancelled.", "when is the meeting with Laura?"),
        ("My gym is FitLife on Main Street.", "I changed gyms, I go to IronHouse now.", "which gym do I go to?"),
        ("I use Windows on my laptop.", "I switched to Linux on my laptop.", "which system is on my laptop?"),
        ("I'm flying to Rome in June.", "I cancelled the Rome trip.", "am I going to Rome?"),
    ],
)  # fmt: skip
def test_what_holds_now_comes_first(memory: Memory, before: str, after: str, question: str) -> None:
    view = memory.scope(user="ana", room="r")
    old, new = say(view, before, after)
    hits = view.search(question, at=LATER)
    assert new in {hits[0].id, *hits[0].record.data.get("sources", ())}, [hit.text for hit in hits]
    assert hits[0].status == "current"
    (outdated,) = [hit for hit in hits if hit.id == old]
    assert outdated.status == "superseded"
    assert outdated.superseded_by in {hits[0].id, new}
    shown = view.context(question, max_tokens=500, at=LATER)
    assert before not in shown.text
    assert after in shown.text


def test_what_merely_looks_alike_revises_nothing(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    say(view, "I live in Lisbon.", "My sister lives in Porto.", "I visited Madrid last weekend.", "I also like Faro.")
    memory.scope(user="bob", room="q").messages.add("user", "I moved to Paris.").wait()
    assert not memory.list(kind="revision")
    assert view.search("where do I live?", at=LATER)[0].text == "ana lives in Lisbon"


def test_questions_about_the_past_get_the_past(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    say(view, "I live in Lisbon.", "I moved to Porto.")
    assert "Lisbon" in view.search("where did I live before Porto?", at=LATER)[0].text
    assert "Lisbon" in view.context("where did I use to live?", max_tokens=500, at=LATER).text
    then = view.search("where do I live?", valid_at=START + timedelta(days=3), at=LATER)
    assert "Lisbon" in then[0].text


def test_a_named_person_is_not_mixed_up_with_strangers(memory: Memory) -> None:
    say(memory.scope(user="ana", room="r"), "I live in Lisbon.", "I moved to Porto.")
    memory.scope(user="bob", room="q").messages.add("user", "I live in Paris.").wait()
    assert memory.search("where does ana live?", at=LATER)[0].text == "ana lives in Porto"
    assert memory.search("where does bob live?", at=LATER)[0].text == "bob lives in Paris"


def test_users_who_speak_in_no_room_do_not_speak_of_each_other(memory: Memory) -> None:
    say(memory.scope(user="ana"), "I live in Lisbon.", "I moved to Porto.")
    memory.scope(user="bob").messages.add("user", "I live in Paris.").wait()
    hits = memory.search("where does ana live?", at=LATER)
    assert [(hit.status, hit.text) for hit in hits[:2]] == [
        ("current", "ana lives in Porto"),
        ("superseded", "I live in Lisbon."),
    ]
    assert hits[-1].text == "bob lives in Paris"
    assert hits[-1].score < 0.8 * hits[0].score


def test_a_fact_and_its_message_are_one_hit(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    (id,) = say(view, "I live in Lisbon.")
    (hit,) = view.search("where do I live?", at=LATER)
    assert (hit.record.kind, [source.id for source in hit.sources]) == ("fact", [id])


@pytest.mark.parametrize("after", ["I moved to Porto.", "I no longer use vim."])
def test_taking_back_the_later_statement_lets_the_earlier_hold_again(memory: Memory, after: str) -> None:
    view = memory.scope(user="ana", room="r")
    old = say(view, "I live in Lisbon." if "Porto" in after else "I always use vim.")[0]
    new = view.messages.add("user", after, at=LATER).wait()
    assert [record.data["record"] for record in view.list(kind="revision")] == [old]
    receipt = view.delete(new.id).wait()
    assert not view.list(kind="revision")
    view.undo(receipt).wait()
    assert [record.data["record"] for record in view.list(kind="revision")] == [old]


def test_facts_heard_by_different_agents_contradict_each_other(memory: Memory) -> None:
    memory.scope(user="ana", room="r", agent="helper").messages.add("user", "I live in Madrid.", at=START).wait()
    memory.scope(user="ana", room="q").messages.add("user", "I moved to Valencia.", at=LATER).wait()
    assert [fact.object for fact in memory.scope(user="ana").facts.list(predicate="lives_in")] == ["Valencia"]


def test_an_erased_message_leaves_no_revision_behind(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    old, _ = say(view, "The wifi password is tulip42.", "The wifi password is daffodil7.")
    assert view.list(kind="revision")
    assert memory.erase(ids=[old]).ok
    assert not view.list(kind="revision")


def test_erasing_one_of_two_later_statements_leaves_what_the_other_revised(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    old, gone, new = say(view, "I live in Lisbon.", "I moved to Porto.", "I moved to Berlin.")
    memory.add("a caller's own", kind="revision", id="own")
    assert memory.erase(ids=[gone]).ok
    (revision,) = view.list(kind="revision")
    assert revision.data["record"] == old
    assert gone not in str([version.to_dict() for version in memory.history(revision.id)])
    assert f"record {new}" in revision.data["revisions"] or "lives_in ana" in revision.data["revisions"]
    (hit,) = [hit for hit in view.search("where do I live?", at=LATER) if hit.record.kind == "fact"]
    assert "Berlin" in hit.record.text
    assert memory.get("own").text == "a caller's own"
    assert memory.verify().faults == ()


def test_a_callers_own_record_of_the_kind_disturbs_no_lesson(memory: Memory) -> None:
    memory.add("a caller's own", kind="revision", data={"revisions": 3})
    view = memory.scope(user="ana", room="r")
    ids = say(view, "I live in Lisbon.", "I always use vim.")
    for id in ids:
        view.update(id, text="I live in Porto.")
    assert [fact.object for fact in view.facts.list()] == ["Porto"]
    assert not [job for job in memory.jobs.list() if job.error]


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("I live in Lisbon.", "I moved to Porto."), ("The wifi password is tulip42.", "The wifi password is daffodil7.")],
)
def test_an_edit_keeps_what_was_revised_as_long_as_the_words_are_there(
    memory: Memory, earlier: str, later: str
) -> None:
    view = memory.scope(user="ana", room="r")
    old, _ = say(view, earlier, later)
    (before,) = view.list(kind="revision")
    view.update(old, text=f"{earlier} The weather is nice.").wait()
    assert view.list(kind="revision")[0].data["revisions"].keys() == before.data["revisions"].keys()
    view.update(old, text="The weather is nice.").wait()
    assert not view.list(kind="revision")


def test_nothing_is_revised_where_learning_is_switched_off() -> None:
    with Memory(":memory:", settings=Settings(learn=False)) as memory:
        view = memory.scope(user="ana", room="r")
        _, new = say(view, "The wifi password is tulip42.", "Hello there.")
        view.update(new, text="The wifi password is daffodil7.").wait()
        assert not memory.list(kind="revision")


def test_what_was_revised_anew_keeps_no_roll_back_from_being_undone(memory: Memory) -> None:
    view = memory.scope(user="ana", room="r")
    old = say(view, "The wifi password is tulip42.")[0]
    memory.snapshot("before")
    new = view.messages.add("user", "The wifi password is daffodil7.", at=LATER).wait().id
    assert view.count(kind="revision") == 1
    receipt = memory.rollback("before").wait()
    assert not view.list(kind="revision")
    memory.undo(receipt).wait()
    assert {message.id for message in view.list(kind="message")} == {old, new}
    assert [record.data["record"] for record in view.list(kind="revision")] == [old]


def test_a_revision_from_another_room_tells_nothing_of_it(memory: Memory) -> None:
    here, there = memory.scope(user="ana", room="r1"), memory.scope(user="ana", room="r2")
    say(here, "I live in Lisbon.", "Our daily standup is at 9am.", "My favourite colour is green.")
    later = [
        there.messages.add("user", text, at=LATER).wait().id
        for text in ("I moved to Porto.", "Standup moved to 10:30 from now on.")
    ]
    there.facts.add("ana", "favourite_colour", "blue", valid_from=LATER)
    facts = {fact.id for fact in there.facts.list(current_only=False)}
    assert facts
    told = [values for record in here.list(kind="revision") for values in record.data["revisions"].values()]
    assert {values["by"] for values in told} <= {*later, ""}
    assert {values["reason"] for values in told} <= {"", "lives_in", "takes_place", "favourite_colour"}
    # Ids of facts follow from what they say: whoever sees only one room could guess them.
    assert not facts & {hit.superseded_by for hit in here.search("where do I live?", at=LATER)}
    assert memory.scope(user="ana").search("where do I live?", at=LATER)[0].text == "ana lives in Porto"
    assert memory.scope(user="ana").search("when is the standup?", at=LATER)[0].id == later[1]
