"""Facts by hand: added, merged, found, changed, and settled when they contradict each other."""

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.model.fact import Conflict, Source
from rememo.testing import ManualClock

from .learning import day, facts_of, open_memory, triples


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with open_memory(clock=clock) as memory:
        yield memory.scope(user="ana")


@pytest.mark.requirement("fact.create-query-update")
def test_a_fact_is_added_found_and_read_back(memory: Memory):
    facts = facts_of(memory)
    source = memory.add("I live in Lisbon", kind="message")
    receipt = facts.add("I", "moved to", "Lisbon", confidence=0.8, sources=[source.id], wording="I live in Lisbon")
    assert receipt.outcome == "added"
    fact = facts.get(receipt.id)
    assert (fact.subject, fact.predicate, fact.object, fact.confidence) == ("ana", "lives_in", "Lisbon", 0.8)
    assert fact.sources == (Source(source.id, 1),)
    assert (fact.status, fact.wording) == ("current", "I live in Lisbon")
    assert fact.record.text == "ana lives in Lisbon"
    assert facts.list(subject="Ana", predicate="lives in", object="LISBON") == [fact]
    assert facts.list(subject="ana", min_confidence=0.9) == []
    assert facts.list(object="Porto") == []


@pytest.mark.requirement("fact.create-query-update")
def test_equal_facts_merge_and_gather_sources_and_confidence(memory: Memory):
    facts = facts_of(memory)
    first, second = (memory.add(text, kind="message").id for text in ("tea please", "I love tea"))
    receipt = facts.add("ana", "likes", "tea", confidence=0.6, sources=[first])
    assert facts.add("ana", "loves", "Tea", confidence=0.5, sources=[second]).id == receipt.id
    fact = facts.get(receipt.id)
    assert fact.confidence == pytest.approx(1 - 0.4 * 0.5)
    assert [source.id for source in fact.sources] == [first, second]
    again = facts.add("ana", "likes", "tea", confidence=0.6, sources=[first])
    assert (again.outcome, again.version) == ("unchanged", 2)
    assert facts.get(receipt.id).confidence == pytest.approx(0.8), "one source does not count twice"


@pytest.mark.requirement("fact.create-query-update")
def test_what_is_set_by_hand_stays(memory: Memory):
    facts = facts_of(memory)
    id = facts.add("ana", "likes", "tea", confidence=0.6).id
    assert facts.update(id, confidence=0.2).id == id
    facts.add("ana", "likes", "tea", confidence=0.9)
    assert facts.get(id).confidence == 0.2
    facts.update(id, valid_from=day(2020), valid_to=day(2021))
    ended = facts.get(id)
    assert (ended.valid_from, ended.valid_to, ended.status) == (day(2020), day(2021), "superseded")
    facts.update(id, valid_to=None)
    assert (facts.get(id).valid_from, facts.get(id).valid_to, facts.get(id).status) == (day(2020), None, "current")


@pytest.mark.requirement("fact.create-query-update")
def test_another_object_is_a_correction(memory: Memory):
    facts = facts_of(memory)
    wrong = facts.add("ana", "birthday", "May 3").id
    right = facts.update(wrong, object="May 4").id
    assert triples(memory) == [("ana", "birthday", "May 4")]
    assert (facts.get(wrong).status, facts.get(right).status) == ("retracted", "current")


@pytest.mark.requirement("fact.create-query-update")
@pytest.mark.parametrize(
    "values", [("Oslo", "Porto", "Kyiv", "Aden"), ("Oslo", "Rome"), ("Oslo", "Rome", "Oslo", "Bonn")]
)
def test_a_correction_can_be_corrected(memory: Memory, values: tuple[str, ...]):
    memory = memory.scope(user="ana")
    memory.messages.add("user", "I live in Rome").wait()
    for value in values:
        [home] = memory.facts.list(predicate="lives_in")
        memory.facts.update(home.id, object=value)
        assert [fact.object for fact in memory.facts.list(predicate="lives_in")] == [value]
    statuses = [fact.status for fact in memory.facts.list(predicate="lives_in", current_only=False)]
    assert sorted(set(statuses)) == ["current", "retracted"]
    assert statuses.count("current") == 1


@pytest.mark.requirement("write.receipt")
def test_a_key_makes_a_retry_harmless(memory: Memory):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Rome", valid_from=day(2020))
    first = facts.add("ana", "lives in", "Lisbon", confidence=0.5, key="k")
    assert facts.add("ana", "lives in", "Lisbon", confidence=0.5, key="k") == first
    assert facts.get(first.id).confidence == 0.5


