"""ChatGPT, Claude and Letta: their exports, in the forms that they have."""

import json
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import InvalidInput
from rememo.imports import import_from

Pack = Callable[[str, dict[str, Any]], Path]
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")


# ---- ChatGPT: a tree of messages, of which the path to current_node is shown


def node(id: str, parent: str | None, role: str | None = None, parts: Any = None, **message: Any) -> dict[str, Any]:
    """Return an entry of `mapping`; content that is no list is a content of its own kind."""
    content: dict[str, Any] = {"content_type": "text", "parts": parts} if isinstance(parts, list) else parts
    nothing: dict[str, Any] = {}
    message_values: dict[str, Any] | None = None if role is None else {"id": id, "author": {"role": role, "name": None, "metadata": nothing},
        "create_time": message.pop("at", None), "update_time": None, "content": content, "status": "finished_successfully",
        "end_turn": True, "weight": 1.0, "metadata": message.pop("metadata", nothing), "recipient": "all", "channel": None,
    } | message  # fmt: skip
    return {"id": id, "message": message_values, "parent": parent, "children": []}


def conversation(*nodes: dict[str, Any], id: str = "conv-1", **fields: Any) -> dict[str, Any]:
    mapping = {node["id"]: node for node in nodes}
    for node in nodes:
        if node["parent"] is not None:
            mapping[node["parent"]]["children"].append(node["id"])
    return {"title": "Trip to Lisbon", "create_time": 1714557600.0, "update_time": 1714557700.5, "mapping": mapping,
        "moderation_results": [], "current_node": nodes[-1]["id"], "plugin_ids": None, "conversation_id": id, "id": id,
        "gizmo_id": None, "is_archived": False, "default_model_slug": "gpt-4o", **fields,
    }  # fmt: skip


