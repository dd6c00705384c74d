"""Claude: the shapes that its exports have had over the years, each in words of our own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import InvalidInput
from rememo.imports import ImportReport, import_from

Pack = Callable[[str, dict[str, Any]], Path]
Bring = Callable[..., ImportReport]
ROOT = "00000000-0000-4000-8000-000000000000"
AT = "2026-05-04T10:00:00.000000Z"
BESIDE = "a message beside the path that is shown: edited, or asked for again"


def claude_message(id: str, sender: str, *blocks: Any, parent: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a message; a text is a block of text. A question and its answer have the same time, as in real exports."""
    content: list[Any] = [
        {"type": "text", "text": block, "citations": []} if isinstance(block, str) else block for block in blocks
    ]
    text = "\n".join(block for block in blocks if isinstance(block, str))
    return {"uuid": id, "text": text, "content": content, "sender": sender, "created_at": AT, "updated_at": AT,
            "attachments": [], "files": []} | ({"parent_message_uuid": parent} if parent else {}) | fields  # fmt: skip


def talk(*messages: Any, id: str = "talk-1", **fields: Any) -> dict[str, Any]:
    return {"uuid": id, "name": "", "summary": "", "created_at": AT, "updated_at": AT, "account": {"uuid": "acc-1"},
            "chat_messages": list(messages), **fields}  # fmt: skip


@pytest.fixture
def bring(memory: Memory, tmp_path: Path) -> Bring:
    def brought(*entries: Any) -> ImportReport:
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps(list(entries)))
        return import_from(memory, path, "claude-export")

    return brought


def roles_and_texts(memory: Memory, room: str = "talk-1") -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.scope(room=room).messages.history()]


# ---- branches


def test_the_newest_branch_is_the_talk_where_no_leaf_is_named(memory: Memory, bring: Bring):
    done = bring(
        talk(
            claude_message("q", "human", "Tea or coffee?", parent=ROOT),
            claude_message("a", "assistant", "Tea.", parent="q"),
            claude_message("t", "human", "Why?", parent="a"),
            claude_message("b", "assistant", "Coffee.", parent="q", created_at="2026-05-04T10:09:00Z"),
            claude_message("other", "human", "An earlier start", parent=ROOT),
        )
    )
    assert roles_and_texts(memory) == [("user", "Tea or coffee?"), ("assistant", "Coffee.")]
    assert done.left_out == {BESIDE: 3}


def test_equal_times_keep_the_order_of_who_answers_whom(memory: Memory, bring: Bring):
    done = bring(
        talk(
            claude_message("a", "assistant", "One.", parent="q"),
            claude_message("q", "human", "First?", parent=ROOT),
            claude_message("r", "human", "Second?", parent="a"),
            claude_message("b", "assistant", "Two.", parent="r"),
        )
    )
    assert [words for _, words in roles_and_texts(memory)] == ["First?", "One.", "Second?", "Two."]
    assert done.left_out == {}


def test_older_exports_without_parents_and_lost_parents_keep_all(memory: Memory, bring: Bring):
    plain = [{"uuid": f"m{number}", "sender": "human", "text": f"Line {number}"} for number in range(3)]
    lost = talk(
        claude_message("m0", "human", "Still", parent=ROOT),
        claude_message("m2", "assistant", "here", parent="gone"),
        id="talk-2",
    )
    assert bring(talk(*plain), lost).left_out == {}
    assert [words for _, words in roles_and_texts(memory)] == ["Line 0", "Line 1", "Line 2"]
    assert [words for _, words in roles_and_texts(memory, "talk-2")] == ["Still", "here"]


def test_a_message_that_was_edited_since_is_taken_back_with_its_turns(memory: Memory, bring: Bring):
    look: list[Any] = [
        {"type": "tool_use", "id": "t1", "name": "find", "input": {}},
        {"type": "tool_result", "tool_use_id": "t1", "content": []},
    ]
    first = [
        claude_message("q", "human", "Plan a walk", parent=ROOT),
        claude_message("a", "assistant", "Looking.", *look, "North.", parent="q"),
    ]
    bring(talk(*first))
    assert len(roles_and_texts(memory)) == 4
    done = bring(talk(*first, claude_message("q2", "human", "Plan a swim", parent=ROOT)))
    assert (done.taken_back, roles_and_texts(memory)) == (4, [("user", "Plan a swim")])


