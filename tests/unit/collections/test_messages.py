"""Conversations: what is written comes back in order, once, and linked."""

import base64
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.collections.message import Message
from rememo.errors import AlreadyExists, InvalidInput, NotFound, ReadOnly
from rememo.testing.clock import START, ManualClock

from .faces import messages

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16
JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 16
CALL = {"id": "call-1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder=None, settings=Settings(), clock=clock) as memory:
        yield memory


@pytest.fixture
def room(memory: Memory) -> Memory:
    return memory.scope(room="kitchen")


def texts(shown: list[Message]) -> list[str]:
    return [message.content for message in shown]


@pytest.mark.requirement("record.message-model", "message.author")
def test_a_message_has_its_author_role_content_and_both_times(memory: Memory, clock: ManualClock):
    chat = messages(memory.scope(user="u1", room="kitchen"))
    sent_at = START - timedelta(hours=3)
    receipt = chat.add("user", "Hello", name="Ana", username="ana_92", at=sent_at, metadata={"lang": "en"})
    message = chat.get(receipt.id)
    assert (message.id, message.role, message.content) == (receipt.id, "user", "Hello")
    assert (message.user, message.name, message.username) == ("u1", "Ana", "ana_92")
    assert (message.at, message.stored_at) == (sent_at, START)
    assert message.metadata == {"lang": "en"}
    assert message.record.kind == "message"


@pytest.mark.requirement("record.message-model")
def test_a_caller_keeps_data_with_a_turn_under_names_the_turn_has_not(room: Memory):
    receipt = messages(room).add("user", "Hello", name="Ana", data={"item": {"type": "message", "n": [1, None]}})
    record = messages(room).get(receipt.id).record
    assert record.data == {"role": "user", "name": "Ana", "item": {"type": "message", "n": [1, None]}}
    with pytest.raises(InvalidInput, match="data cannot have 'role', which is a field of the turn itself"):
        messages(room).add("user", "Hello", data={"role": "system"})
    with pytest.raises(InvalidInput, match="data must be a mapping, not list"):
        messages(room).add("user", "Hello", data=["item"])  # pyright: ignore[reportArgumentType] - that is the test


@pytest.mark.requirement("record.message-model")
def test_an_unknown_role_is_named(room: Memory):
    with pytest.raises(InvalidInput, match="no role 'developer'; the roles are user, assistant, system, tool"):
        messages(room).add("developer", "Be brief")
    with pytest.raises(InvalidInput, match="no role 'robot'"):
        messages(room).history(roles=["robot"])
    assert messages(room).history() == []


def test_settings_may_name_other_roles_and_turn_learning_off():
    with Memory(":memory:", embedder=None, settings=Settings(roles="user, developer", learn=False)) as memory:
        assert messages(memory).add("developer", "Be brief").outcome == "added"
        assert messages(memory).add("user", "I live in Porto").jobs == ()
        with pytest.raises(InvalidInput, match="the roles are user, developer"):
            messages(memory).add("system", "Be brief")


def test_content_may_be_empty_only_beside_calls_or_images(room: Memory):
    chat = messages(room)
    for blank in ("", "  \n"):
        with pytest.raises(InvalidInput, match="content is empty"):
            chat.add("assistant", blank)
    chat.add("assistant", "", tool_calls=[CALL])
    chat.add("user", "", images=[PNG])
    assert len(chat.history()) == 2


@pytest.mark.parametrize("calls", ["call", [{}], [{"id": 7}], ["x"]])
def test_tool_calls_need_ids(room: Memory, calls: object):
    with pytest.raises(InvalidInput, match="tool_calls"):
        messages(room).add("assistant", "hm", tool_calls=calls)  # pyright: ignore[reportArgumentType] - on purpose


@pytest.mark.requirement("message.external-id")
def test_a_repeated_external_id_is_reported_and_stored_once(room: Memory):
    chat = messages(room)
    first = chat.add("user", "Hello", external_id=("chat-7", 42))
    again = chat.add("user", "Hello, sent twice", external_id=("chat-7", "42"))
    assert (first.outcome, again.outcome) == ("added", "ignored")
    assert again.id == first.id
    assert texts(chat.history()) == ["Hello"]
    assert chat.get(("chat-7", 42)).external_id == ("chat-7", "42")
    assert chat.add("user", "other chat", external_id=("chat-8", 42)).outcome == "added"
    assert chat.add("user", "other message", external_id=("chat-7", 43)).outcome == "added"


@pytest.mark.requirement("message.external-id")
def test_an_external_id_is_unique_in_the_tenant_and_only_there(memory: Memory):
    messages(memory.scope(room="a")).add("user", "Hello", external_id=("c", 1))
    with pytest.raises(AlreadyExists, match=r"external_id \('c', '1'\) is stored outside of this scope already"):
        messages(memory.scope(room="b")).add("user", "Hello", external_id=("c", 1))
    other = memory.scope(tenant="other")
    assert messages(other).add("user", "Hello", external_id=("c", 1)).outcome == "added"


@pytest.mark.parametrize("wrong", ["c", ("c",), ("c", True), ("c", 1.5), ("", "1")])
def test_external_ids_are_two_texts_or_numbers(room: Memory, wrong: object):
    with pytest.raises(InvalidInput, match="external_id"):
        messages(room).add("user", "Hello", external_id=wrong)  # pyright: ignore[reportArgumentType] - on purpose
    with pytest.raises(InvalidInput, match="not both"):
        messages(room).add("user", "Hello", id="mine", external_id=("c", 1))


SAME = """
import sys
from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.collections.messages import Messages
with Memory(sys.argv[1], embedder=None, settings=Settings(durability="fast")) as memory:
    chat = Messages(view_of(memory.scope(room="r")))
    print(*[chat.add("user", f"message {n}", external_id=("chat", n)).outcome for n in range(50)])
"""


@pytest.mark.requirement("message.external-id")
def test_two_processes_that_receive_the_same_messages_store_each_once(tmp_path: Path):
    path = str(tmp_path / "m.db")
    command = [sys.executable, "-W", "error", "-c", SAME, path]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outcomes = [process.communicate(timeout=60)[0].split() for process in running]
    assert len(outcomes[0]) == 50
    assert all(sorted(pair) == ["added", "ignored"] for pair in zip(*outcomes, strict=True))
    with Memory(path, embedder=None) as memory:
        assert len(messages(memory.scope(room="r")).history(1_000)) == 50


@pytest.mark.requirement("message.reply-to")
def test_replies_are_followed_both_ways(room: Memory, clock: ManualClock):
    chat = messages(room)
    root = chat.add("user", "Where shall we eat?", external_id=("c", 1)).id
    clock.advance()
    left = chat.add("assistant", "At home", reply_to=root).id
    clock.advance()
    right = chat.add("user", "Outside", reply_to=("c", 1)).id
    leaf = chat.add("user", "Who cooks?", reply_to=left).id
    assert [reply.id for reply in chat.replies(root)] == [left, right]
    assert [message.id for message in chat.thread(leaf)] == [root, left, leaf]
    assert [message.id for message in chat.thread(("c", 1))] == [root]
    assert chat.replies(leaf) == []


@pytest.mark.requirement("message.reply-to")
def test_a_reply_to_nothing_is_not_stored(memory: Memory, room: Memory):
    elsewhere = messages(memory.scope(room="other")).add("user", "Hello").id
    note = room.add("not a message").id
    for target in ("nobody", ("c", 1), elsewhere, note):
        with pytest.raises(NotFound, match="reply_to: there is no message"):
            messages(room).add("user", "Yes", reply_to=target)
    with pytest.raises(NotFound):
        messages(room).replies("nobody")
    with pytest.raises(NotFound):
        messages(room).add("user", "I answer myself", id="self", reply_to="self")
    assert messages(room).history() == []


def test_a_reply_may_answer_what_waits_in_the_same_batch(room: Memory):
    with room.batch() as batch:
        question = messages(batch).add("user", "Well?").id
        answer = messages(batch).add("assistant", "Well.", reply_to=question).id
    assert [message.id for message in messages(room).thread(answer)] == [question, answer]


@pytest.mark.requirement("message.reply-to")
def test_a_circle_of_replies_made_by_hand_is_cut(room: Memory):
    chat = messages(room)
    first = chat.add("user", "one").id
    two = chat.add("user", "two", reply_to=first).id
    room.update(first, data={"role": "user", "reply_to": two})
    assert [message.id for message in chat.thread(two)] == [first, two]
    assert [message.id for message in chat.thread(first)] == [two, first]
    room.update(first, data={"role": "user", "reply_to": first})
    assert [message.id for message in chat.thread(first)] == [first]


def test_a_thread_begins_where_a_message_is_gone(room: Memory):
    chat = messages(room)
    root = chat.add("user", "root").id
    leaf = chat.add("user", "leaf", reply_to=root).id
    room.delete(root)
    assert texts(chat.thread(leaf)) == ["leaf"]


@pytest.mark.requirement("cleanup.manual")
def test_clearing_can_be_awaited_and_undone(tmp_path: Path):
    with Memory(tmp_path / "m.db", embedder=None) as memory:
        chat = memory.scope(user="ana", room="kitchen")
        chat.messages.add("user", "My sister Bea works at CERN.").wait()
        note = chat.add("a note stays").id
        other = memory.scope(user="ana", room="garden").messages.add("user", "Hello").id
        learned = {fact.id for fact in chat.facts.list()}
        assert learned
        receipt = chat.messages.clear()
        assert (len(receipt.ids), set(receipt.outcomes.values())) == (1, {"deleted"})
        assert receipt.wait().status == "done"
        assert (chat.messages.history(), chat.facts.list(), chat.relationships.list()) == ([], [], [])
        assert {record.id for record in memory.list()} == {note, other}
        chat.undo(receipt).wait()
        assert texts(chat.messages.history()) == ["My sister Bea works at CERN."]
        assert {fact.id for fact in chat.facts.list()} == learned
        assert messages(memory.scope(room="empty")).clear().ids == ()


@pytest.mark.requirement("memory.pairs")
def test_a_pair_is_stored_whole_or_not_at_all(room: Memory):
    chat = messages(room)
    receipt = chat.add_pair("What is it?", "It is a cat.", name="Ana", at=START)
    assert [(message.role, message.content) for message in chat.history()] == [
        ("user", "What is it?"),
        ("assistant", "It is a cat."),
    ]
    assert [message.id for message in chat.thread(receipt.ids[1])] == list(receipt.ids)
    for user, assistant in (("", "yes"), ("yes", ""), ("yes", "\0")):
        with pytest.raises(InvalidInput):
            chat.add_pair(user, assistant)
    assert len(chat.history()) == 2


@pytest.mark.requirement("history.limit-offset-roles", "memory.insert-all-latest-by-id", "window.sliding")
def test_history_is_the_latest_in_order_paged_from_the_newest(room: Memory, clock: ManualClock):
    chat = messages(room)
    for number in range(10):
        chat.add("user" if number % 2 else "assistant", f"{number}", metadata={"even": number % 2 == 0})
        clock.advance()
    assert texts(chat.history(3)) == ["7", "8", "9"]
    assert texts(chat.history(3, offset=3)) == ["4", "5", "6"]
    assert texts(chat.history(3, offset=9)) == ["0"]
    assert texts(chat.history(limit=2, roles="user")) == ["7", "9"]
    assert texts(chat.history(limit=2, roles=["assistant"], offset=1)) == ["4", "6"]
    assert texts(chat.history(roles=["assistant", "user"])) == [str(number) for number in range(10)]
    assert texts(chat.history(metadata={"even": True}, limit=2)) == ["6", "8"]
    span = {"after": START + timedelta(seconds=2), "before": START + timedelta(seconds=4)}
    assert texts(chat.history(**span)) == ["2", "3"]  # pyright: ignore[reportArgumentType] - both are times
    assert texts(chat.latest(2)) == ["8", "9"]
    assert texts(chat.latest()) == ["9"]


@pytest.mark.requirement("history.limit-offset-roles")
@pytest.mark.parametrize("numbers", [{"limit": 0}, {"limit": -1}, {"limit": 10**9}, {"offset": -1}, {"limit": True}])
def test_bad_numbers_are_errors(room: Memory, numbers: dict[str, int]):
    with pytest.raises(InvalidInput, match=r"limit|offset"):
        messages(room).history(**numbers)  # pyright: ignore[reportArgumentType] - numbers only


def test_messages_imported_out_of_order_are_read_in_the_order_they_were_said(room: Memory):
    chat = messages(room)
    for minute in (3, 1, 2, 0):
        chat.add("user", f"minute {minute}", at=START + timedelta(minutes=minute))
    chat.add("assistant", "also minute 1, stored later", at=START + timedelta(minutes=1))
    assert texts(chat.history()) == ["minute 0", "minute 1", "also minute 1, stored later", "minute 2", "minute 3"]
    assert texts(chat.history(2)) == ["minute 2", "minute 3"]


def test_history_as_it_was_known(room: Memory, clock: ManualClock):
    chat = messages(room)
    id = chat.add("user", "I live in Porto").id
    then = clock.advance()
    clock.advance()
    room.update(id, text="I live in Lisbon")
    chat.add("user", "Since May")
    assert texts(chat.history(known_at=then)) == ["I live in Porto"]
    assert chat.get(id, known_at=then).content == "I live in Porto"
    past = messages(room.as_of(then))
    assert texts(past.history()) == ["I live in Porto"]
    with pytest.raises(ReadOnly):
        past.add("user", "too late")


@pytest.mark.requirement("history.clear")
def test_clear_ends_the_messages_of_the_scope_and_nothing_else(memory: Memory, room: Memory):
    messages(memory.scope(room="other")).add("user", "stay")
    messages(room).add_pair("go", "gone")
    note = room.add("a note").id
    assert len(messages(room).clear().ids) == 2
    assert messages(room).history() == []
    assert room.get(note).text == "a note"
    assert len(messages(memory).history()) == 1
    assert messages(room).add("user", "anew").outcome == "added"


def test_a_retry_under_a_key_is_harmless_even_when_what_it_answered_is_gone(room: Memory):
    chat = messages(room)
    root = chat.add("user", "root").id
    first = chat.add("user", "leaf", reply_to=root, key="k")
    room.delete(root)
    assert chat.add("user", "leaf", reply_to=root, key="k").id == first.id
    assert chat.add_pair("a", "b", key="pair").ids == chat.add_pair("a", "b", key="pair").ids
    assert len(chat.history()) == 3


def test_only_a_message_is_gotten(room: Memory):
    with pytest.raises(NotFound, match="no message"):
        messages(room).get(room.add("a note").id)


def test_each_side_of_a_conversation_is_learned_from_unless_it_is_told_not_to(room: Memory):
    chat = messages(room)
    assert len(chat.add("user", "I live in Porto").jobs) == 1
    assert len(chat.add_pair("Hello", "Hi").jobs) == 2
    for receipt in (
        chat.add("user", "I live in Porto", learn=False),
        chat.add("assistant", "You live in Porto", source="recall:facts"),
        chat.add("system", "Be kind"),
        chat.add("tool", "12 degrees", tool_call_id="call-1"),
    ):
        assert receipt.jobs == ()


@pytest.mark.requirement("chat.build-history")
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Anna Maria", "Anna_Maria"),
        ("O'Brien, <Jr.>", "O_Brien_Jr_"),
        ("Анна", "Анна"),
        ("हिन्दी", "हिन्दी"),
        ("x" * 80, "x" * 64),
    ],
)
def test_for_model_shapes_names_that_endpoints_would_refuse(room: Memory, name: str, shown: str):
    messages(room).add("user", "Hello", name=name)
    assert messages(room).for_model() == [{"role": "user", "content": "Hello", "name": shown}]
    assert messages(room).latest()[0].name == name
    messages(room).add("user", "Hello again", name="???")
    assert "name" not in messages(room).for_model()[-1]