@pytest.mark.requirement("conflict.policy")
def test_latest_ends_the_older_where_the_newer_begins(memory: Memory):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Lisbon", valid_from=day(2020))
    facts.add("ana", "lives in", "Porto", valid_from=day(2024))
    assert triples(memory) == [("ana", "lives_in", "Porto")]
    assert triples(memory, valid_at=day(2022)) == [("ana", "lives_in", "Lisbon")]
    old, new = facts.list(current_only=False)
    assert (old.valid_from, old.valid_to, old.status) == (day(2020), day(2024), "superseded")
    assert (new.valid_from, new.valid_to, new.status) == (day(2024), None, "current")


@pytest.mark.requirement("conflict.policy")
def test_an_old_letter_does_not_overrule_today(memory: Memory):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Porto", valid_from=day(2024))
    letter = facts.add("ana", "lives in", "Rome", valid_from=day(2011)).id
    assert triples(memory) == [("ana", "lives_in", "Porto")]
    assert facts.get(letter).valid_to == day(2024)


@pytest.mark.requirement("conflict.policy", "time.valid-known")
def test_what_was_known_then_is_still_what_it_was(memory: Memory, clock: ManualClock):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Lisbon")
    then = clock.advance(10)
    clock.advance(10)
    facts.add("ana", "lives in", "Porto")
    assert triples(memory, known_at=then) == [("ana", "lives_in", "Lisbon")]
    assert triples(memory.as_of(then)) == [("ana", "lives_in", "Lisbon")]
    assert triples(memory) == [("ana", "lives_in", "Porto")]
    with pytest.raises(ReadOnly):
        facts_of(memory.as_of(then)).add("ana", "lives in", "Rome")


@pytest.mark.requirement("conflict.policy")
def test_a_move_that_is_still_to_come_is_not_yet_current(memory: Memory, clock: ManualClock):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Lisbon")
    clock.advance(60)
    facts.add("ana", "lives in", "Porto", valid_from=day(2026, 9))
    assert triples(memory) == [("ana", "lives_in", "Lisbon")]
    assert facts.list()[0].status == "current"
    clock.advance(200 * 86_400)
    assert triples(memory) == [("ana", "lives_in", "Porto")]


@pytest.mark.requirement("conflict.policy")
def test_values_of_a_predicate_with_many_gather(memory: Memory):
    facts = facts_of(memory)
    for liked in ("tea", "jazz", "chess"):
        facts.add("ana", "likes", liked)
    assert len(facts.list(predicate="likes")) == 3
    assert facts.policy("likes") == "gather"


@pytest.mark.requirement("conflict.policy")
def test_keep_lets_the_first_stay(memory: Memory):
    facts = facts_of(memory)
    assert facts.policy("lives in", "keep") == "keep"
    facts.add("ana", "lives in", "Lisbon")
    second = facts.add("ana", "lives in", "Porto").id
    assert triples(memory) == [("ana", "lives_in", "Lisbon")]
    assert facts.get(second).status == "superseded"


@pytest.mark.requirement("conflict.policy")
def test_ask_leaves_both_until_somebody_decides(memory: Memory, clock: ManualClock):
    facts = facts_of(memory)
    facts.policy("lives in", "ask")
    facts.add("ana", "lives in", "Lisbon")
    clock.advance()
    kept = facts.add("ana", "lives in", "Porto").id
    assert len(triples(memory)) == 2
    (conflict,) = facts.conflicts()
    assert (conflict.subject, conflict.predicate) == ("ana", "lives_in")
    assert [fact.object for fact in conflict.facts] == ["Lisbon", "Porto"]
    assert {fact.status for fact in conflict.facts} == {"disputed"}
    assert facts.resolve(conflict, keep="Porto").id == kept
    assert facts.conflicts() == []
    assert triples(memory) == [("ana", "lives_in", "Porto")]
    assert facts.get(conflict.facts[0].id).status == "retracted"
    clock.advance()
    facts.add("ana", "lives in", "Lisbon")
    assert len(facts.conflicts()) == 1, "what is said after the decision is a new question"


@pytest.mark.requirement("conflict.policy")
def test_a_policy_is_kept_over_restarts_and_moves_with_the_tenant(tmp_path: Path):
    with open_memory(str(tmp_path / "memory.db")) as memory:
        facts_of(memory).policy("lives in", "ask")
        facts_of(memory).policy("shoe size", "latest")
        memory.export(tmp_path / "all.jsonl")
    with open_memory(str(tmp_path / "memory.db")) as memory:
        assert facts_of(memory).policy("lives in") == "ask"
        assert facts_of(memory.scope(tenant="other")).policy("lives in") == "latest"
        facts_of(memory).add("ana", "shoe size", "37")
        facts_of(memory).add("ana", "shoe size", "38")
        assert triples(memory) == [("ana", "shoe_size", "38")]
    with open_memory() as other:
        other.import_(tmp_path / "all.jsonl")
        assert facts_of(other).policy("lives in") == "ask"


