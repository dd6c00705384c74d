"""Erasure and copies: whatever state holds somebody's words is cleaned, or named as left in a receipt that is not ok."""

import pytest

from rememo.engine.view import view_of
from rememo.errors import NotFound
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.erasure import ErasureReceipt
from rememo.model.receipt import Receipt
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import ManualClock
from rememo.testing.user_copies import (
    CLEANED,
    COPIES,
    NO_WORDS,
    OTHERS,
    OWN_RECORDS,
    WORDS,
    is_left,
    record_versions,
    stored_values,
    summarize_by_compress,
    summarize_by_limit,
    summarize_by_policy,
)


@pytest.mark.requirement("erase.proof")
class ErasedCopiesSuite(Suite):
    """`erase`, and what holds copies of what is erased."""

    def test_whatever_kim_said_by_whichever_way_is_gone(self, memory: Memory) -> None:
        public = {name for name in dir(Memory) if not name.startswith("_")}
        # Whoever adds a way to remember something says here what an erasure does about it.
        assert public == NO_WORDS | set(OWN_RECORDS)
        for fill in OWN_RECORDS.values():
            fill(memory.scope(user="kim", room="r"))
        memory.scope(user="ana", room="r").messages.add("user", OTHERS)
        assert is_left(memory)
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        assert not is_left(memory)
        assert "kim" not in stored_values(memory)
        assert [message.content for message in memory.scope(room="r").messages.history()] == [OTHERS]

    @pytest.mark.parametrize("copy", COPIES)
    def test_a_copy_is_cleaned_or_named_as_left(self, memory: Memory, clock: ManualClock, copy: str) -> None:
        room = memory.scope(room="r")
        memory.scope(user="kim", room="r").messages.add("user", WORDS).wait()
        COPIES[copy](room if copy != "the name of a snapshot" else memory)
        clock.advance(2)
        assert is_left(memory)
        receipt = memory.erase(user="kim")
        assert (copy in CLEANED) == receipt.ok == (not is_left(memory)), receipt.leftovers
        if not receipt.ok:
            assert all("words that were erased" in leftover for leftover in receipt.leftovers)
            # Asking again does not make it good, and neither does time.
            memory.maintain()
            assert not memory.erase(user="kim").ok
        assert memory.verify().faults == ()

    def test_what_was_named_as_left_is_gone_once_it_is_removed(self, memory: Memory) -> None:
        room = memory.scope(room="r")
        memory.scope(user="kim").add(WORDS)
        room.kv.set("last", WORDS)
        room.typed("notes", "").set(WORDS)
        receipt = memory.erase(user="kim")
        assert sorted(leftover.split(" ")[1] for leftover in receipt.leftovers) == ["key", "value"]
        [value] = [version.id for version in record_versions(memory)]
        assert f"erase(ids=['{value}'])" in "".join(receipt.leftovers)
        memory.erase(ids=[value])
        [left] = memory.erase(user="kim").leftovers
        assert left.startswith("the key 'last' of room 'r'")
        room.kv.delete("last")
        assert memory.erase(user="kim").ok
        assert not is_left(memory)
        assert "kim" not in stored_values(memory)

    def test_a_saved_session_keeps_what_is_not_erased(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(room="r")
        for user, text in (("kim", WORDS), ("ana", OTHERS), ("kim", "ok")):
            room.scope(user=user).messages.add("user", text).wait()
            clock.advance()
        room.scope(user="kim").working.context.set("animal", "bird")
        room.scope(user="ana").working.context.set("animal", "dog")
        room.working.think("They talk about animals.")
        saved = room.sessions.save("monday")
        memory.scope(user="kim", room="r").sessions.save("hers")
        memory.scope(user="ana", room="r").sessions.save("hers")
        assert memory.erase(user="kim", dry_run=True).counts["sessions"] == 1
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        assert receipt.counts["sessions"] == 1
        assert "sessions_removed" not in receipt.counts
        [left] = room.sessions.list()
        assert (left.name, left.saved_at) == (saved.name, saved.saved_at)
        assert (left.messages, left.thoughts, left.context) == (1, 1, 1)
        session = room.sessions.get("monday")
        assert left.bytes == len(dump_json(session).encode()) < saved.bytes
        assert [message["text"] for message in session["messages"]] == [OTHERS]
        assert session["context"] == [{"name": "animal", "value": "dog", "labels": {"user": "ana"}}]
        room.messages.clear()
        room.sessions.load("monday")
        assert [message.content for message in room.messages.history()] == [OTHERS]
        assert memory.users() == ["ana"]
        assert len(memory.scope(user="ana", room="r").sessions.list()) == 1
        assert memory.scope(user="kim", room="r").sessions.list() == []
        assert not is_left(memory)

    def test_a_session_of_which_nothing_is_left_goes(self, memory: Memory) -> None:
        room = memory.scope(room="r")
        room.scope(user="kim").messages.add("user", WORDS)
        room.sessions.save("monday")
        receipt = memory.erase(user="kim")
        assert (receipt.ok, receipt.counts["sessions_removed"]) == (True, 1)
        assert room.sessions.list() == []
        with pytest.raises(NotFound):
            room.sessions.load("monday")

    def test_a_record_erased_by_its_id_leaves_saved_sessions_too(self, memory: Memory) -> None:
        room = memory.scope(room="r")
        message = room.scope(user="kim").messages.add("user", WORDS).id
        room.scope(user="kim").messages.add("user", OTHERS)
        room.sessions.save("monday")
        receipt = memory.erase(ids=[message])
        assert (receipt.ok, receipt.counts["sessions"]) == (True, 1)
        assert [message["text"] for message in room.sessions.get("monday")["messages"]] == [OTHERS]

    def test_what_others_say_themselves_is_theirs(self, memory: Memory) -> None:
        memory.scope(user="kim").add(WORDS)
        memory.scope(user="ana").add(WORDS)
        memory.scope(room="r").kv.set("last", WORDS)
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        assert receipt.checked["pieces_others_have"] >= 1
        assert memory.scope(room="r").kv.get("last") == WORDS

    def test_a_composed_state_does_not_outlive_what_it_was_made_of(self, memory: Memory) -> None:
        texts_said: list[str] = [WORDS]

        def elsewhere(_: object) -> str:
            return texts_said[0]

        memory.provider("elsewhere")(elsewhere)
        assert WORDS in memory.compose("hello").text
        memory.scope(user="kim").add(WORDS)
        memory.compose("hello")
        texts_said[0] = "nothing"
        memory.erase(user="kim")
        assert WORDS not in memory.compose("hello").text

    # ---- revisions

    def test_revisions_go_with_who_said_them(self, memory: Memory, clock: ManualClock) -> None:
        kim = memory.scope(user="kim", room="r")
        for statement in (
            "My zebrafinch lives in Lisbon.",
            "The zebrafinch moved to Porto.",
            "I live in Faro.",
            "I moved to Rome.",
        ):
            kim.messages.add("user", statement).wait()
            clock.advance(86_400)
        [*revisions] = memory.list(kind="revision")
        assert "zebrafinch" in repr([revision.data for revision in revisions])
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        assert not is_left(memory)
        assert memory.stats().versions == 0

    def test_what_others_records_revised_stays_revised(self, memory: Memory, clock: ManualClock) -> None:
        room = memory.scope(user="kim", room="r")
        messages: list[str] = []
        for text in (
            "Our daily standup is at 9am.",
            "Standup moved to 10:30 from now on.",
            "Standup moved to 11:15 from now on.",
        ):
            messages.append(room.messages.add("user", text).wait().id)
            clock.advance(86_400)
        receipt = memory.erase(ids=[messages[2]])
        assert receipt.ok, receipt.leftovers
        [revision] = memory.list(kind="revision")
        assert (revision.data["record"], revision.data["sources"]) == (messages[0], messages[:2])
        assert len(memory.history(revision.id)) == 1
        assert {hit.id: hit.status for hit in room.search("when is the standup?")}[messages[0]] == "superseded"
        assert messages[2] not in stored_values(memory)
        assert memory.verify().faults == ()

    # ---- summaries

    @pytest.mark.parametrize("made", ["update", "policy", "limit", "compress"])
    def test_a_summary_is_written_anew_without_the_erased(self, memory: Memory, clock: ManualClock, made: str) -> None:
        room = memory.scope(room="r")
        room.scope(user="kim").messages.add("user", WORDS).wait()
        clock.advance()
        if made == "update":
            room.scope(user="ana").messages.add("user", OTHERS).wait()
            room.summaries.update()
        elif made == "policy":
            summarize_by_policy(room)
        elif made == "limit":
            summarize_by_limit(room)
        else:
            summarize_by_compress(room, clock)
        [before] = room.summaries.list()
        assert "zebrafinch" in before.text
        count = before.count
        receipt = memory.erase(user="kim")
        self._check_rewritten(memory, room, receipt, before.id)
        [summary] = room.summaries.list()
        assert (summary.made_by, summary.count) == (made, count - 1)
        assert room.summaries.sources(summary.id)[0].content == OTHERS
        current = room.summaries.current()
        assert current is not None
        assert OTHERS in current.text
        # It lives on: what is said next joins it or follows it, and it goes with its last source.
        room.scope(user="bob").messages.add("user", "The heron stands in the reeds for hours.").wait()
        room.summaries.update(keep=0)
        assert memory.erase(user="bob").ok
        assert memory.erase(user="ana").ok
        assert room.summaries.list() == []
        assert memory.stats().versions == 0

    def _check_rewritten(self, memory: Memory, room: Memory, receipt: ErasureReceipt, id: str) -> None:
        assert receipt.ok, receipt.leftovers
        assert receipt.counts["summaries_rewritten"] == 1
        [summary] = room.summaries.list()
        assert summary.id == id
        assert OTHERS in summary.text
        assert not is_left(memory)
        # One version: the others had the words.
        assert len(memory.history(id)) == 1
        assert memory.verify().faults == ()

    def test_the_writer_of_summaries_is_asked_again_in_a_job(self, open_memory: OpenMemory) -> None:
        class RecordingSummarizer:
            heard: list[str]

            def __init__(self) -> None:
                self.heard = []

            def summarise(self, text: str, *, max_tokens: int) -> str:  # noqa: ARG002 - called so
                self.heard.append(text)
                return f"They talk, in {len(text.splitlines())} lines."

        memory, writer = open_memory(), RecordingSummarizer()
        memory.summaries.use(writer)
        room = memory.scope(room="r")
        for user, statement in (("kim", WORDS), ("ana", OTHERS)):
            room.scope(user=user).messages.add("user", statement).wait()
        room.summaries.update()
        [before] = room.summaries.list()
        assert before.body == f"They talk, in {len(WORDS.splitlines()) + 1} lines."
        writer.heard.clear()
        receipt = memory.erase(user="kim")
        assert receipt.ok, receipt.leftovers
        runner = view_of(memory).engine.runner
        assert runner is not None
        jobs = tuple(job.id for job in memory.jobs.list() if job.task == "abstract")
        runner.follow(Receipt(ids=(), jobs=jobs), 30.0, tenant=memory.bound.tenant)
        [summary] = room.summaries.list()
        assert summary.body == "They talk, in 1 lines."
        assert writer.heard == [f"ana: {OTHERS}"]
        assert not is_left(memory)