# ---- blocks


def test_every_kind_of_block_is_kept_or_counted(memory: Memory, bring: Bring):
    done = bring(
        talk(
            claude_message("q", "human", "Find a lighthouse", {"type": "injected_prompt_block", "prompt": "It is Monday.", "injection_source": "date"}),
            claude_message(
                "a", "assistant",
                {"type": "thinking", "thinking": "hm", "summaries": [{"summary": "s"}], "cut_off": False},
                {"type": "redacted_thinking", "data": "…"},
                {"type": "token_budget", "remaining": 10},
                "I will look.",
                {"type": "tool_use", "id": None, "name": "web_search", "input": {"query": "lighthouse"}, "message": "Searching"},
                {"type": "tool_result", "tool_use_id": None, "name": "web_search", "is_error": False, "content": [
                    {"type": "knowledge", "title": "Lights", "url": "https://lights.example", "text": "Forty metres.", "metadata": {}},
                    {"type": "image_gallery", "images": [{"title": "At dusk", "url": "https://lights.example/i.jpg"}]},
                    {"type": "local_resource", "file_path": "/mnt/notes.md", "name": "notes.md", "mime_type": "text/markdown"}]},
                {"type": "tool_use", "id": "t2", "name": "artifacts", "input": {"command": "create", "title": "Plan", "content": "# Plan"}},
                {"type": "tool_result", "tool_use_id": "t2", "content": "OK"},
                {"type": "tool_use", "id": "t3", "name": "Northwind:query", "input": None},
                {"type": "tool_result", "tool_use_id": "t3", "content": [], "structured_content": {"rows": [[1]]}},
                {"type": "tool_use", "id": "t4", "name": "quiet", "input": {}},
                {"type": "tool_result", "tool_use_id": "t4", "content": None},
                {"type": "voice_note", "title": "Note", "text": "Spoken words."},
                {"type": "flag", "flag": "x"},
                None, 3,
            ),
        )
    )  # fmt: skip
    assert roles_and_texts(memory) == [
        ("user", "Find a lighthouse"),
        ("assistant", "I will look."),
        ("tool", "Lights\nhttps://lights.example\nForty metres.\nAt dusk\nnotes.md\n/mnt/notes.md"),
        ("assistant", ""),
        ("tool", "OK"),
        ("assistant", ""),
        ("tool", '{"rows": [[1]]}'),
        ("assistant", ""),
        ("tool", "Tool output is unavailable."),
        ("assistant", "Spoken words."),
    ]
    history = memory.messages.history()
    assert history[1].tool_calls[0]["id"] == history[2].tool_call_id
    assert json.loads(history[3].tool_calls[0]["function"]["arguments"])["content"] == "# Plan"
    assert done.left_out == {
        "a step of reasoning": 2,
        "a part that is no text: injected_prompt_block": 1,
        "a part that is no text: token_budget": 1,
        "a part that is no text: image_gallery": 1,
        "a part that is no text: local_resource": 1,
        "a part that is no text: flag": 1,
    }


def test_texts_without_blocks_empty_ones_and_files_without_names(memory: Memory, bring: Bring):
    done = bring(
        talk(
            claude_message("m1", "human", text="Only here", content=[]),
            claude_message("m2", "assistant", text="```\nThis block is not supported on your current device yet.\n```", content=[]),
            claude_message("m3", "human", "Look", files=[{"file_uuid": "f-1", "file_name": "a.png"}, {"file_uuid": "f-2", "file_name": ""},
                 {"file_uuid": "f-3", "file_name": "b.txt"}],
                 attachments=[{"file_name": "b.txt", "file_size": 3, "file_type": "txt", "extracted_content": "Ink"},
                              {"file_name": "", "file_type": "txt", "extracted_content": "Pasted words"},
                              {"file_name": "c.pdf", "extracted_content": ""}]),
            {"sender": "human", "text": "Without an id"},
            None,
            name=None, account=None,
        ),
        talk(id="talk-2"), talk(id="talk-3", summary="They spoke of ink."),
    )  # fmt: skip
    assert [words for _, words in roles_and_texts(memory)] == ["Only here", "Look", "Without an id"]
    assert [document.title for document in memory.documents.list()] == ["b.txt", "attachment"]
    assert done.left_out == {
        "a file that is not in the export, or is no text": 3,
        "a message without words": 2,
        "a conversation without messages": 2,
        "a summary that Claude wrote of a conversation": 1,
    }


