"""Learning: every way to add a text teaches, and a read sees what was taught before it."""

import pytest

from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import START, ManualClock

ROUNDS = 5
LEARN_SETTINGS = Settings(durability="fast", learn_wait=30.0)
"""Patient, so that a slow machine changes nothing."""


def fact_objects(memory: Memory, predicate: str = "lives_in") -> list[str]:
    """Return what is held to be so now."""
    return [fact.object for fact in memory.facts.list(predicate=predicate)]


class PendingExtractionSuite(Suite):
    """`add(learn=…)`, `add(kind=…)`, and reads right after writes."""

    @pytest.fixture
    def taught(self, open_memory: OpenMemory) -> Memory:
        """Open a store whose reads wait for lessons."""
        return open_memory(settings=LEARN_SETTINGS)

    @pytest.mark.requirement("fact.extract")
    def test_a_read_sees_what_the_last_message_taught(self, taught: Memory, clock: ManualClock) -> None:
        for number in range(ROUNDS):
            ana = taught.scope(user=f"ana{number}", room="chat")
            ana.messages.add("user", "I live in Lisbon.")
            clock.advance()
            ana.messages.add("user", "I moved to Porto.")
            assert fact_objects(ana) == ["Porto"]
            clock.advance()
            ana.messages.add("user", "I moved to Braga.")
            assert "lives in Braga" in ana.context("where do I live?").text
            clock.advance()
            ana.messages.add("user", "I moved to Faro.")
            assert "lives in Faro" in ana.search("where do I live?", kind="fact")[0].text
            clock.advance()
            ana.messages.add("user", "I moved to Tomar.")
            assert "lives in Tomar" in ana.ask("where do I live?", model=False).text
            clock.advance()
            ana.messages.add("user", "I have a sister called Lena.")
            assert [relationship.target for relationship in ana.relationships.list()] == ["Lena"]
            clock.advance()
            ana.messages.add("user", "I moved to Évora.")
            assert "Évora" in ana.compose("where do I live?").text
            clock.advance()
            ana.messages.add("user", "I moved to Sintra.")
            assert ana.facts.count(predicate="lives_in", object="Sintra") == 1

    @pytest.mark.requirement("fact.extract")
    def test_what_is_said_in_one_room_counts_in_the_others_at_once(self, taught: Memory, clock: ManualClock) -> None:
        kitchen, garden = (taught.scope(user="ana", room=name) for name in ("kitchen", "garden"))
        kitchen.messages.add("user", "I live in Lisbon.")
        assert fact_objects(kitchen) == ["Lisbon"]
        clock.advance()
        garden.messages.add("user", "I moved to Porto.")
        assert fact_objects(kitchen) == [], "the kitchen knows that it ended, and the garden where she lives"
        assert fact_objects(taught.scope(user="ana")) == ["Porto"]

    @pytest.mark.requirement("fact.extract")
    def test_a_batch_is_learned_when_it_is_read(self, taught: Memory) -> None:
        ana = taught.scope(user="ana")
        with ana.batch() as batch:
            batch.messages.add("user", "I live in Porto.")
            batch.add("The user is allergic to nuts.")
            assert fact_objects(ana) == []
        assert (fact_objects(ana), fact_objects(ana, "allergic_to")) == (["Porto"], ["nuts"])

    @pytest.mark.requirement("fact.extract")
    def test_what_is_changed_or_gone_is_not_read_any_more(self, taught: Memory, clock: ManualClock) -> None:
        ana = taught.scope(user="ana")
        note = ana.add("The user lives in Lisbon.").id
        assert fact_objects(ana) == ["Lisbon"]
        clock.advance()
        ana.update(note, text="The user lives in Porto.")
        assert fact_objects(ana) == ["Porto"]
        clock.advance()
        receipt = ana.delete(note)
        assert fact_objects(ana) == []
        clock.advance()
        ana.undo(receipt)
        assert fact_objects(ana) == ["Porto"]
        clock.advance()
        assert not ana.update(note, pinned=True, metadata={"seen": True}).jobs, "it says the same as before"

    def test_nobody_waits_where_others_do_the_work(self, open_memory: OpenMemory) -> None:
        ana = open_memory(settings=Settings(durability="fast", worker=False)).scope(user="ana")
        receipt = ana.messages.add("user", "I live in Porto.")
        assert fact_objects(ana) == []
        receipt.wait()
        assert fact_objects(ana) == ["Porto"]

    def test_reads_wait_for_lessons_only_as_long_as_they_are_told(self, open_memory: OpenMemory) -> None:
        ana = open_memory(settings=Settings(durability="fast", learn_wait=0.0)).scope(user="ana")
        receipt = ana.messages.add("user", "I live in Porto.")
        assert fact_objects(ana) in ([], ["Porto"])
        receipt.wait()
        assert fact_objects(ana) == ["Porto"]

    # ---- every way in

    @pytest.mark.requirement("fact.extract")
    @pytest.mark.parametrize("text", ["I moved to Porto.", "User moved to Porto", "Ana now lives in Porto."])
    def test_notes_are_learned_from(self, taught: Memory, text: str) -> None:
        ana = taught.scope(user="ana")
        ana.add(text)
        assert [(fact.subject, fact.object) for fact in ana.facts.list(predicate="lives_in")] == [("ana", "Porto")]

    @pytest.mark.requirement("fact.extract")
    def test_many_are_learned_from_together(self, taught: Memory) -> None:
        ana = taught.scope(user="ana", room="chat")
        ana.add_many(["I moved to Porto.", {"text": "I have a dog called Rex.", "kind": "message"}])
        assert (fact_objects(ana), fact_objects(ana, "has_pet")) == (["Porto"], ["Rex"])

    def test_what_is_not_to_be_learned_from_never_is(self, taught: Memory) -> None:
        ana = taught.scope(user="ana", room="chat")
        note = ana.add("I live in Porto.", learn=False)
        many = ana.add_many([{"text": "I live in Porto.", "learn": False}])
        message = ana.messages.add("user", "I live in Porto.", learn=False)
        assert (note.jobs, many.jobs, message.jobs) == ((), (), ())
        for receipt in (note, many, message):
            ana.update(receipt.id, text="I live in Braga.").wait()
            ana.update(receipt.id, data={"role": "user"}).wait()
        assert fact_objects(ana) == []
        with pytest.raises(InvalidInput, match="learn"):
            ana.add("I live in Porto.", learn=1)  # pyright: ignore[reportArgumentType] - what untyped callers do

    def test_documents_are_not_learned_from(self, taught: Memory) -> None:
        ana = taught.scope(user="ana")
        assert not ana.documents.add(text="I live in Porto.").jobs
        assert not ana.add("I live in Braga.", kind="document").jobs
        assert fact_objects(ana) == []

    # ---- what became of records

    @pytest.mark.requirement("record.kinds")
    def test_a_revision_is_shown_only_where_it_is_asked_for(self, taught: Memory, clock: ManualClock) -> None:
        ana = taught.scope(user="ana", room="chat")
        old = ana.messages.add("user", "The wifi password is tulip42.").wait().id
        clock.advance()
        taught.snapshot("before")
        clock.advance()
        new = ana.messages.add("user", "The wifi password is daffodil7.").wait().id
        learned_at = clock.advance()
        (revision,) = ana.list(kind="revision")
        assert (revision.data["record"], ana.count(kind="revision")) == (old, 1)
        assert ana.get(revision.id) == revision == ana.list(ids=[revision.id])[0]
        assert ana.history(revision.id) == [revision]
        for view in (ana, taught, ana.as_of(learned_at), taught.scope(room="chat")):
            kinds = [record.kind for record in view.list(limit=100)]
            assert "revision" not in kinds
            assert {old, new} <= {record.id for record in view.list(limit=100)}
            assert view.count() == len(kinds)
        assert ana.count(known_at=learned_at) == ana.count() == ana.count(after=START, before=learned_at)
        assert ana.count(metadata={"none": {"$exists": False}}) == ana.count()
        stats = taught.stats()
        assert "revision" not in stats.kinds
        assert stats.records == taught.count()
        assert not [change for change in taught.changes(limit=1_000) if change.record.kind == "revision"]
        different = taught.diff("before")
        assert not [record for record in different.added if record.kind == "revision"]
        taught.delete(old).wait()
        taught.delete(new).wait()
        assert not taught.list(kind="revision")

    @pytest.mark.requirement("record.kinds")
    def test_a_label_that_only_a_revision_has_is_not_listed(self, taught: Memory) -> None:
        taught.scope(user="ana", room="chat", agent="helper").add("", kind="revision", id="own")
        assert (taught.rooms(), taught.users(), taught.agents(), taught.rooms(prefix="c")) == ([], [], [], [])
        assert (taught.count(), taught.list(), taught.count(kind="revision")) == (0, [], 1)
        taught.update("own", metadata={"a": 1}, ttl="1h")
        assert (taught.count(), taught.count(kind="revision")) == (0, 1)
        assert (taught.get("own").kind, len(taught.history("own"))) == ("revision", 2)

    # ---- kinds with rules of their own

    @pytest.mark.requirement("record.kinds")
    def test_a_fact_that_is_added_is_one(self, taught: Memory) -> None:
        ana = taught.scope(user="ana")
        ana.add("where she lives", kind="fact", data={"subject": "I", "predicate": "moved to", "object": "Porto"})
        ana.add("Ana works at Globex.", kind="fact")
        facts = {(fact.subject, fact.predicate, fact.object, fact.wording) for fact in ana.facts.list()}
        assert facts == {
            ("ana", "lives_in", "Porto", "where she lives"),
            ("ana", "works_at", "Globex", "Ana works at Globex."),
        }
        assert "works at Globex" in ana.context("where does Ana work?").text
        assert ana.add("Ana works at Globex.", kind="fact").ids == (ana.facts.list(predicate="works_at")[0].id,)

    @pytest.mark.parametrize(
        ("arguments", "names"),
        [
            ({"text": "green tea"}, "states 0"),
            ({"text": "I live in Porto and work at Globex."}, "states 2"),
            ({"text": "", "data": {"subject": "ana", "object": "Porto"}}, "predicate is missing"),
            ({"text": "Ana lives in Porto.", "data": {"colour": "red"}}, "unknown field 'colour'"),
            ({"text": "Ana lives in Porto.", "id": "mine"}, "takes no id"),
            ({"text": "Ana lives in Porto.", "on_conflict": "replace"}, "takes no on_conflict"),
        ],
    )
    def test_what_is_no_fact_is_refused(self, taught: Memory, arguments: dict[str, object], names: str) -> None:
        with pytest.raises(InvalidInput, match=names):
            taught.scope(user="ana").add(kind="fact", **arguments)  # pyright: ignore[reportArgumentType] - as parametrized
        with pytest.raises(InvalidInput, match=r"facts\.add"):
            taught.add_many([{"text": "Ana lives in Porto.", "kind": "fact"}])
        assert taught.count() == 0

    def test_nothing_becomes_a_fact_or_a_document_by_its_kind_alone(self, taught: Memory) -> None:
        note = taught.add("Ana lives in Porto.", learn=False).id
        for kind in ("fact", "document"):
            with pytest.raises(InvalidInput, match=rf"{kind}s\.add"):
                taught.update(note, kind=kind)
        assert taught.get(note).kind == "note"

    @pytest.mark.requirement("record.kinds")
    def test_a_message_that_is_added_has_a_role_and_obeys_its_room(self, taught: Memory) -> None:
        room = taught.scope(user="ana", room="chat")
        room.messages.limit(max_messages=2)
        for number in range(3):
            room.add(f"turn {number}", kind="message")
        assert [(message.role, message.content) for message in room.messages.history()] == [
            ("user", "turn 1"),
            ("user", "turn 2"),
        ]
        room.add_many([{"text": "turn 3", "kind": "message", "data": {"role": "assistant"}}])
        assert [message.role for message in room.messages.history()] == ["user", "assistant"]
        with pytest.raises(InvalidInput, match="no role 'singer'"):
            room.add("la la", kind="message", data={"role": "singer"})

    @pytest.mark.requirement("record.kinds")
    def test_a_document_that_is_added_is_kept_in_chunks(self, taught: Memory) -> None:
        text = "# Cats\n\n" + "A cat sleeps. " * 600
        receipt = taught.add(text, kind="document", data={"title": "Cats", "tags": ["pets"]})
        document = taught.documents.list()[0]
        assert (document.title, document.tags, taught.documents.text(document.id)) == ("Cats", ("pets",), text)
        assert len(taught.documents.chunks(document.id)) > 1
        assert document.id == receipt.ids[0]
        with pytest.raises(InvalidInput, match="takes no ttl"):
            taught.add("short", kind="document", ttl=60)