@pytest.mark.requirement("chat.build-history")
def test_for_model_builds_a_models_input(room: Memory, tmp_path: Path):
    chat = messages(room)
    for number in range(15):
        chat.add_pair(f"question {number}", f"answer {number}", name="Ana")
    shaped = chat.for_model(system="Be brief.", user="And this?", image=JPEG)
    assert len(shaped) == 22
    assert shaped[0] == {"role": "system", "content": "Be brief."}
    assert shaped[1] == {"role": "user", "content": "question 5", "name": "Ana"}
    assert shaped[-2] == {"role": "assistant", "content": "answer 14"}
    url = "data:image/jpeg;base64," + base64.b64encode(JPEG).decode()
    assert shaped[-1] == {
        "role": "user",
        "content": [{"type": "text", "text": "And this?"}, {"type": "image_url", "image_url": {"url": url}}],
    }
    assert len(chat.for_model(limit=3)) == 3
    assert len(chat.history(100)) == 30


@pytest.mark.requirement("chat.build-history")
def test_images_are_typed_by_their_bytes(room: Memory, tmp_path: Path):
    path = tmp_path / "photo.jpg"  # the name lies
    path.write_bytes(PNG)
    encoded = base64.b64encode(PNG).decode()
    wanted = f"data:image/png;base64,{encoded}"
    for image in (PNG, path, str(path), f"data:image/jpeg;base64,{encoded}"):
        (shaped,) = messages(room).for_model(image=image)
        assert shaped["content"] == [{"type": "image_url", "image_url": {"url": wanted}}]
    (shaped,) = messages(room).for_model(image="https://example.org/a.png")
    assert shaped["content"][0]["image_url"]["url"] == "https://example.org/a.png"
    id = messages(room).add("user", "look", images=[PNG, "https://example.org/a.png"]).id
    assert messages(room).get(id).images == [wanted, "https://example.org/a.png"]