def test_chats_as_the_compliance_api_returns_them(memory: Memory, bring: Bring):
    words = [{"type": "text", "text": "Draw a map"}]
    api_answer = {
        "id": "claude_chat_msg_1",
        "role": "user",
        "created_at": AT,
        "content": words,
        "files": [{"filename": "a.pdf"}],
    }
    done = bring({"id": "claude_chat_1", "name": "Maps", "created_at": AT, "chat_messages": [api_answer]})
    [message] = memory.scope(room="claude_chat_1").messages.history()
    assert (message.content, message.metadata) == ("Draw a map", {"title": "Maps", "files": ["a.pdf"]})
    assert done.left_out == {"a file that is not in the export, or is no text": 1}


# ---- an export in several archives


PROJECT: dict[str, Any] = {"uuid": "p-1", "name": "Boat", "description": "Mending a dinghy", "prompt_template": "Use metres.", "is_private": True,
           "creator": {"uuid": "acc-1", "full_name": "Ana"}, "docs": [
               {"uuid": "d", "filename": "hull.md", "content": "The hull is larch.", "created_at": AT}, None,
               {"filename": "empty.md", "content": ""}], "created_at": AT}  # fmt: skip
MEMORY: dict[str, Any] = {"account_uuid": "acc-1", "conversations_memory": "Ana sails.", "project_memories": {"p-1": "Varnish in May."},
          "memory_files": [{"path": "/tools.md", "content": "Owns a plane.", "updated_at": AT}, None]}  # fmt: skip
DESIGN: dict[str, Any] = {
    "uuid": "design-1", "title": "Chat", "project": {"uuid": "x", "name": "Poster"}, "created_at": AT, "updated_at": AT,
    "messages": [
        {"uuid": "d1", "role": "user", "created_at": AT, "content": {"content": "Make it blue", "authorAccountUuid": "acc-1",
         "authorName": "Ana", "attachments": [{"type": "text", "name": "pasted", "content": "Sea words"},
                                              {"type": "image", "name": "shot.png", "path": "uploads/shot.png"}]}},
        {"uuid": "d2", "role": "assistant", "content": {"timestamp": AT, "contentBlocks": [
            {"type": "thinking", "text": "hm"},
            {"type": "text", "text": "Changing it."},
            {"type": "tool_call", "toolCall": {"id": "w1", "name": "write_file", "input": {"path": "a.html"}, "output": "Wrote 9"}},
            {"type": "user_interjection", "message": {"content": "And larger"}},
            {"type": "error", "message": "Stream ended"},
            {"type": "text", "text": "Done."}]}},
        {"role": "user", "created_at": AT, "content": {"content": "Check completed", "pill": True}},
        None,
    ],
}  # fmt: skip
PARTS: dict[str, dict[str, Any]] = {
    "conversations-000.zip": {"conversations.json": [talk(claude_message("m", "human", "Hello"))]},
    "projects-000.zip": {"projects/p-1.json": PROJECT},
    "memories-000.zip": {"memories/acc-1.json": MEMORY},
    "design_chats-000.zip": {"design_chats/design-1.json": DESIGN},
    "light_metadata-000.zip": {"users.json": [{"uuid": "acc-1"}], "login_history.json": {"login_events": []}},
}
MANIFEST: dict[str, Any] = {"version": "1.0", "created_at": AT, "data_files": [
    {"category": name.rpartition("-")[0], "filename": name, "export_url": "https://claude.example/once"}
    for name in (*PARTS, "conversations-001.zip")]}  # fmt: skip


@pytest.fixture
def parts(tmp_path: Path, pack: Pack) -> Path:
    (tmp_path / "got").mkdir()
    for name, files in PARTS.items():
        pack(f"got/{name.replace('projects-000', 'projects-000 (1)')}", files)
    (tmp_path / "got" / "manifest-1.json").write_text(json.dumps(MANIFEST))
    return tmp_path / "got"