@pytest.mark.requirement("conflict.policy")
def test_a_new_policy_settles_what_is_there(memory: Memory):
    facts = facts_of(memory)
    facts.add("ana", "lives in", "Lisbon")
    facts.add("ana", "lives in", "Porto")
    facts.policy("lives in", "ask")
    assert len(facts.conflicts()) == 1
    facts.policy("lives in", "latest")
    assert triples(memory) == [("ana", "lives_in", "Porto")]


def test_rooms_of_one_person_agree_and_are_seen_one_by_one(memory: Memory, clock: ManualClock):
    first, two = memory.scope(room="one"), memory.scope(room="two")
    facts_of(first).add("I", "live in", "Lisbon")
    clock.advance()
    facts_of(two).add("I", "live in", "Porto")
    assert triples(first) == []
    assert triples(two) == triples(memory) == [("ana", "lives_in", "Porto")]
    facts_of(first).add("I", "like", "tea", confidence=0.5)
    facts_of(two).add("I", "like", "tea", confidence=0.5)
    (tea,) = facts_of(memory).list(predicate="likes")
    assert tea.confidence == 0.75
    assert facts_of(first).list(predicate="likes")[0].confidence == 0.5


def test_other_people_and_tenants_are_other_matters(memory: Memory):
    with open_memory() as whole:
        for user in ("ana", "bo"):
            facts_of(whole.scope(user=user)).add("Carl", "lives in", {"ana": "Rome", "bo": "Oslo"}[user])
        assert len(triples(whole)) == 2
        assert triples(whole.scope(tenant="other")) == []


def test_limit_is_the_latest_oldest_first(memory: Memory, clock: ManualClock):
    for number in range(5):
        facts_of(memory).add("ana", "likes", f"thing {number}")
        clock.advance()
    assert [triple[2] for triple in triples(memory, limit=2)] == ["thing 3", "thing 4"]


@pytest.mark.requirement("fact.extract")
def test_extract_shows_without_storing(memory: Memory):
    extracted = facts_of(memory).extract("I moved to Lisbon. My sister Ana works at CERN.")
    assert ("ana", "lives_in", "Lisbon") in [(fact.subject, fact.predicate, fact.object) for fact in extracted]
    assert memory.count() == 0
    assert facts_of(memory).extract("I love tea", speaker="Bo")[0].subject == "Bo"


dated = st.lists(
    st.tuples(st.sampled_from(["Lisbon", "Porto", "Rome"]), st.integers(2000, 2025)),
    min_size=1,
    max_size=6,
    unique=True,
)


@pytest.mark.requirement("conflict.policy")
@settings(max_examples=25)
@given(statements=dated, data=st.data())
def test_dated_facts_end_the_same_in_any_order_of_arrival(statements: list[tuple[str, int]], data: st.DataObject):
    def remember(order: list[tuple[str, int]]) -> list[tuple[object, ...]]:
        with open_memory() as memory:
            for place, year in order:
                facts_of(memory).add("ana", "lives in", place, valid_from=day(year))
            facts = facts_of(memory).list(current_only=False)
            spans = sorted(
                (fact.valid_from or day(1), fact.valid_to or day(9999), fact.id, fact.object, fact.status)
                for fact in facts
            )
            for before, after in pairwise(spans):
                assert before[1] <= after[0]
            assert [fact.object for fact in facts_of(memory).list()] == [spans[-1][3]]
            return list(spans)

    assert remember(statements) == remember(data.draw(st.permutations(statements)))


# ---- bad input


@pytest.mark.parametrize(
    ("subject", "predicate", "object"),
    [("", "likes", "tea"), (" ?! ", "likes", "tea"), ("ana", "", "tea"), ("ana", "…", "tea"), ("ana", "likes", " .")],
)
def test_a_fact_without_one_of_its_parts_is_refused(memory: Memory, subject: str, predicate: str, object: str):
    with pytest.raises(InvalidInput):
        facts_of(memory).add(subject, predicate, object)
    assert memory.count() == 0