def test_an_image_is_read_from_a_regular_file_only(room: Memory, tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(InvalidInput, match=r"image .* is not a file"):
            messages(room).for_model(image=path)
    huge = tmp_path / "huge.png"
    with huge.open("wb") as file:
        file.truncate(10_000_000_000)
    with pytest.raises(InvalidInput, match=r"huge\.png' has 10,000,000,000 bytes, more than"):
        messages(room).for_model(image=huge)


@pytest.mark.parametrize("image", [b"", b"text", "missing.png", "data:image/png,abc", "data:image/png;base64,%%", 7])
def test_what_is_no_image_is_refused(room: Memory, image: object):
    with pytest.raises(InvalidInput, match="image"):
        messages(room).for_model(image=image)  # pyright: ignore[reportArgumentType] - on purpose


def test_for_model_gives_tools_in_the_order_that_models_accept(room: Memory):
    chat = messages(room)
    second = CALL | {"id": "call-2"}
    chat.add("tool", "nobody asked", tool_call_id="call-0")
    chat.add("assistant", "", tool_calls=[CALL, second])
    chat.add("user", "Hurry up")
    chat.add("tool", "12 degrees", tool_call_id="call-1")
    chat.add("tool", "rain", tool_call_id="call-2")
    chat.add("assistant", "Let me look", tool_calls=[CALL | {"id": "call-3"}])
    chat.add("user", "Never mind")
    chat.add("assistant", "", tool_calls=[CALL | {"id": "call-4"}])
    shaped = chat.for_model()
    assert [(message["role"], message["content"]) for message in shaped] == [
        ("assistant", None),
        ("tool", "12 degrees"),
        ("tool", "rain"),
        ("user", "Hurry up"),
        ("assistant", "Let me look"),
        ("user", "Never mind"),
        ("assistant", None),
    ]
    assert shaped[0]["tool_calls"] == [CALL, second]
    assert shaped[1]["tool_call_id"] == "call-1"
    assert "tool_calls" not in shaped[4]
    assert shaped[6]["tool_calls"][0]["id"] == "call-4"
