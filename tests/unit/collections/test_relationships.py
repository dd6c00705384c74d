"""Relationships: added, strengthened, walked along, and gone without an orphan."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from rememo import Memory
from rememo.errors import InvalidInput, NotFound
from rememo.testing import ManualClock

from .learning import facts_of, open_memory, relationships_of, say, unlearn, worker_of


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with open_memory(clock=clock) as memory:
        yield memory.scope(user="ana")


@pytest.mark.requirement("relationship.create-query-update")
def test_a_relationship_is_added_found_and_changed(memory: Memory):
    relationships = relationships_of(memory)
    receipt = relationships.add("I", "Bo", "best friend", strength=0.4, sentiment=0.9, metadata={"since": "school"})
    relationship = relationships.get(receipt.id)
    assert (
        relationship.entity,
        relationship.target,
        relationship.type,
        relationship.strength,
        relationship.sentiment,
    ) == ("ana", "Bo", "best_friend", 0.4, 0.9)
    assert (relationship.count, relationship.first_interaction, dict(relationship.metadata)) == (
        0,
        None,
        {"since": "school"},
    )
    assert relationships.list(entity="ANA", target="bo", type="best friend", min_strength=0.4) == [relationship]
    assert relationships.list(min_strength=0.5) == []
    relationships.update(receipt.id, strength=0.7, sentiment=None, metadata={})
    changed = relationships.get(receipt.id)
    assert (changed.strength, changed.sentiment, dict(changed.metadata)) == (0.7, None, {})
    assert relationships.add("ana", "Bo", "best_friend", strength=0.1).outcome == "updated"
    assert len(relationships.list()) == 1


@pytest.mark.requirement("relationship.create-query-update")
def test_a_strength_that_is_set_holds_and_later_interactions_count_from_there(memory: Memory):
    relationships = memory.relationships
    id = relationships.touch("ana", "Bo", "friend").id
    for _ in range(4):
        relationships.touch("ana", "Bo", "friend")
    relationships.update(id, strength=0.2)
    assert (relationships.get(id).strength, relationships.get(id).count) == (0.2, 5)
    assert relationships.list(min_strength=0.3) == []
    relationships.touch("ana", "Bo", "friend")
    assert relationships.get(id).strength == pytest.approx(1 - 0.8 * 0.9)
    relationships.add("ana", "Bo", "friend", strength=0.1)
    assert relationships.get(id).strength == 0.1
    relationships.touch("ana", "Bo", "friend")
    grown = relationships.get(id).strength
    assert grown == pytest.approx(1 - 0.9 * 0.9)
    relationships.add("ana", "Bo", "friend", sentiment=0.5)
    assert relationships.get(id).strength == grown, "what is not said again stays as it has become"
    relationships.update(id, sentiment=-0.5)
    assert relationships.get(id).strength == grown


@pytest.mark.requirement("relationship.create-query-update")
def test_a_strength_may_be_set_on_what_was_learned(memory: Memory, clock: ManualClock):
    relationships = relationships_of(memory)

    def hear(text: str) -> str:
        clock.advance(60)
        id = say(memory, text).id
        worker_of(memory).run_until_idle()
        return id

    first = hear("My sister Bea works at CERN.")
    (sister,) = relationships.list(type="sister")
    assert relationships.add("ana", "Bea", "sister").outcome == "updated"
    assert relationships.get(sister.id).strength == sister.strength == pytest.approx(0.55)
    relationships.update(sister.id, strength=0.3)
    assert relationships.get(sister.id).strength == 0.3
    second = hear("My sister Bea is coming over.")
    assert relationships.get(sister.id).strength == pytest.approx(1 - 0.7 * 0.9)
    for message in (first, second):
        memory.delete(message)
        unlearn(memory, message)
    worker_of(memory).run_until_idle()
    assert (relationships.get(sister.id).strength, relationships.get(sister.id).count) == (0.3, 0)
    hear("My sister Bea is at home.")
    assert relationships.get(sister.id).strength == pytest.approx(1 - 0.7 * 0.9), "each that comes again counts again"


@pytest.mark.requirement("relationship.create-query-update")
def test_each_interaction_counts_and_strengthens_a_little_less(memory: Memory, clock: ManualClock):
    relationships = relationships_of(memory)
    start = clock()
    id = relationships.touch("ana", "Bo", "friend").id
    strengths = [relationships.get(id).strength]
    for _ in range(9):
        clock.advance(3_600)
        relationships.touch("ana", "Bo", "friend")
        strengths.append(relationships.get(id).strength)
    relationship = relationships.get(id)
    assert (relationship.count, relationship.first_interaction, relationship.last_interaction) == (10, start, clock())
    assert strengths == [pytest.approx(1 - 0.5 * 0.9**n) for n in range(1, 11)]
    relationships.touch("ana", "Bo", "friend", at=start - timedelta(days=1))
    assert relationships.get(id).first_interaction == start - timedelta(days=1)


@pytest.mark.requirement("relationship.create-query-update")
def test_graphs_and_paths(memory: Memory):
    relationships = relationships_of(memory)
    for entity, target in [("ana", "Bo"), ("Bo", "Carl"), ("Carl", "Dora"), ("Dora", "Emil"), ("ana", "Carl")]:
        relationships.add(entity, target, "friend")
    near = relationships.graph("ana", depth=1)
    assert near.nodes == ("ana", "Bo", "Carl")
    assert {(edge.entity, edge.target) for edge in near.edges} == {("ana", "Bo"), ("Bo", "Carl"), ("ana", "Carl")}
    assert relationships.graph("ana", depth=2).nodes == ("ana", "Bo", "Carl", "Dora")
    assert relationships.graph("Nobody").nodes == ("Nobody",)
    way = relationships.path("Emil", "ana")
    assert [(edge.entity, edge.target) for edge in way] == [("Dora", "Emil"), ("Carl", "Dora"), ("ana", "Carl")]
    assert relationships.path("ana", "Emil", max_depth=2) == []
    assert relationships.path("ana", "Zoe") == relationships.path("ana", "ana") == []


@pytest.mark.requirement("cleanup.orphans")
def test_a_removed_entity_leaves_no_orphan(memory: Memory):
    relationships = relationships_of(memory)
    relationships.add("ana", "Bo", "friend")
    relationships.add("Bo", "Carl", "brother")
    relationships.add("ana", "Carl", "knows")
    assert relationships.remove_entity("BO") == 2
    assert [(relationship.entity, relationship.target) for relationship in relationships.list()] == [("ana", "Carl")]
    assert relationships.remove_entity("Bo") == 0
    assert relationships.graph("Bo").edges == ()


@pytest.mark.requirement("relationship.create-query-update", "cleanup.orphans")
def test_relationships_are_learned_and_go_with_what_they_were_learned_from(memory: Memory, clock: ManualClock):
    relationships = relationships_of(memory)
    first = say(memory, "My sister Bea works at CERN.")
    worker_of(memory).run_until_idle()
    by_ends = {
        (relationship.entity, relationship.type, relationship.target): relationship
        for relationship in relationships.list()
    }
    assert set(by_ends) == {("ana", "sister", "Bea"), ("Bea", "works_at", "CERN")}
    assert by_ends["ana", "sister", "Bea"].count == 1
    assert [edge.type for edge in relationships.path("ana", "CERN")] == ["sister", "works_at"]
    clock.advance(60)
    second = say(memory, "My sister Bea is coming over.")
    worker_of(memory).run_until_idle()
    clock.advance(60)
    relationships.touch("ana", "Bea", "sister")
    (sister,) = relationships.list(type="sister")
    assert sister.last_interaction == clock()
    for message in (first, second):
        memory.delete(message.id)
        unlearn(memory, message.id)
    worker_of(memory).run_until_idle()
    assert [(relationship.type, relationship.count) for relationship in relationships.list()] == [("sister", 1)], (
        "what was touched by hand stays"
    )


def test_a_relationship_ends_with_its_fact(memory: Memory, clock: ManualClock):
    facts_of(memory).add("ana", "works at", "Acme")
    clock.advance()
    facts_of(memory).add("ana", "works at", "CERN")
    assert [relationship.target for relationship in relationships_of(memory).list()] == ["CERN"]


def test_what_cannot_be_meant_is_refused(memory: Memory):
    relationships = relationships_of(memory)
    id = relationships.add("ana", "Bo", "friend").id
    for arguments in (("", "Bo", "friend"), ("ana", "", "friend"), ("ana", "Bo", "…"), ("ana", "Ana", "friend")):
        with pytest.raises(InvalidInput):
            relationships.add(*arguments)
    with pytest.raises(InvalidInput, match="strength"):
        relationships.add("ana", "Bo", "friend", strength=1.5)
    with pytest.raises(InvalidInput, match="sentiment"):
        relationships.add("ana", "Bo", "friend", sentiment=-2)
    with pytest.raises(InvalidInput, match="nothing to change"):
        relationships.update(id)
    with pytest.raises(InvalidInput, match="depth"):
        relationships.graph("ana", depth=0)
    with pytest.raises(NotFound):
        relationships.update("no-such", strength=1)
    with pytest.raises(NotFound, match="note"):
        relationships.get(memory.add("a note").id)
