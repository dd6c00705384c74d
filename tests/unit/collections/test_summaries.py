"""Summaries of rooms: when they are made, what they stand for, and what follows when a source changes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from rememo import Memory, Settings, SummaryPolicy
from rememo.collections.message import Message
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, NotFound, ReadOnly
from rememo.jobs.worker import Worker
from rememo.testing.clock import START, ManualClock
from rememo.text.fence import fenced, is_recalled
from rememo.text.tokens import default_counter, message_tokens

from .learning import worker_of

FAST = Settings(worker=False, learn=False)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=FAST, clock=clock) as memory:
        yield memory


@pytest.fixture
def chat(memory: Memory) -> Memory:
    return memory.scope(user="ana", room="r")


def talk(chat: Memory, count: int, *, first: int = 0) -> list[str]:
    """Say so many things, and return their ids."""
    return [
        chat.messages.add("user", f"I bought {number} lamps in shop {number}.").id
        for number in range(first, first + count)
    ]


def work(memory: Memory) -> int:
    return worker_of(memory).run_until_idle()


def turns(chat: Memory, max_tokens: int) -> list[Message]:
    """Return the messages of a window, without the summary of those before them."""
    return [message for message in chat.messages.window(max_tokens) if message.record.kind == "message"]


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


def call(id: str) -> list[dict[str, Any]]:
    return [{"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}]


# ---- the policy


@pytest.mark.requirement("summary.threshold")
def test_when_enough_have_gathered_they_are_summarised_and_the_last_few_kept(memory: Memory, chat: Memory):
    policy = SummaryPolicy(threshold=30, keep=5)
    assert chat.summaries.policy() is None
    assert chat.summaries.policy(policy) == policy
    ids = talk(chat, 29)
    work(memory)
    assert chat.summaries.list() == []
    receipt = chat.messages.add("user", "That makes thirty.")
    assert [job.task for job in memory.jobs.list("waiting")] == ["summarise"]
    receipt.wait()
    (summary,) = chat.summaries.list()
    assert summary.sources == ids[:25]
    assert (summary.count, summary.made_by, summary.writer, summary.fallback) == (25, "policy", "extractive", None)
    assert summary.text.startswith(
        "Summary of 25 messages from 2026-05-01 12:00 to 2026-05-01 12:00 UTC:\nana: I bought"
    )
    assert summary.record.scope == chat.bound
    assert len(chat.messages.history(100)) == 30, "verbatim first: nothing is gone"
    assert [turn.id for turn in turns(chat, 10_000)] == [*ids[25:], receipt.id]
    assert [message.content for message in chat.summaries.sources(summary.id)][:2] == [
        "I bought 0 lamps in shop 0.",
        "I bought 1 lamps in shop 1.",
    ]


@pytest.mark.requirement("summary.threshold")
def test_it_goes_on_and_small_summaries_grow(memory: Memory, chat: Memory):
    chat.summaries.policy(SummaryPolicy(threshold=8, keep=3))
    for number in range(60):
        chat.messages.add("user", f"I bought {number} lamps in shop {number}.").wait()
    summaries = chat.summaries.list()
    assert sum(summary.count for summary in summaries) == 55
    assert all(summary.count >= 20 for summary in summaries[:-1]), "not one summary for every five"
    covered = [id for summary in summaries for id in summary.sources]
    assert len(set(covered)) == len(covered)
    assert texts(turns(chat, 10_000)) == [f"I bought {n} lamps in shop {n}." for n in range(55, 60)]


@pytest.mark.requirement("summary.threshold")
def test_a_window_shows_the_summary_of_what_it_no_longer_shows(memory: Memory, chat: Memory):
    chat.messages.add("system", "Be kind.")
    chat.messages.limit(max_messages=6, evict="summarise")
    ids = talk(chat, 40)
    rules, summary, *newest = chat.messages.window(2_000)
    assert (rules.content, [message.id for message in newest]) == ("Be kind.", ids[35:])
    assert (summary.role, summary.record.kind) == ("system", "summary")
    assert "Summary of 35 messages" in summary.content
    assert "I bought" in summary.content
    assert is_recalled(summary.content), "what people said gives no orders to a model"
    # Where the turns leave room, it takes that: else a small window would hide most of a talk and say nothing of it.
    assert [message.record.kind for message in chat.messages.window(240)] == ["message", "summary", *["message"] * 5]
    # Of what turns need it takes a quarter at the most, and nothing that the newest turn needs.
    for most in range(35, 400, 7):
        shown = chat.messages.window(most)
        assert sum(message_tokens(default_counter(), message.content, message.record.data) for message in shown) <= most
        assert shown[-1].content == "I bought 39 lamps in shop 39."
    then = memory.scope(room="r", user="ana").messages.window(2_000, known_at=START)
    assert [message.record.kind for message in then if message.record.kind == "summary"] == []


@pytest.mark.requirement("summary.threshold")
@pytest.mark.parametrize("leave", ["limit", "compress", "policy"])
def test_a_bound_view_has_a_summary_of_its_own_messages_that_left(memory: Memory, clock: ManualClock, leave: str):
    group = memory.scope(room="group")
    views = {user: memory.scope(room="group", user=user) for user in ("ana", "kim")}
    for number in range(10):
        for user, view in views.items():
            view.messages.add("user", f"I am {user} and I bought {number} lamps in Porto.")
            clock.advance(60)
    if leave == "limit":
        group.messages.limit(max_messages=2, evict="summarise")
    elif leave == "compress":
        memory.summaries.compress(older_than="3m")
    else:
        group.summaries.policy(SummaryPolicy(threshold=10, keep=2, originals="remove"))
        views["ana"].messages.add("user", "I am ana and this is one more.")
        work(memory)
    for user, other in (("ana", "kim"), ("kim", "ana")):
        shown = [message.content for message in views[user].messages.window(1_000)]
        assert f"{user}: I am {user}" in shown[0]
        assert other not in "".join(shown)
    assert group.messages.window(1_000)[0].record.id == group.summaries.list()[-1].id


def test_originals_may_be_removed_with_the_same_write(memory: Memory, chat: Memory):
    chat.summaries.policy(SummaryPolicy(threshold=10, keep=2, originals="remove"))
    ids = talk(chat, 10)
    work(memory)
    assert [message.id for message in chat.messages.history()] == ids[8:]
    (summary,) = chat.summaries.list()
    assert summary.sources == ids[:8]
    assert [message.id for message in chat.summaries.sources(summary.id)] == ids[:8], "as they last were"


def test_the_policy_is_the_rooms_and_outlives_the_process(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None, settings=FAST) as memory:
        memory.scope(room="r", user="ana").summaries.policy(SummaryPolicy(threshold=4, keep=1))
    with Memory(path, embedder=None, settings=FAST) as memory:
        room = memory.scope(room="r")
        assert room.summaries.policy() == SummaryPolicy(threshold=4, keep=1)
        for user in ("ana", "bo", "ana", "bo"):
            memory.scope(room="r", user=user).messages.add("user", f"I am {user} and I like tea.")
            memory.scope(room="other").messages.add("user", "Not here.")
        work(memory)
        (summary,) = memory.summaries.list()
        assert (summary.record.scope.room, summary.record.scope.user) == ("r", None), "it speaks of both"
        assert memory.scope(room="r", user="ana").summaries.list() == [], "so it is not hers alone"
        assert len(memory.scope(room="r", user="ana").messages.window(1_000)) == 2, "and her window hides nothing"
        assert room.summaries.policy(None) is None
        assert room.summaries.policy() is None
        assert memory.scope(room="r").kv.keys() == []


def test_pinned_and_system_messages_and_tool_pairs_are_left_whole(memory: Memory, chat: Memory):
    add = chat.messages.add
    system = add("system", "Be kind.").id
    pinned = add("user", "My allergy is nuts.", pinned=True).id
    call_message = add("assistant", "", tool_calls=call("a")).id
    add("user", "While that runs: I live in Lisbon.")
    answered = add("tool", "sunny", tool_call_id="a").id
    open_call = add("assistant", "", tool_calls=call("b")).id
    last_call = add("assistant", "", tool_calls=call("c")).id
    talk(chat, 3)
    add("tool", "rain", tool_call_id="c")
    chat.summaries.update(keep=2)
    (summary,) = chat.summaries.list()
    assert {call_message, answered} <= set(summary.sources)
    assert not {system, pinned, open_call, last_call} & set(summary.sources)


@pytest.mark.parametrize(
    "wrong",
    [{"threshold": 10, "keep": 10}, {"threshold": 5, "keep": 9}, {"threshold": 0, "keep": 0}, {"threshold": -1}, {"keep": -1},
     {"threshold": True}, {"threshold": 2.5}, {"max_tokens": 0}, {"originals": "shred"}],
)  # fmt: skip
def test_policies_that_cannot_be_meant(wrong: dict[str, Any]):
    with pytest.raises(InvalidInput):
        SummaryPolicy(**wrong)


def test_calls_that_cannot_be_meant(memory: Memory, chat: Memory):
    with pytest.raises(InvalidInput, match="belong to a room"):
        memory.summaries.policy(SummaryPolicy())
    with pytest.raises(InvalidInput, match="must be a SummaryPolicy"):
        chat.summaries.policy({"threshold": 5})  # pyright: ignore[reportArgumentType] - on purpose
    with pytest.raises(InvalidInput, match="cannot become"):
        chat.summaries.current("another")
    with pytest.raises(InvalidInput, match="max_tokens"):
        chat.summaries.current(max_tokens=0)
    with pytest.raises(InvalidInput, match="keep"):
        chat.summaries.update(keep=-1)
    with pytest.raises(NotFound, match="there is no message in room 'nowhere'"):
        memory.summaries.update("nowhere")
    assert memory.summaries.current("nowhere") is None
    memory.scope(room="group", user="ana").messages.add("user", "Hello.")
    memory.scope(room="group", user="bo").messages.add("user", "Hello too.")
    assert (
        memory.scope(room="group", user="cem").summaries.update() is None
    )  # a silent member's room is there all the same
    with pytest.raises(InvalidInput, match="summarise"):
        memory.summaries.use("gpt")  # pyright: ignore[reportArgumentType] - on purpose
    plain = memory.add("by hand", kind="summary").id
    with pytest.raises(NotFound, match="no summary that was made here"):
        memory.summaries.get(plain)
    with pytest.raises(NotFound):
        memory.summaries.get("nobody")
    with pytest.raises(ReadOnly):
        memory.as_of(memory.snapshot("s")).scope(room="r").summaries.policy(SummaryPolicy())


# ---- the running summary


def test_update_summarises_what_is_there_and_current_tells_it(memory: Memory):
    room = memory.scope(room="r")
    ids = talk(room, 12)
    current = memory.summaries.update("r", keep=2)
    assert current is not None
    assert (current.count, len(current.summaries)) == (10, 1)
    assert current.text.startswith("Summary of 10 messages from")
    assert current == memory.summaries.update("r", keep=2), "again changes nothing"
    talk(room, 3, first=12)
    again = room.summaries.update()
    assert again is not None
    assert again.count == 15
    assert turns(room, 1_000) == []
    assert [id for summary in room.summaries.list() for id in summary.sources] == [
        *ids,
        *(m.id for m in room.messages.latest(3)),
    ]


@given(st.integers(20, 900))
@hypothesis_settings(max_examples=15)
def test_a_running_summary_is_never_longer_than_asked(most: int):
    with Memory(":memory:", embedder=None, settings=FAST, clock=ManualClock()) as memory:
        room = memory.scope(room="r")
        for number in range(6):
            talk(room, 30, first=number * 30)
            room.summaries.update()
        current = room.summaries.current(max_tokens=most)
        assert current is not None
        assert current.count == 180
        assert default_counter().count(current.text) <= max(most, 60), "the first line is always there"


def test_current_has_the_newest_whole_and_of_the_older_a_line(memory: Memory):
    room = memory.scope(room="r")
    for number in range(5):
        talk(room, 30, first=number * 30)
        room.summaries.update()
    current = room.summaries.current(max_tokens=900)
    assert current is not None
    lines = current.text.split("\n")[1:]
    newest = room.summaries.list()[-1]
    assert newest.body.split("\n")[-1] == lines[-1]
    assert any("shop 2" in line or "shop 1" in line for line in lines[:2]), "something of the beginning"


# ---- when a source changes


@pytest.mark.requirement("summary.threshold")
def test_a_summary_follows_its_sources(memory: Memory, chat: Memory):
    chat.messages.add("user", "My secret number is 4711.", id="secret")
    chat.messages.add("user", "I live in Lisbon.", id="home")
    chat.summaries.update()
    assert "4711" in chat.summaries.list()[0].text
    chat.update("home", text="I live in Porto.")
    chat.delete("secret")
    work(memory)
    (summary,) = chat.summaries.list()
    assert "4711" not in summary.text
    assert "Porto" in summary.text
    assert (summary.count, summary.sources) == (1, ["home"])
    memory.undo(chat.delete("home"))
    work(memory)
    assert chat.summaries.list()[0].sources == ["home"]
    chat.messages.clear()
    work(memory)
    assert chat.summaries.list() == [], "nothing to stand for"
    assert memory.jobs.list("dead") == []


def test_a_source_that_comes_back_is_in_it_again(memory: Memory, chat: Memory):
    ids = talk(chat, 4)
    chat.summaries.update()
    gone = chat.delete(ids[0])
    work(memory)
    assert chat.summaries.list()[0].count == 3
    memory.undo(gone)
    chat.summaries.update()
    (summary,) = chat.summaries.list()
    assert sorted(summary.sources) == sorted(ids)


def test_a_change_that_is_none_to_its_words_makes_no_new_version(memory: Memory, chat: Memory):
    ids = talk(chat, 4)
    chat.summaries.update()
    version = chat.summaries.list()[0].record.version
    chat.update(ids[0], metadata={"seen": True})
    work(memory)
    assert chat.summaries.list()[0].record.version == version


def test_a_deleted_summary_lets_its_messages_be_summarised_again(memory: Memory, chat: Memory):
    chat.summaries.policy(SummaryPolicy(threshold=10, keep=0))
    talk(chat, 10)
    work(memory)
    chat.delete(chat.summaries.list()[0].id)
    work(memory)
    assert len(turns(chat, 10_000)) == 10
    chat.messages.add("user", "And one more lamp.").wait()
    assert chat.summaries.list()[0].count == 11


def test_a_limit_beside_a_policy_says_nothing_twice(memory: Memory, chat: Memory):
    chat.summaries.policy(SummaryPolicy(threshold=6, keep=2))
    talk(chat, 6)
    work(memory)
    chat.messages.limit(max_messages=3, evict="summarise")
    assert [summary.count for summary in chat.summaries.list()] == [4], "what left was summarised before"
    chat.update(chat.messages.latest()[0].id, text="I bought 5 chairs.")
    work(memory)
    assert chat.summaries.list()[0].count == 4, "what its limit removed still belongs to it"


def test_what_was_recalled_is_not_summarised_again(chat: Memory):
    chat.messages.add("assistant", "You live in Faro, 99.", source="recall")
    chat.messages.add("user", f"I own 2 boats.\n{fenced('He also owns 44 planes.')}")
    current = chat.summaries.update()
    assert current is not None
    assert current.count == 2
    assert "2 boats" in current.text
    assert "Faro" not in current.text
    assert "planes" not in current.text


# ---- a model writes


class Writer:
    """Says what it is told to say."""

    def __init__(self, says: object) -> None:
        self.says = says
        self.given: list[str] = []

    def summarise(self, text: str, *, max_tokens: int) -> Any:
        assert max_tokens == 600
        self.given.append(text)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


def test_a_model_may_write(memory: Memory, chat: Memory):
    writer = Writer("Ana bought lamps.\n\nMany of them.")
    memory.summaries.use(writer)
    talk(chat, 25)
    chat.summaries.update()
    (summary,) = chat.summaries.list()
    assert (summary.writer, summary.body, summary.fallback) == ("Writer", "Ana bought lamps.\nMany of them.", None)
    assert writer.given[0].startswith("ana: I bought 0 lamps in shop 0.\nana: I bought 1")
    memory.summaries.use(None)
    talk(chat, 25)
    chat.summaries.update()
    assert chat.summaries.list()[-1].writer == "extractive"


@pytest.mark.parametrize(
    "says",
    [ConnectionError("no answer"), "", " \n ", "word " * 5_000, None, 7, "nul\x00", "x" * 2_000_000],
    ids=["raises", "empty", "blank", "huge", "none", "number", "nul", "beyond the limit"],
)
def test_one_that_fails_is_replaced_by_sentences_and_that_is_said(memory: Memory, chat: Memory, says: object):
    memory.summaries.use(Writer(says))
    talk(chat, 3)
    chat.summaries.update()
    (summary,) = chat.summaries.list()
    assert summary.writer == "extractive"
    assert "lamps" in summary.body
    assert summary.fallback


# ---- whatever happens

steps = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.sampled_from(["user", "assistant", "system", "pinned", "late"])),
        st.tuples(st.sampled_from(["delete", "change", "back", "work", "limit", "unsummarise"]), st.integers(0, 30)),
    ),
    max_size=40,
)


@given(steps, st.integers(2, 8), st.integers(0, 6), st.sampled_from(["keep", "remove"]))
def test_every_message_is_in_the_window_or_in_one_summary(
    plan: list[tuple[str, str | int]], threshold: int, keep: int, originals: Any
):
    clock = ManualClock()
    with Memory(":memory:", embedder=None, settings=FAST, clock=clock) as memory:
        room = memory.scope(room="r")
        room.summaries.policy(SummaryPolicy(threshold=max(threshold, keep + 1), keep=keep, originals=originals))
        gone: list[Any] = []
        for number, (step, what) in enumerate(plan):
            clock.advance(1)
            held = room.messages.history(1_000)
            place = what if isinstance(what, int) else 0
            if step == "say":
                role = what if what in ("assistant", "system") else "user"
                late = clock() - (clock() - ManualClock()()) / 2 if what == "late" else None
                room.messages.add(str(role), f"I bought {number} lamps.", pinned=what == "pinned", at=late)
            elif step == "work":
                work(memory)
            elif step == "limit":
                room.messages.limit(max_messages=12, evict="summarise")
                room.messages.unlimit()
            elif step == "back" and gone:
                memory.undo(gone.pop())
            elif step == "unsummarise" and (summaries := room.summaries.list()) and originals == "keep":
                room.delete(summaries[place % len(summaries)].id)
            elif step == "delete" and held:
                gone.append(room.delete(held[place % len(held)].id))
            elif step == "change" and held:
                room.update(held[place % len(held)].id, text=f"I sold {number} lamps.")
                gone.clear()  # an older deletion stays undoable, but which one is no concern here
        work(memory)
        work(memory)
        assert memory.jobs.list("dead") == []
        present = {message.id for message in room.messages.history(1_000)}
        shown = {turn.id for turn in turns(room, 1_000_000)} if present else set[str]()
        sources = [id for summary in room.summaries.list(1_000) for id in summary.sources]
        assert len(sources) == len(set(sources)), "in one summary only"
        assert present <= shown | set(sources), "nothing is hidden that no summary stands for"
        stood = {id for summary in room.summaries.list(1_000) for id in summary.record.data["kept"]}
        assert shown == present - stood
        assert stood <= present, "a summary knows what is gone"


def test_many_workers_at_one_room_summarise_each_message_once(tmp_path: Path):
    path = tmp_path / "m.db"
    with Memory(path, embedder=None, settings=FAST) as first, Memory(path, embedder=None, settings=FAST) as two:
        room = first.scope(room="r")
        room.summaries.policy(SummaryPolicy(threshold=30, keep=5))
        talk(room, 120)
        workers = [Worker(view_of(first).engine), Worker(view_of(two).engine)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.run_until_idle()
        for worker in workers:
            assert worker.stop()
        sources = [id for each in room.summaries.list() for id in each.sources]
        assert len(sources) == len(set(sources)) == 115