LISBON = conversation(
    node("root", None),
    node("sys", "root", "system", [""], metadata={"is_visually_hidden_from_conversation": True}),
    node(
        "about", "sys", "user",
        {"content_type": "user_editable_context", "user_profile": "I am a vegan.", "user_instructions": "Be brief."},
        metadata={"is_visually_hidden_from_conversation": True},
    ),
    node("bio", "about", "system", {"content_type": "model_editable_context", "model_set_context": "1. Has a cat, Miso."}),
    node("q-old", "bio", "user", ["Where in Spain is Lisbon?"], at=1714557601.0),
    node("a-old", "q-old", "assistant", ["It is in Portugal."], at=1714557602.0),
    node("q", "bio", "user", ["I moved to Lisbon in May."], at=1714557603.5),
    node("think", "q", "assistant", {"content_type": "thoughts", "thoughts": [{"content": "hm"}]}),
    node("call", "think", "assistant", {"content_type": "code", "language": "unknown", "text": 'search("weather")'},
         recipient="browser", at=1714557604.0),
    node("result", "call", "tool", {"content_type": "tether_browsing_display", "result": "sunny, 25 degrees"}, at=1714557603.9),
    node("a", "result", "assistant", ["It is sunny."], at=1714557605.0, metadata={"model_slug": "gpt-4o"}),
    node(
        "picture", "a", "user",
        {"content_type": "multimodal_text", "parts": [
            {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-AbC123", "size_bytes": 70},
            {"content_type": "image_asset_pointer", "asset_pointer": "sediment://file_gone", "size_bytes": 70},
            {"content_type": "audio_transcription", "text": "What is on this picture?"},
            {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_sound"},
        ]},
    ),
)  # fmt: skip


@pytest.fixture
def chatgpt(pack: Pack) -> Path:
    return pack(
        "chatgpt.zip",
        {
            "conversations.json": [LISBON, {"title": "broken"}],
            "user.json": {"id": "user-1", "email": "ana@example.org"},
            "chat.html": b"<html>",
            "file-AbC123-cat.png": PIXEL,
        },
    )


def test_the_path_that_chatgpt_shows_is_a_conversation(memory: Memory, chatgpt: Path):
    done = import_from(memory, chatgpt, "chatgpt-export")
    assert (done.added, done.left_out) == (
        {"note": 3, "message": 5},
        {
            "a message beside the path that is shown: edited, or asked for again": 2,
            "a step of reasoning": 1,
            "a part that is no text: audio_asset_pointer": 1,
            "an image that is not in the export, or too large": 1,
            "an entry that is no conversation": 1,
            "a file beside the conversations, which is not read": 2,
        },
    )
    room = memory.scope(user="me", room="conv-1")
    messages = room.messages.history()
    assert [(message.role, message.content) for message in messages] == [
        ("user", "I moved to Lisbon in May."),
        ("assistant", ""),
        ("tool", "sunny, 25 degrees"),
        ("assistant", "It is sunny."),
        ("user", "What is on this picture?"),
    ]
    assert messages[1].tool_calls[0]["function"] == {"name": "browser", "arguments": 'search("weather")'}
    assert (messages[1].tool_calls[0]["id"], messages[2].tool_call_id) == ("call", "call")
    assert messages[3].metadata == {"title": "Trip to Lisbon", "model": "gpt-4o"}
    assert [image.startswith("data:image/png") for image in messages[4].images] == [True]
    # A tool's clock that went back, and a turn without a time, keep their places.
    assert [message.at.timestamp() for message in messages] == [
        1714557603.5,
        1714557604.0,
        1714557604.0,
        1714557605.0,
        1714557605.0,
    ]
    assert {record.text for record in memory.list(kind="note")} == {"I am a vegan.", "Be brief.", "1. Has a cat, Miso."}


def test_several_files_a_folder_and_a_single_file_are_read_alike(memory: Memory, tmp_path: Path, pack: Pack):
    other = conversation(node("root", None), node("b", "root", "user", ["Second"]), id="conv-2")
    split = pack("split.zip", {"x/conversations-000.json": [LISBON], "x/conversations-001.json": [other]})
    assert import_from(memory, split, "chatgpt-export").added["message"] == 6
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "conversations.json").write_bytes(b"\xef\xbb\xbf " + json.dumps([LISBON, other]).encode())
    for path in (tmp_path / "out", tmp_path / "out" / "conversations.json"):
        again = import_from(memory, path, "chatgpt-export")
        assert (again.total, again.known["message"]) == (0, 6)


def test_a_conversation_without_a_current_node_ends_at_its_newest_leaf(memory: Memory, tmp_path: Path):
    tree = conversation(
        node("root", None),
        node("q", "root", "user", ["Which?"], at=1.0),
        node("new", "q", "assistant", ["The new one"], at=3.0),
        node("old", "q", "assistant", ["The old one"], at=2.0),
    )
    del tree["current_node"]
    (tmp_path / "one.json").write_text(json.dumps([tree]))
    import_from(memory, tmp_path / "one.json", "chatgpt-export")
    assert [message.content for message in memory.messages.history()] == ["Which?", "The new one"]


def test_a_circle_ends(memory: Memory, tmp_path: Path):
    tree = conversation(node("a", None, "user", ["One"]), node("b", "a", "user", ["Two"]))
    tree["mapping"]["a"]["parent"] = "b"
    (tmp_path / "one.json").write_text(json.dumps([tree]))
    assert import_from(memory, tmp_path / "one.json", "chatgpt-export").total == 2


# ---- Claude: a list of messages made of blocks


def message(id: str, sender: str, *blocks: dict[str, Any], **fields: Any) -> dict[str, Any]:
    text = "\n\n".join(block["text"] for block in blocks if block["type"] == "text")
    return {"uuid": id, "text": text, "content": list(blocks), "sender": sender,
        "created_at": "2026-02-14T10:04:22.123456Z", "updated_at": "2026-02-14T10:04:22.123456Z", "attachments": [],
        "files": [], **fields,
    }  # fmt: skip


def words(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "start_timestamp": "2026-02-14T10:04:22Z", "citations": []}


CLAUDE = {
    "uuid": "c-1", "name": "Postgres or Mongo", "summary": "", "created_at": "2026-02-14T10:04:20Z",
    "updated_at": "2026-02-14T10:22:41Z", "account": {"uuid": "acc-1"},
    "chat_messages": [
        message("m1", "human", words("Which database for metrics?"),
                attachments=[{"file_name": "load.csv", "file_size": 9, "file_type": "txt", "extracted_content": "a,b\n1,2"}],
                files=[{"file_name": "load.csv"}, {"file_name": "chart.png"}]),
        message("m2", "assistant", {"type": "thinking", "thinking": "hm"}, words("Let me look."),
                {"type": "tool_use", "id": "toolu_1", "name": "web_search", "input": {"query": "metrics"}},
                {"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "Timescale"}]},
                words("Postgres.")),
        {"uuid": "m3", "sender": "human", "text": "Thanks!", "created_at": "2026-02-14T10:03:00Z"},
        message("m4", "assistant"),
        message("m5", "robot", words("beep")),
    ],
}  # fmt: skip
ARCHIVE: dict[str, Any] = {
    "conversations.json": [CLAUDE, 7],
    "users.json": [{"uuid": "acc-1", "full_name": "Ana", "email_address": "ana@example.org"}],
    "projects.json": [
        {"uuid": "p-1", "name": "Metrics", "prompt_template": "Answer with numbers.",
         "docs": [{"uuid": "d", "filename": "notes.md", "content": "# Load\nTen thousand a second."}]},
    ],
    "memories.json": [{"conversations_memory": "Ana runs a metrics service.", "project_memories": {"p-1": "Ten nodes."}}],
}  # fmt: skip


def test_conversations_of_claude_with_tools_files_projects_and_memories(memory: Memory, pack: Pack):
    done = import_from(memory, pack("claude.zip", ARCHIVE), "claude-export")
    assert (done.added, done.left_out) == (
        {"message": 5, "document": 2, "note": 3},
        {
            "a file that is not in the export, or is no text": 1,
            "a step of reasoning": 1,
            "a message without words": 1,
            "a message of an unknown sender": 1,
            "an entry that is no conversation": 1,
        },
    )
    room = memory.scope(user="me", room="c-1")
    messages = room.messages.history()
    assert [(message.role, message.content) for message in messages] == [
        ("user", "Which database for metrics?"),
        ("assistant", "Let me look."),
        ("tool", "Timescale"),
        ("assistant", "Postgres."),
        ("user", "Thanks!"),
    ]
    assert messages[0].metadata == {"title": "Postgres or Mongo", "files": ["load.csv", "chart.png"]}
    assert messages[1].tool_calls[0]["function"] == {"name": "web_search", "arguments": '{"query": "metrics"}'}
    assert [document.title for document in room.documents.list()] == ["load.csv"]
    assert memory.documents.search("how many a second?")[0].document.title == "notes.md"


def test_the_branch_that_claude_shows_is_taken(memory: Memory, tmp_path: Path):
    tree = CLAUDE | {
        "current_leaf_message_uuid": "b",
        "chat_messages": [
            message("q", "human", words("Tea?"), parent_message_uuid="00000000-0000-4000-8000-000000000000"),
            message("a", "assistant", words("No."), parent_message_uuid="q"),
            message("b", "assistant", words("Yes."), parent_message_uuid="q"),
        ],
    }
    (tmp_path / "conversations.json").write_text(json.dumps([tree]))
    done = import_from(memory, tmp_path / "conversations.json", "claude-export")
    assert sum(done.left_out.values()) == 1
    assert [message.content for message in memory.messages.history()] == ["Tea?", "Yes."]


def test_an_organisations_export_belongs_to_its_people(memory: Memory, pack: Pack):
    other = CLAUDE | {"uuid": "c-2", "account": {"uuid": "acc-2"}}
    people = [{"uuid": "acc-1"}, {"uuid": "acc-2"}]
    import_from(memory, pack("all.zip", {"conversations.json": [CLAUDE, other], "users.json": people}), "claude-export")
    assert memory.users() == ["acc-1", "acc-2"]
    assert memory.scope(user="acc-2").rooms() == ["c-2"]


# ---- Letta: agent files


def letta_message(role: str, text: str, at: str, **fields: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}], "created_at": at, "tool_calls": None, "name": None,
        "tool_call_id": None, "tool_returns": [], "model": "gpt-4o-mini", "agent_id": "agent-0", **fields,
    }  # fmt: skip