def test_what_cannot_be_meant_is_refused(memory: Memory):
    facts = facts_of(memory)
    id = facts.add("ana", "likes", "tea").id
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        facts.add("ana", "likes", "jazz", confidence=2)
    with pytest.raises(InvalidInput, match="swap"):
        facts.add("ana", "likes", "jazz", valid_from=day(2021), valid_to=day(2020))
    with pytest.raises(NotFound, match="no-such"):
        facts.add("ana", "likes", "jazz", sources=["no-such"])
    with pytest.raises(InvalidInput, match="nothing to change"):
        facts.update(id)
    with pytest.raises(NotFound):
        facts.get("no-such")
    with pytest.raises(NotFound, match="note"):
        facts.get(memory.add("a note").id)
    with memory.batch() as batch, pytest.raises(InvalidInput, match="batch"):
        facts_of(batch).add("ana", "likes", "jazz")


@pytest.mark.requirement("conflict.policy")
def test_an_unknown_policy_is_refused(memory: Memory):
    with pytest.raises(InvalidInput, match="the policies are latest, keep, ask, gather"):
        facts_of(memory).policy("lives in", cast("Any", "newest"))


@pytest.mark.requirement("conflict.policy")
def test_only_a_conflict_can_be_resolved(memory: Memory):
    facts = facts_of(memory)
    facts.policy("lives in", "ask")
    facts.add("ana", "lives in", "Lisbon")
    fact = facts.get(facts.add("ana", "lives in", "Porto").id)
    (conflict,) = facts.conflicts()
    with pytest.raises(InvalidInput, match="takes a conflict"):
        facts.resolve(cast("Any", fact), keep=fact)
    with pytest.raises(InvalidInput, match="none of the facts"):
        facts.resolve(conflict, keep="Rome")
    facts.resolve(conflict, keep=fact)
    with pytest.raises(InvalidInput, match="any more"):
        facts.resolve(conflict, keep=fact)
    with pytest.raises(InvalidInput, match="any more"):
        facts.resolve(Conflict(subject="ana", predicate="lives_in", facts=(fact,)), keep=fact)


def test_foreign_records_of_the_kind_do_no_harm(memory: Memory):
    foreign = {"text": "the sky is blue", "kind": "fact"}
    view_of(memory).put([foreign])  # as stores of earlier releases may hold
    facts_of(memory).add("ana", "likes", "tea")
    assert triples(memory) == [("ana", "likes", "tea")]


def test_a_limit_counts_what_is_sure_enough(memory: Memory, clock: ManualClock):
    for number in range(60):
        facts_of(memory).add("ana", "likes", f"thing {number}", confidence=0.9 if number < 5 else 0.1)
        clock.advance()
    assert [triple[2] for triple in triples(memory, limit=3, min_confidence=0.5)] == ["thing 2", "thing 3", "thing 4"]


@pytest.mark.requirement("fact.create-query-update")
def test_counting_and_listing_agree(memory: Memory, clock: ManualClock):
    facts, start = facts_of(memory), clock()

    def agree() -> int:
        ways: list[dict[str, Any]] = [
            {}, {"current_only": False}, {"known_at": start}, {"valid_at": start}, {"predicate": "likes"},
            {"valid_at": start, "current_only": False}, {"min_confidence": 0.95}, {"subject": "ana"},
        ]  # fmt: skip
        for way in ways:
            assert facts.count(**way) == len(facts.list(limit=1_000, **way)), way
        for then in (None, start):
            held = memory.list(kind="fact", limit=1_000, valid_at=then)
            assert memory.count(kind="fact", valid_at=then) == len(held)
            assert {message.id for message in held} >= {fact.id for fact in facts.list(limit=1_000, valid_at=then)}
        return facts.count()

    facts.add("ana", "lives in", "Lisbon")
    clock.advance(60)
    assert agree() == 1
    facts.add("ana", "lives in", "Porto")
    assert agree() == 1, "the other is superseded"
    assert (facts.count(current_only=False), memory.count(kind="fact"), memory.count()) == (2, 1, 2)
    facts.policy("favourite colour", "ask")
    for colour in ("green", "blue"):
        facts.add("ana", "favourite colour", colour)
    assert agree() == 3, "both are disputed"
    facts.resolve(facts.conflicts()[0], keep="blue")
    assert agree() == 2
    for room in ("kitchen", "garden"):
        facts_of(memory.scope(room=room)).add("ana", "likes", "tea")
    assert agree() == 3, "the same in two rooms is one"
    facts.add("ana", "lives in", "Rome", valid_from=clock() + timedelta(days=365))
    assert agree() == 3, "not yet"
    for number in range(120):
        facts.add("ana", "likes", f"dish {number}")
    assert agree() == 123
    foreign = {"text": "a plain record", "kind": "fact"}
    view_of(memory).put([foreign])  # as stores of earlier releases may hold
    assert agree() == 123
