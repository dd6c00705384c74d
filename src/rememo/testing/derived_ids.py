"""Derived ids: the same thing is stored once, and nobody else can put anything in its place, on every store."""

from pathlib import Path
from typing import Any

import pytest

from rememo.engine.engine import Engine
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, JobFailed, NotFound
from rememo.memory import Memory
from rememo.model.derived_ids import is_derived
from rememo.model.derived_names import fact_name, relationship_name
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.settings import Settings
from rememo.store.versions import StoredVersion
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import ManualClock

MESSAGE_TEXT = "I live in Lisbon. I work at Globex. I am allergic to peanuts."
EXPECTED_OBJECTS = ["Globex", "Lisbon", "peanuts"]
MANUAL = "Fill the kettle with water. Press the button to boil it."
FORGED_ID = "derived-" + "0123456789abcdef" * 2


def engine_of(memory: Memory) -> Engine:
    """Return what is behind a memory."""
    return view_of(memory).engine


def fact_objects(memory: Memory) -> list[str]:
    """Return what is known of somebody, sorted."""
    return sorted(fact.object for fact in memory.facts.list(limit=100))


def put_strangers(memory: Memory, clock: ManualClock, names: list[str]) -> dict[str, str]:
    """Put notes of somebody else under the ids of what names stand for, as only an older release could; returns the ids."""
    engine, record_ids = engine_of(memory), dict[str, str]()
    for name in names:
        id = str(engine.ids.derive("default", name))
        home = Scope(tenant="default", user="mallory")
        record = Record(
            id=id, version=1, kind="note", text=f"mine: {name}", data={}, metadata={}, scope=home, created_at=clock(),
            recorded_at=clock(),
        )  # fmt: skip
        engine.store.load([StoredVersion(record=record, speaker=None, vector=None)])
        record_ids[name] = id
    return record_ids


