"""The audit trail: every write leaves a line in its own transaction, and the chain shows what was done to it."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rememo.errors import AlreadyExists, InvalidInput, ReadOnly, VersionConflict
from rememo.memory import Memory
from rememo.model.audit import AuditEntry, AuditHead, Intent
from rememo.model.scope import Scope
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite
from rememo.testing.clock import START, ManualClock

AUDITED = Settings(durability="fast", audit=True)


def operations_and_ids(entries: Iterable[AuditEntry]) -> list[tuple[str, tuple[str, ...]]]:
    """Return what was done to which records, in order."""
    return [(entry.operation, entry.ids) for entry in entries]


class AuditSuite(Suite):
    """`audit`, `acting` and `compliance`."""

    @pytest.fixture
    def audited(self, open_memory: OpenMemory) -> Memory:
        """Open a store with auditing on."""
        return open_memory(settings=AUDITED)

    @pytest.mark.requirement("audit.trail")
    def test_every_write_leaves_who_when_what_and_from_where(self, audited: Memory, clock: ManualClock) -> None:
        chat = audited.scope(user="alice", room="r", agent="helper")
        with audited.acting(actor="carol", session="s1", address="10.0.0.5"):
            receipt = chat.add("My secret is the word xylophone.", id="x", kind="thought")
        [entry] = audited.audit.list()
        assert (entry.number, entry.operation, entry.ids, entry.flags) == (1, "write", ("x",), ())
        assert (entry.actor, entry.session, entry.address) == ("carol", "s1", "10.0.0.5")
        assert entry.scope == Scope(agent="helper", user="alice", room="r")
        assert entry.at == receipt.recorded_at
        assert entry.detail == {"outcomes": {"added": 1}, "kinds": {"thought": 1}}
        assert "xylophone" not in repr(entry)
        clock.advance()
        chat.update("x", text="changed")
        audited.delete("x")
        assert [entry.detail["outcomes"] for entry in audited.audit.list()] == [
            {"added": 1},
            {"updated": 1},
            {"deleted": 1},
        ]
        assert [entry.actor for entry in audited.audit.list()] == ["carol", None, None]

    @pytest.mark.requirement("audit.trail")
    def test_the_trail_is_read_back_page_by_page(self, audited: Memory) -> None:
        for number in range(7):
            audited.scope(user="alice" if number % 2 else "bob").add("x", id=f"n{number}")
        numbers, up_to = list[int](), None
        while page := audited.audit.list(limit=3, up_to=up_to):
            numbers += [entry.number for entry in reversed(page)]
            up_to = page[0].number - 1
        assert numbers == list(range(7, 0, -1))
        alice = audited.scope(user="alice").audit
        assert [record.number for record in alice.list(up_to=5)] == [2, 4]
        assert alice.list(up_to=0) == []
        with pytest.raises(InvalidInput, match="up_to"):
            alice.list(up_to=-1)

    @pytest.mark.requirement("audit.trail")
    def test_a_batch_is_one_line_and_a_large_one_keeps_a_digest(self, audited: Memory) -> None:
        with audited.batch() as batch:
            batch.add("one", id="a")
            batch.add("two", id="b", kind="thought")
        audited.add_many([{"text": f"number {number}", "id": f"id-{number}"} for number in range(50)])
        small, large = audited.audit.list()
        assert (small.ids, small.detail) == (("a", "b"), {"outcomes": {"added": 2}, "kinds": {"note": 1, "thought": 1}})
        assert large.ids == ()
        assert large.detail["outcomes"] == {"added": 50}
        assert len(large.detail["ids_sha256"]) == 64

    @pytest.mark.requirement("audit.trail")
    def test_what_else_is_done_is_noted_too(
        self, audited: Memory, open_memory: OpenMemory, tmp_path: Path, clock: ManualClock
    ) -> None:
        audited.add("kept", id="x")
        clock.advance()
        audited.snapshot("before")
        audited.scope(user="alice").kv.set("mood", "fine")
        audited.kv.set("other", 1)
        audited.kv.delete("other")
        audited.kv.delete("never there")
        audited.kv.invalidate("*")
        audited.scope(user="alice").profiles.update("wallet", colour="green")
        clock.advance()
        audited.clear()
        audited.rollback("before")
        with pytest.raises(VersionConflict):
            audited.update("x", text="other", expected_version=99)
        audited.export(tmp_path / "all.jsonl")
        audited.audit.denied("search", reason="no_right")
        assert operations_and_ids(audited.audit.list()) == [
            ("write", ("x",)), ("snapshot", ("before",)), ("kv.set", ("mood",)), ("kv.set", ("other",)),
            ("kv.delete", ("other",)), ("kv.set", ("wallet",)), ("clear", ("x",)), ("rollback", ("x",)), ("export", ()),
            ("denied", ()),
        ]  # fmt: skip
        entries = audited.audit.list()
        assert entries[5].detail == {"space": "profiles"}
        assert entries[5].scope.user == "alice"
        assert entries[-1].detail == {"refused": "search", "reason": "no_right"}
        other = open_memory("other", settings=AUDITED)
        other.import_(tmp_path / "all.jsonl")
        assert [(entry.operation, entry.detail.get("versions")) for entry in other.audit.list()] == [("import", 2)] * 2
        assert other.audit.verify().ok

    def test_what_failed_changed_nothing_or_was_repeated_leaves_no_line(self, audited: Memory) -> None:
        audited.add("there", id="x", key="k")
        audited.add("there", key="k")
        audited.add("again", id="x", on_conflict="ignore")
        with pytest.raises(AlreadyExists):
            audited.add("again", id="x")
        with pytest.raises(VersionConflict):
            audited.kv.compare_and_set("a", 1, expected_version=3)
        assert operations_and_ids(audited.audit.list()) == [("write", ("x",))]

    def test_later_work_is_done_in_its_own_name(self, audited: Memory) -> None:
        with audited.acting(actor="alice", session="s1"):
            audited.scope(user="alice", room="r").messages.add("user", "I live in Lisbon.").wait()
        added, learned = audited.audit.list()
        assert (added.actor, added.detail["kinds"]) == ("alice", {"message": 1})
        assert (learned.actor, learned.session, learned.detail["kinds"]) == ("rememo.worker", None, {"fact": 1})

    @pytest.mark.requirement("audit.trail")
    def test_lines_are_listed_by_time_actor_operation_and_scope(self, audited: Memory, clock: ManualClock) -> None:
        for number, actor in enumerate(["ann", "ben", "ann", "ben"]):
            with audited.acting(actor=actor):
                audited.scope(user=actor, room=f"r{number}").add("said", id=f"x{number}")
            clock.advance(60)
        audit = audited.audit
        assert [record.ids for record in audit.list(actor="ben")] == [("x1",), ("x3",)]
        assert [record.ids for record in audit.list(limit=2)] == [("x2",), ("x3",)]
        times = [record.at for record in audit.list()]
        assert [record.ids for record in audit.list(after=times[1], before=times[3])] == [("x1",), ("x2",)]
        assert [entry.ids for entry in audited.scope(user="ann").audit.list()] == [("x0",), ("x2",)]
        assert audit.list(operation="export") == []
        assert [entry.number for entry in audited.as_of(times[1]).audit.list()] == [1]
        with pytest.raises(InvalidInput, match="limit"):
            audit.list(limit=0)
        with pytest.raises(InvalidInput, match="time zone"):
            audit.list(after=START.replace(tzinfo=None))

    def test_tenants_have_their_own_chains(self, audited: Memory) -> None:
        other = audited.scope(tenant="other")
        audited.add("one")
        other.add("two")
        audited.add("three")
        assert [entry.number for entry in audited.audit.list()] == [1, 2]
        assert [entry.number for entry in other.audit.list()] == [1]
        assert audited.audit.head() != other.audit.head()
        assert audited.audit.verify().ok
        assert other.audit.verify().ok

    @pytest.mark.requirement("audit.trail")
    def test_a_kept_head_shows_what_came_before_is_unchanged(self, audited: Memory) -> None:
        assert audited.audit.head().count == 0
        audited.add("one")
        head = audited.audit.head()
        audited.add("two")
        check = audited.audit.verify(head=head)
        assert (check.ok, check.head.count, head.count) == (True, 2, 1)
        forged = AuditHead(count=1, hash="0" * 64)
        assert "line 1 is not the one whose head was kept" in audited.audit.verify(head=forged).faults[0]
        ahead = AuditHead(count=9, hash="0" * 64)
        assert "it was cut" in audited.audit.verify(head=ahead).faults[0]
        with pytest.raises(InvalidInput, match=r"audit\.head"):
            audited.audit.verify(head="line 1")  # pyright: ignore[reportArgumentType] - that is the test

    @pytest.mark.requirement("audit.trail")
    def test_flags_come_from_the_users_own_checks(self, audited: Memory, caplog: pytest.LogCaptureFixture) -> None:
        seen: list[Intent] = []

        @audited.compliance
        def minors(intent: Intent) -> str | None:
            seen.append(intent)
            return "minor" if intent.scope.user == "kid" else None

        @audited.compliance(content=True)
        def secrets(intent: Intent) -> list[str]:
            return ["secret", "reviewed"] if any("password" in text for text in intent.texts) else []

        @audited.scope(room="strict").compliance
        def broken(_: Intent) -> str:
            raise RuntimeError("no idea")

        audited.scope(user="kid").add("my password is hunter2", id="a")
        audited.scope(room="strict").add("fine", id="b")
        audited.delete("a")
        assert [entry.flags for entry in audited.audit.list()] == [
            ("minor", "secret", "reviewed"), ("check failed: broken",), (),
        ]  # fmt: skip
        assert audited.get("b").text == "fine"
        assert "no idea" in caplog.text
        assert (seen[0].ids, seen[0].kinds, seen[0].texts) == (("a",), ("note",), ())
        assert (seen[2].ids, seen[2].operation) == (("a",), "write")
        with pytest.raises(InvalidInput, match="must be a function"):
            audited.compliance("gdpr")  # pyright: ignore[reportArgumentType] - that is the test

    def test_where_it_is_off_nothing_is_noted_and_checks_are_refused(self, memory: Memory) -> None:
        with memory.acting(actor="alice"):
            memory.add("unseen")
        memory.audit.denied("search", reason="no_right")
        assert memory.audit.list() == []
        assert memory.audit.verify().ok
        with pytest.raises(InvalidInput, match="Settings\\(audit=True\\)"):
            memory.compliance(lambda _: None)

    def test_acting_nests_and_ends(self, audited: Memory) -> None:
        with audited.acting(actor="ann", session="s"):
            with audited.acting(actor="ben"):
                audited.add("1")
            audited.add("2")
        audited.add("3")
        assert [(entry.actor, entry.session) for entry in audited.audit.list()] == [
            ("ben", "s"),
            ("ann", "s"),
            (None, None),
        ]
        with pytest.raises(InvalidInput, match="needs an actor"):
            audited.acting()
        with pytest.raises(InvalidInput, match="actor is empty"):
            audited.acting(actor="")
        with pytest.raises(ReadOnly):
            audited.as_of(START).add("never")

    @pytest.mark.requirement("audit.trail")
    def test_an_export_has_all_that_is_needed_to_check_it(self, audited: Memory, tmp_path: Path) -> None:
        audited.add("one", id="a")
        audited.add("two", id="b")
        assert audited.audit.export(tmp_path / "trail.jsonl") == 3
        first, *lines = [json.loads(line) for line in (tmp_path / "trail.jsonl").read_text().splitlines()]
        assert (first["format"], first["count"], first["hash"]) == ("rememo-audit", 3, audited.audit.head().hash)
        assert [line["operation"] for line in lines] == ["write", "write", "audit.export"]
        assert lines[-1]["hash"] == first["hash"]
        assert lines[0]["ids"] == ["a"]
        with pytest.raises(AlreadyExists, match=r"trail\.jsonl"):
            audited.audit.export(tmp_path / "trail.jsonl")

    def test_threads_share_one_chain_without_a_gap(self, audited: Memory) -> None:
        def work(who: int) -> None:
            with audited.acting(actor=f"thread{who}"):
                for number in range(20):
                    if number % 5 == 4:
                        with pytest.raises(AlreadyExists):
                            audited.add("again", id=f"{who}-0")
                    else:
                        audited.add("said", id=f"{who}-{number}")

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        entries = audited.audit.list(limit=1000)
        assert [entry.number for entry in entries] == list(range(1, 129))
        assert all(entry.actor == f"thread{entry.ids[0].split('-')[0]}" for entry in entries)
        assert audited.audit.verify().ok

    def test_a_trail_goes_on_when_the_store_is_opened_again(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        with open_memory(settings=AUDITED) as first:
            first.add("one")
            head = first.audit.head()
        with open_memory(settings=AUDITED) as again:
            again.add("two")
            assert [entry.number for entry in again.audit.list()] == [1, 2]
            assert again.audit.verify(head=head).ok