def test_a_folder_of_archives_is_an_export(memory: Memory, parts: Path):
    done = import_from(memory, parts, "claude-export")
    assert done.left_out == {
        "a file that is not in the export, or is no text": 2,
        "a step of reasoning": 1,
        "a part that is no text: error": 1,
        "a message that is hidden from the person": 1,
        "a message without words": 1,
        "an archive that the manifest names and that is not there: conversations-001.zip": 1,
        "a file beside the conversations, which is not read": 1,
    }
    assert roles_and_texts(memory, "design-1") == [
        ("user", "Make it blue"),
        ("assistant", "Changing it."),
        ("tool", "Wrote 9"),
        ("user", "And larger"),
        ("assistant", "Done."),
    ]
    assert memory.scope(room="design-1").messages.history()[0].metadata["title"] == "Poster: Chat"
    assert {
        (record.text, record.metadata.get("about") or record.metadata.get("claude"))
        for record in memory.list(kind="note")
    } == {
        ("Use metres.", "project instructions"),
        ("Mending a dinghy", "project description"),
        ("Ana sails.", "conversations"),
        ("Varnish in May.", "Boat"),
        ("Owns a plane.", "/tools.md"),
    }
    assert [document.title for document in memory.documents.list()] == ["pasted", "hull.md"]
    again = import_from(memory, parts, "claude-export")
    assert (again.total, again.left_out) == (0, done.left_out)


def test_each_archive_and_each_file_is_read_alone_too(memory: Memory, parts: Path, tmp_path: Path):
    added = {name: import_from(memory, parts / name, "claude-export").added for name in PARTS if "000" in name and (parts / name).exists() and "light" not in name}  # fmt: skip
    assert added == {
        "conversations-000.zip": {"message": 1},
        "memories-000.zip": {"note": 3},
        "design_chats-000.zip": {"message": 5, "document": 1},
    }
    (tmp_path / "p-1.json").write_text(json.dumps(PROJECT))
    assert import_from(memory, tmp_path / "p-1.json", "claude-export").added == {"note": 2, "document": 1}


def test_unpacked_folders_are_an_export_too(memory: Memory, tmp_path: Path, pack: Pack):
    files = {path: value for part in PARTS.values() for path, value in part.items()}
    for path, value in (files | {"manifest-1.json": MANIFEST}).items():
        target = tmp_path / "out" / path.replace("projects/", "projects 2/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(json.dumps(value))
    done = import_from(memory, tmp_path / "out", "claude-export")
    assert done.added == {"message": 6, "document": 2, "note": 5}
    assert not any("archive" in reason for reason in done.left_out)


def test_what_several_people_own_is_theirs_without_a_list_of_them_too(memory: Memory, tmp_path: Path):
    """Projects and memories too; only the conversations tell that there are several."""
    other = talk(claude_message("m2", "human", "Hi"), id="talk-2", account={"uuid": "acc-2"})
    (tmp_path / "out" / "projects").mkdir(parents=True)
    (tmp_path / "out" / "conversations.json").write_text(
        json.dumps([talk(claude_message("m1", "human", "Hello")), other], indent=1)
    )
    (tmp_path / "out" / "projects" / "p-1.json").write_text(json.dumps(PROJECT | {"creator": {"uuid": "acc-2"}}))
    (tmp_path / "out" / "memories.json").write_text(json.dumps([MEMORY]))
    progress: list[int] = []
    import_from(memory, tmp_path / "out", "claude-export", progress=lambda done, of: progress.append(done * 100 // of))
    assert memory.users() == ["acc-1", "acc-2"]
    assert {record.text for record in memory.scope(user="acc-2").list(kind="note")} == {
        "Use metres.",
        "Mending a dinghy",
    }
    assert progress == sorted(progress)
    assert progress[0] == 0


WRONG: list[tuple[Any, str]] = [
    ([{"id": "c", "mapping": {}}], "is an export of ChatGPT"),
    (MANIFEST, "only names the archives of an export"),
]


@pytest.mark.parametrize(("value", "words"), WRONG)
def test_what_is_something_else_is_told_apart(memory: Memory, tmp_path: Path, value: Any, words: str):
    (tmp_path / "a.json").write_text(json.dumps(value))
    with pytest.raises(InvalidInput, match=rf"a\.json {words}"):
        import_from(memory, tmp_path / "a.json", "claude-export")