class DerivedIdSuite(Suite):
    """Ids that follow from what a record is."""

    @pytest.mark.requirement("encrypt.content")
    def test_no_record_can_be_created_by_hand_under_a_derived_id(self, memory: Memory) -> None:
        ana = memory.scope(user="ana")
        fact = ana.facts.add("ana", "lives in", "Lisbon").id
        document = ana.documents.add(title="Kettle", text=MANUAL).id
        assert is_derived(fact)
        assert is_derived(document)
        mallory = memory.scope(user="mallory", room="chat")
        for id in (FORGED_ID, fact, document):
            for conflict in ("error", "ignore", "replace"):
                with pytest.raises(InvalidInput, match="derived"):
                    mallory.add("mine", id=id, on_conflict=conflict)
            with pytest.raises(InvalidInput, match="derived"):
                mallory.add_many([{"text": "mine", "id": id}])
            with pytest.raises(InvalidInput, match="derived"):
                mallory.messages.add("user", "mine", id=id)
            with pytest.raises(InvalidInput, match="derived"):
                mallory.posts.add("mine", id=id)
            with pytest.raises(InvalidInput, match="derived"), mallory.batch() as batch:
                batch.add("mine", id=id)
        mood = ana.typed("mood", {"level": 1})
        with pytest.raises(InvalidInput, match="derived"):
            mallory.add("", kind="state", id=mood.id, data={"name": "mood", "value": {"level": 9}})
        mood.set({"level": 7})
        assert mood.get() == {"level": 7}
        assert mallory.count() == 0
        # Whoever may see one reads, changes and ends it by its id, as any other.
        assert ana.get(fact).text == "ana lives in Lisbon"
        ana.update(fact, metadata={"seen": True})
        ana.delete(fact)
        with pytest.raises(NotFound):
            ana.get(fact)

    @pytest.mark.requirement("encrypt.content")
    def test_a_workbench_that_is_brought_in_claims_no_derived_id(self, memory: Memory) -> None:
        mallory = memory.scope(user="mallory", room="chat")
        mallory.messages.add("user", "mine", learn=False)
        exported: dict[str, Any] = mallory.working.export()
        exported["messages"][0]["id"] = FORGED_ID
        mallory.working.import_(exported)
        (message,) = mallory.messages.history()
        assert (message.content, message.id) != ("mine", FORGED_ID)
        with pytest.raises(NotFound):
            memory.get(FORGED_ID)
        # What is brought in again is the same.
        mallory.working.import_(exported)
        assert [message.id for message in mallory.messages.history()] == [message.id]

    @pytest.mark.requirement("encrypt.content")
    def test_a_platforms_message_keeps_its_id_from_one_workbench_to_another(self, memory: Memory) -> None:
        chat = memory.scope(user="ana", room="chat")
        id = chat.messages.add("user", "said there", external_id=("chat", 1), learn=False).id
        exported = chat.working.export()
        chat.messages.clear()
        chat.working.import_(exported)
        assert [message.id for message in chat.messages.history()] == [id]
        assert chat.messages.add("user", "said there", external_id=("chat", 1)).outcome == "ignored"

    @pytest.mark.requirement("fact.extract")
    def test_a_strangers_record_under_the_id_of_a_fact_costs_nobody_anything(
        self, memory: Memory, clock: ManualClock
    ) -> None:
        home = Scope(tenant="default", user="ana", room="chat")
        names = [
            fact_name(home, "ana", "lives_in", "lisbon", 0),
            relationship_name(home, "ana", "globex", "works_at"),
        ]
        foreign_ids = put_strangers(memory, clock, names)
        ana = memory.scope(user="ana", room="chat")
        ana.messages.add("user", MESSAGE_TEXT).wait()
        assert fact_objects(ana) == EXPECTED_OBJECTS
        assert [(relationship.entity, relationship.target) for relationship in ana.relationships.list()] == [
            ("ana", "Globex")
        ]
        versions = {fact.id: fact.record.version for fact in ana.facts.list()}
        assert not versions.keys() & set(foreign_ids.values())
        # Said again, it joins what is there, and ends with it.
        ana.messages.add("user", "I live in Lisbon.").wait()
        assert {fact.id for fact in ana.facts.list()} == set(versions)
        clock.advance(60)
        ana.messages.add("user", "I moved to Porto.").wait()
        assert fact_objects(ana) == ["Globex", "Porto", "peanuts"]
        for name, id in foreign_ids.items():
            existing = memory.get(id)
            assert (existing.text, existing.scope.user, existing.version) == (f"mine: {name}", "mallory", 1)
        assert memory.verify().ok

    @pytest.mark.requirement("fact.extract")
    def test_one_bad_fact_costs_a_message_none_of_its_others(self, open_memory: OpenMemory) -> None:
        memory = open_memory(settings=Settings(worker=False))
        ana, engine = memory.scope(user="ana", room="chat"), engine_of(memory)
        company = "Globex" + " Lumen" * 14
        receipt = ana.messages.add("user", f"I live in Lisbon. I work at {company}. I am allergic to peanuts.")
        # The fact is longer than what may be stored from now on; the others are not.
        engine.drafts.settings = engine.settings.but(max_text_bytes=80)
        with pytest.raises(JobFailed, match="works_at"):
            receipt.wait(1)  # it is to be tried again later, by a clock that stands still
        assert fact_objects(ana) == ["Lisbon", "peanuts"]

    @pytest.mark.requirement("integrity.backup")
    def test_what_is_derived_goes_on_after_an_import(self, open_memory: OpenMemory, tmp_path: Path) -> None:
        self.need_reopening()
        first, target = open_memory("first"), tmp_path / "all.jsonl"
        ids = _fill(first)
        first.export(target)
        second = open_memory("second")
        second.import_(target)
        assert _fill(second) == ids
        # One that derives its ids in another way gets what it would have derived itself.
        third = open_memory("third")
        third.scope(user="ben").facts.add("ben", "lives in", "Oslo")
        before = third.count()
        third.import_(target)
        count = third.count()
        assert count == before + second.count()
        _fill(third)
        assert third.count() == count
        assert third.import_(target).versions == 0
        ana = third.scope(user="ana", room="chat")
        (fact,) = ana.facts.list(predicate="lives_in")
        assert [third.get(source.id).text for source in fact.sources] == [MESSAGE_TEXT]
        assert third.verify().ok


def _fill(memory: Memory) -> dict[str, str]:
    """Store what has derived ids, or find it stored; returns the ids."""
    ana = memory.scope(user="ana", room="chat")
    message = ana.messages.add("user", MESSAGE_TEXT, external_id=("chat", 1)).wait()
    document = ana.documents.add(title="Kettle", text=MANUAL)
    mood = ana.typed("mood", {"level": 1})
    mood.update(lambda value: {"level": max(value["level"], 7)})
    assert mood.get() == {"level": 7}
    assert ana.documents.text(document.id) == MANUAL
    assert fact_objects(ana) == EXPECTED_OBJECTS
    facts = {fact.object: fact.id for fact in ana.facts.list()}
    return {"said": message.id, "document": document.id, "mood": mood.id, **facts}