def calls(id: str, name: str, **arguments: Any) -> list[dict[str, Any]]:
    return [{"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}]


TURNS = [
    letta_message("system", "<base_instructions>…", "2026-03-01T10:00:00+00:00"),
    letta_message("user", json.dumps({"type": "login", "last_login": "Never", "time": "2026-03-01"}), "2026-03-01T10:00:01+00:00"),
    letta_message("user", json.dumps({"type": "user_message", "message": "I am Chad.", "time": "2026-03-01"}), "2026-03-01T10:00:02+00:00"),
    letta_message("assistant", "User is new.", "2026-03-01T10:00:03+00:00", tool_calls=calls("c1", "send_message", message="Hi Chad!")),
    letta_message("tool", json.dumps({"status": "OK", "message": "None"}), "2026-03-01T10:00:03+00:00", tool_call_id="c1"),
    letta_message("assistant", "", "2026-03-01T10:00:04+00:00", tool_calls=calls("c2", "conversation_search", query="sailing")),
    letta_message("tool", json.dumps({"status": "OK", "message": "No results."}), "2026-03-01T10:00:05+00:00", tool_call_id="c2"),
    letta_message("user", "What do I like?", "2026-03-01T10:00:06+00:00"),
    letta_message("assistant", "Sailing.", "2026-03-01T10:00:07+00:00"),
]  # fmt: skip
BLOCKS = [
    {"id": "block-0", "label": "human", "value": "First name: Chad. Likes sailing.", "limit": 20000, "description": "The human"},
    {"id": "block-1", "label": "persona", "value": "I am Sam.", "limit": 20000, "description": None},
]  # fmt: skip
AGENT_FILE: dict[str, Any] = {
    "agents": [{"id": "agent-0", "name": "sam", "block_ids": ["block-0", "block-1"], "messages": TURNS, "system": "…",
                "in_context_message_ids": ["message-0"], "tool_exec_environment_variables": {"KEY": "secret"}}],
    "groups": [], "blocks": BLOCKS, "sources": [], "mcp_servers": [], "metadata": {"revision_id": "1"},
    "files": [{"id": "file-0", "file_name": "boats.md", "content": "The Laser is a dinghy."},
              {"id": "file-1", "file_name": "empty.md", "content": None}],
    "tools": [{"id": "tool-0", "name": "send_message", "source_code": None}],
}  # fmt: skip


def test_an_agent_file_of_letta(memory: Memory, tmp_path: Path):
    path = tmp_path / "sam.af"
    path.write_text(json.dumps(AGENT_FILE))
    done = import_from(memory, path, "letta")
    assert (done.added, done.left_out) == (
        {"note": 2, "message": 6, "document": 1},
        {
            "a system prompt; it holds the blocks, which are brought in themselves": 1,
            "an event that Letta wrote as a message of the user: login": 1,
            "a step of reasoning": 1,
            "the receipt of a message that was sent": 1,
            "a file without its text": 1,
            "a tool of the agent": 1,
        },
    )
    sam = memory.scope(agent="sam", room="sam")
    assert [(message.role, message.content) for message in sam.messages.history()] == [
        ("user", "I am Chad."),
        ("assistant", "Hi Chad!"),
        ("assistant", ""),
        ("tool", "No results."),
        ("user", "What do I like?"),
        ("assistant", "Sailing."),
    ]
    blocks = memory.scope(agent="sam").list(kind="note")
    assert {(block.metadata["block"], block.pinned) for block in blocks} == {("human", True), ("persona", True)}
    assert not memory.search("secret", mode="words")


def test_the_first_form_of_an_agent_file_is_the_same_agent(memory: Memory, tmp_path: Path):
    (tmp_path / "new.af").write_text(json.dumps(json.dumps(AGENT_FILE, indent=2)))  # as the API returned it
    first = {
        "name": "sam",
        "core_memory": BLOCKS,
        "messages": TURNS[:7],
        "tools": [],
        "version": "0.6.47",
        "system": "…",
    }
    (tmp_path / "old.af").write_text(json.dumps(first))
    assert import_from(memory, tmp_path / "old.af", "letta").added == {"note": 2, "message": 4}
    assert import_from(memory, tmp_path / "new.af", "letta").added == {"message": 2, "document": 1}


def packed(kind: str, message: str) -> str:
    """Return a text as Letta 0.16 packs returns and alerts."""
    return json.dumps({kind: "OK" if kind == "status" else "system_alert", "message": message, "time": "2026-03-01"})


ASKED = [*calls("c3", "run", command="ls"), *calls("c4", "run", command="pwd")]
RETURNS = [
    {"tool_call_id": "c3", "status": "success", "stdout": None, "stderr": None, "func_response": packed("status", "a b")},
    {"tool_call_id": "c4", "status": "error", "stdout": None, "stderr": ["x"],
     "func_response": [{"type": "text", "text": "no such place"}]},
]  # fmt: skip
GIF = "R0lGODlhAQABAAAAACwAAAAAAQABAAA="
PRESENT = [
    letta_message("summary", packed("type", "Note: … The following is a summary of the previous messages:\n Chad sails."), "2026-03-01T09:00:00Z"),
    letta_message("user", "List both.", "2026-03-01T10:00:00Z", content=[
        {"type": "text", "text": "List both."},
        {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": GIF, "detail": None}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
        {"type": "image", "source": {"type": "letta", "file_id": "file-9", "media_type": None, "data": None}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 700_001}},
    ]),
    letta_message("approval", "I look.", "2026-03-01T10:00:01Z", tool_calls=ASKED, tool_call_id="c3"),
    letta_message("approval", "", "2026-03-01T10:00:02Z", content=[], approve=True, approvals=[
        {"type": "approval", "tool_call_id": "c3", "approve": True, "reason": None}]),
    letta_message("tool", packed("status", "a b"), "2026-03-01T10:00:03Z", tool_call_id="c3", tool_returns=RETURNS),
    letta_message("assistant", "", "2026-03-01T10:00:04Z", content=[{"type": "summarized_reasoning", "id": "r", "summary": []},
        {"type": "text", "text": "Here they are."}], tool_calls=calls("c5", "memory", command="view")),
    letta_message("tool", packed("status", "done"), "2026-03-01T10:00:05Z", tool_call_id="c5",
         tool_returns=[{"tool_call_id": "c5", "status": "success", "func_response": None}]),
]  # fmt: skip
"""Turns of an agent as Letta makes them now: it speaks in its text, asks before it calls, and calls several tools at once."""


def test_the_agents_that_letta_makes_now(memory: Memory, tmp_path: Path):
    agent = AGENT_FILE["agents"][0] | {"agent_type": "letta_v1_agent", "messages": PRESENT, "block_ids": []}
    (tmp_path / "now.af").write_text(json.dumps(AGENT_FILE | {"agents": [agent], "files": [], "tools": []}))
    done = import_from(memory, tmp_path / "now.af", "letta")
    assert (done.added, done.problems, done.left_out) == (
        {"note": 1, "message": 6},
        (),
        {
            "an image that is kept elsewhere, or too large": 2,
            "an answer to the question whether a tool may be called": 1,
            "a step of reasoning": 1,
        },
    )
    sam = memory.scope(agent="sam", room="sam")
    messages = sam.messages.history()
    assert [(message.role, message.content, message.tool_call_id) for message in messages] == [
        ("user", "List both.", None),
        ("assistant", "I look.", None),
        ("tool", "a b", "c3"),
        ("tool", "no such place", "c4"),
        ("assistant", "Here they are.", None),
        ("tool", "done", "c5"),
    ]
    assert messages[0].images == [f"data:image/gif;base64,{GIF}", "https://example.org/a.png"]
    assert [call["id"] for call in messages[1].tool_calls] == ["c3", "c4"]
    [summary] = sam.list(kind="note")
    assert (summary.text.splitlines()[-1].strip(), summary.metadata) == ("Chad sails.", {"summary": True})


@pytest.mark.parametrize("text", ["[]", "{}", '{"agents": 3}', "nothing", "", '"nothing"'])
def test_what_is_no_agent_file_is_refused(memory: Memory, tmp_path: Path, text: str):
    (tmp_path / "a.af").write_text(text)
    with pytest.raises(InvalidInput, match=r"a\.af"):
        import_from(memory, tmp_path / "a.af", "letta")
