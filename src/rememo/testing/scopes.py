"""Scope: what belongs to one tenant, user, room or agent stays there, whichever verb is used."""

from pathlib import Path
from typing import Any

import pytest

from rememo.errors import AlreadyExists, InvalidInput, NotFound, RememoError
from rememo.memory import Memory
from rememo.testing.base import OpenMemory, Suite, ids, texts
from rememo.testing.clock import ManualClock

LABELS = ("tenant", "user", "room", "agent")


class IsolationSuite(Suite):
    """Each verb through `theirs` never sees or changes what is `mine`; both differ in one label only."""

    @pytest.fixture(params=LABELS)
    def label(self, request: pytest.FixtureRequest) -> str:
        """Name the label that parts the two."""
        return str(request.param)

    @staticmethod
    def _views(memory: Memory, label: str) -> tuple[Memory, Memory]:
        mine, theirs = memory.scope(**{label: "mine"}), memory.scope(**{label: "theirs"})
        mine.add("my secret harbour", id="secret", kind="thought", metadata={"a": 1})
        return mine, theirs

    @pytest.mark.requirement("share.scopes", "memory.named-isolated")
    def test_isolation_of_reads(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        with pytest.raises(NotFound, match="'secret'"):
            theirs.get("secret")
        with pytest.raises(NotFound, match="'secret'"):
            theirs.history("secret")
        assert theirs.list() == []
        assert theirs.list(ids=["secret"]) == []
        assert theirs.list(kind="thought", metadata={"a": 1}) == []
        assert theirs.count() == 0
        assert ids(mine.list()) == ["secret"]

    def test_isolation_of_searches(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        theirs.add("their own words")
        for mode in ("hybrid", "words", "vector"):
            assert "secret" not in ids(theirs.search("my secret harbour", mode=mode))
            assert ids(mine.search("my secret harbour", mode=mode)) == ["secret"]
        assert "secret" not in ids(theirs.similar([1.0] * 16))

    def test_isolation_of_reads_of_the_past(self, memory: Memory, label: str, clock: ManualClock) -> None:
        mine, theirs = self._views(memory, label)
        stored_at = mine.get("secret").recorded_at
        mine.delete("secret")
        clock.advance()
        assert theirs.list(known_at=stored_at) == []
        assert theirs.count(known_at=stored_at) == 0
        assert theirs.search("harbour", known_at=stored_at) == []
        with pytest.raises(NotFound):
            theirs.get("secret", known_at=stored_at)
        past = theirs.as_of(stored_at)
        assert past.list() == []
        changes = theirs.diff(stored_at)
        assert (changes.added, changes.removed, changes.changed) == ((), (), ())
        assert mine.count(known_at=stored_at) == 1

    def test_isolation_of_changes(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        before = mine.history("secret")
        with pytest.raises(NotFound):
            theirs.update("secret", text="overwritten")
        with pytest.raises(NotFound):
            theirs.delete("secret")
        assert theirs.delete_where(kind="thought") == 0
        assert theirs.delete_where(ids=["secret"]) == 0
        assert theirs.clear() == 0
        assert mine.history("secret") == before

    def test_an_id_of_another_scope_is_not_replaced(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        for on_conflict in ("error", "ignore", "replace"):
            if label == "tenant":
                theirs.add("their own", id="secret", on_conflict="replace")
            else:
                with pytest.raises(AlreadyExists, match="'secret'"):
                    theirs.add("stolen", id="secret", on_conflict=on_conflict)
        assert mine.get("secret").text == "my secret harbour"
        assert len(mine.history("secret")) == 1

    def test_an_id_of_another_scope_is_not_replaced_by_a_batch(self, memory: Memory, label: str) -> None:
        mine, _ = self._views(memory, label)
        if label != "tenant":
            with pytest.raises(AlreadyExists, match="'secret'"), memory.batch() as batch:
                batch.scope(**{label: "theirs"}).add("stolen", id="secret", on_conflict="replace")
        assert mine.get("secret").text == "my secret harbour"

    def test_isolation_of_batches(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        with pytest.raises(NotFound), theirs.batch() as batch:
            batch.update("secret", text="overwritten")
        with pytest.raises(NotFound), theirs.batch() as batch:
            batch.delete("secret")
        assert mine.get("secret").text == "my secret harbour"

    def test_isolation_of_going_back(self, memory: Memory, label: str, clock: ManualClock) -> None:
        mine, theirs = self._views(memory, label)
        start = clock()
        clock.advance(60)
        receipt = mine.update("secret", text="my second secret")
        with pytest.raises(RememoError):
            theirs.undo(receipt)
        theirs.add("theirs", id="other")
        assert theirs.rollback(start).ids == ("other",)
        assert mine.get("secret").text == "my second secret"
        assert theirs.count() == 0

    def test_isolation_of_lists_of_labels(self, memory: Memory, label: str) -> None:
        _, theirs = self._views(memory, label)
        assert (theirs.rooms(), theirs.users(), theirs.agents()) == ([], [], [])

    def test_isolation_of_key_values(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        mine.kv.set("step", 1)
        assert theirs.kv.get("step") is None
        assert theirs.kv.keys() == []
        assert theirs.kv.delete("step") is False
        assert theirs.kv.invalidate("*") == 0
        theirs.kv.set("step", 2)
        assert mine.kv.get("step") == 1
        assert mine.kv.version("step") == 1

    def test_isolation_of_idempotency_keys(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        first = mine.add("mine again", key="retry")
        second = theirs.add("theirs", key="retry")
        assert first.id != second.id
        assert texts(theirs.list()) == ["theirs"]

    def test_isolation_of_hooks(self, memory: Memory, label: str) -> None:
        mine, theirs = self._views(memory, label)
        heard: list[str] = []
        theirs.hooks.on_change(lambda change: heard.append(change.id))
        mine.update("secret", text="changed")
        assert heard == []
        id = theirs.add("theirs").id
        assert heard == [id]

    def test_isolation_of_exports(self, memory: Memory, label: str, tmp_path: Path) -> None:
        mine, theirs = self._views(memory, label)
        mine.kv.set("private", "my secret value")
        theirs.add("theirs")
        theirs.export(tmp_path / "theirs.jsonl")
        written = (tmp_path / "theirs.jsonl").read_text(encoding="utf-8")
        assert "secret" not in written
        assert "theirs" in written


class ScopeSuite(Suite):
    """Views, what they see, and that none can widen."""

    @pytest.mark.parametrize("label", ["user", "room", "agent"])
    def test_a_bound_label_cannot_change(self, memory: Memory, label: str) -> None:
        view = memory.scope(**{label: "mine"})
        assert view.scope(**{label: "mine"}).bound == view.bound
        with pytest.raises(InvalidInput, match=f"bound to {label} 'mine' and cannot become 'theirs'"):
            view.scope(**{label: "theirs"})

    def test_a_tenant_cannot_be_left(self, open_memory: OpenMemory) -> None:
        acme = open_memory(tenant="acme")
        with pytest.raises(InvalidInput, match="tenant 'acme' and cannot reach 'other'"):
            acme.scope(tenant="other")
        with pytest.raises(InvalidInput, match="cannot reach 'default'"):
            acme.scope(tenant="default")
        with pytest.raises(InvalidInput, match="cannot reach"):
            open_memory().scope(user="alice").scope(tenant="acme")

    @pytest.mark.parametrize("label", LABELS)
    @pytest.mark.parametrize("value", ["", "x" * 513, "nul\x00", 7.5])
    def test_a_label_that_cannot_be_meant_is_named(self, memory: Memory, label: str, value: Any) -> None:
        with pytest.raises(InvalidInput, match=label):
            memory.scope(**{label: value})

    @pytest.mark.requirement("record.by-room", "record.by-user", "share.agents", "share.group-pool")
    def test_labels_that_are_not_bound_do_not_matter(self, memory: Memory) -> None:
        memory.scope(user="alice", room="group", agent="helper").add("from alice")
        memory.scope(user="bob", room="group", agent="helper").add("from bob")
        memory.scope(user="alice", room="private", agent="other").add("between us")
        assert texts(memory.scope(room="group").list()) == ["from alice", "from bob"]
        assert texts(memory.scope(user="alice").list()) == ["from alice", "between us"]
        assert texts(memory.scope(agent="helper").list()) == ["from alice", "from bob"]
        assert texts(memory.scope(user="alice", agent="helper").list()) == ["from alice"]
        assert texts(memory.list()) == ["from alice", "from bob", "between us"]
        assert {record.scope.user for record in memory.scope(room="group").list()} == {"alice", "bob"}

    @pytest.mark.requirement("message.reply-to")
    def test_a_reply_reaches_every_message_of_its_room(self, memory: Memory) -> None:
        ana, bo = memory.scope(user="ana", room="group"), memory.scope(user="bo", room="group")
        planner = memory.scope(agent="planner", room="group")
        question = ana.messages.add("user", "Where shall we go?", external_id=("chat", 1)).id
        answer = bo.messages.add("user", "To Porto.", reply_to=question).id
        summary = planner.messages.add("assistant", "Porto it is.", reply_to=answer).id
        thanks = ana.messages.add("user", "Thank you both!", reply_to=("chat", 1)).id
        last = ana.messages.add("user", "See you there.", reply_to=summary).id
        group = memory.scope(room="group").messages
        assert [message.id for message in group.thread(last)] == [question, answer, summary, last]
        assert [message.id for message in group.replies(question)] == [answer, thanks]
        # A view of one user is shown its own messages, whoever wrote those in between.
        assert [message.id for message in ana.messages.thread(last)] == [question, last]
        assert [message.id for message in bo.messages.replies(question)] == [answer]
        with pytest.raises(NotFound):
            bo.messages.get(question)
        with pytest.raises(NotFound):
            bo.messages.thread(question)

    @pytest.mark.requirement("message.reply-to")
    def test_a_reply_stays_in_its_room(self, memory: Memory) -> None:
        bo = memory.scope(user="bo", room="group")
        own_elsewhere = memory.scope(user="bo", room="private").messages.add("user", "Between us.").id
        elsewhere = memory.scope(user="ana", room="private").messages.add("user", "Between us.").id
        other_tenant = memory.scope(tenant="other", user="ana", room="group").messages.add("user", "Hello").id
        note = memory.scope(user="ana", room="group").add("no message").id
        for target in (own_elsewhere, elsewhere, other_tenant, note):
            with pytest.raises(NotFound, match="reply_to: there is no message"):
                bo.messages.add("user", "Yes", reply_to=target)
            with pytest.raises(NotFound):
                bo.messages.replies(target)
        # A view without a room reaches what it can read, and nothing else.
        with pytest.raises(NotFound, match="reply_to: there is no message"):
            memory.scope(user="bo").messages.add("user", "Yes", reply_to=elsewhere)

    @pytest.mark.requirement("scope.list")
    def test_rooms_users_and_agents_are_listed_within_the_scope(self, memory: Memory, clock: ManualClock) -> None:
        memory.add("nobody's")
        memory.scope(user="bob", room="r2").add("a")
        memory.scope(user="alice", room="r1", agent="helper").add("b")
        memory.scope(user="alice", room="r2").add("c")
        memory.scope(user="carol", room="r3").add("soon gone", ttl=60)
        assert memory.rooms() == ["r1", "r2", "r3"]
        assert memory.users() == ["alice", "bob", "carol"]
        assert memory.agents() == ["helper"]
        assert memory.scope(room="r2").users() == ["alice", "bob"]
        assert memory.scope(user="alice").rooms() == ["r1", "r2"]
        clock.advance(60)
        memory.scope(user="bob").clear()
        assert memory.users() == ["alice"]
        assert memory.rooms() == ["r1", "r2"]

    @pytest.mark.requirement("scope.list")
    def test_rooms_are_listed_by_what_their_names_begin_with(self, memory: Memory) -> None:
        for room in ("a", "a.b", "a.b.c", "a.bc", "a_b", "ab", "b", "a.\U0001f600"):
            memory.scope(room=room).add("something")
        memory.add("in no room")
        assert memory.rooms(prefix="a.b.") == ["a.b.c"]
        assert memory.rooms(prefix="a.") == ["a.b", "a.b.c", "a.bc", "a.\U0001f600"]
        assert memory.rooms(prefix="c") == []
        assert memory.scope(room="a.b").rooms(prefix="a") == ["a.b"]
        with pytest.raises(InvalidInput):
            memory.rooms(prefix="a\x00")

    @pytest.mark.requirement("cleanup.manual")
    def test_a_room_can_be_cleared(self, memory: Memory) -> None:
        memory.scope(room="one").add("a")
        memory.scope(room="two").add("b")
        assert memory.scope(room="one").clear() == 1
        assert texts(memory.list()) == ["b"]

    def test_a_record_stays_in_its_scope_when_a_wider_view_changes_it(self, memory: Memory) -> None:
        alice = memory.scope(user="alice")
        alice.add("hers", id="x")
        memory.update("x", text="still hers")
        assert alice.get("x").text == "still hers"
        memory.delete("x")
        assert alice.count() == 0

    def test_scope_comes_before_the_top_k(self, memory: Memory) -> None:
        for number in range(60):
            memory.scope(user="loud").add(f"coffee coffee coffee {number}")
        quiet = memory.scope(user="quiet")
        id = quiet.add("a small remark on coffee and rain").id
        for mode in ("hybrid", "words", "vector"):
            assert ids(quiet.search("coffee", limit=1, mode=mode)) == [id]

    @pytest.mark.parametrize("label", ["тенант", "a b", "^caret", "quote\"'", "%", "\\", "NULL"])
    def test_labels_are_opaque(self, memory: Memory, label: str) -> None:
        view = memory.scope(user=label, room=label)
        id = view.add("hello harbour").id
        assert ids(view.list()) == [id]
        assert ids(view.search("harbour")) == [id]
        assert memory.users() == [label]
        assert memory.scope(user=label + "x").search("harbour") == []
