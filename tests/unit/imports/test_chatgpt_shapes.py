"""ChatGPT: the shapes that its exports have had over the years, each in words of our own."""

import json
from base64 import b64decode
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.errors import InvalidInput
from rememo.imports import ImportReport, import_from

Pack = Callable[[str, dict[str, Any]], Path]
PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
BESIDE = "a message beside the path that is shown: edited, or asked for again"


def talk(*turns: dict[str, Any] | None, id: str = "talk-1", **fields: Any) -> dict[str, Any]:
    """Return a conversation as exports of 2026 have it: nodes tell their parents only. A turn may name another parent."""
    nodes: dict[str, Any] = {"client-created-root": {"id": "client-created-root", "message": None, "parent": None}}
    last = "client-created-root"
    for number, turn in enumerate(turns):
        own = dict(turn or {})
        node = own.pop("id", f"n{number}")
        nodes[node] = {"id": node, "parent": own.pop("parent", last), "message": own or None}
        last = node
    return {"id": id, "conversation_id": id, "title": "A talk", "create_time": 1767583930.285031, "mapping": nodes,
            "current_node": last, "memory_scope": "global_enabled", **fields}  # fmt: skip


def says(role: str, content: Any, *, id: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return a message: words, or a content as it is."""
    message_content = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    return {"author": {"role": role, "name": fields.pop("name", None)}, "content": message_content, "recipient": "all"} | (
        {"id": id} if id else {}
    ) | fields  # fmt: skip


@pytest.fixture
def bring(memory: Memory, tmp_path: Path) -> Callable[..., ImportReport]:
    def brought(*talks: Any) -> ImportReport:
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps(list(talks)))
        return import_from(memory, path, "chatgpt-export")

    return brought


def roles_and_texts(memory: Memory, room: str = "talk-1") -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in memory.scope(room=room).messages.history()]


# ---- branches


def test_nodes_without_children_and_messages_without_metadata_are_a_path(
    memory: Memory, bring: Callable[..., ImportReport]
):
    tree = talk(
        says("user", "Which bread?", id="q"),
        says("assistant", "White.", id="old"),
        says("assistant", "Rye.", id="new") | {"parent": "q"},
        default_model_slug="gpt-5",
    )
    done = bring(tree)
    assert roles_and_texts(memory) == [("user", "Which bread?"), ("assistant", "Rye.")]
    assert done.left_out == {BESIDE: 1}
    assert [message.metadata.get("model") for message in memory.messages.history()] == [None, "gpt-5"]
    # Without a current node the newest leaf is meant, which only the parents tell.
    del tree["current_node"]
    tree["mapping"]["old"]["message"]["create_time"] = 5.0
    tree["mapping"]["new"]["message"]["create_time"] = 4.0
    bring(tree | {"id": "talk-2", "conversation_id": "talk-2"})
    assert roles_and_texts(memory, "talk-2") == [("user", "Which bread?"), ("assistant", "White.")]


def test_an_answer_that_was_asked_for_again_takes_the_place_of_the_first(
    memory: Memory, bring: Callable[..., ImportReport]
):
    first = talk(
        says("user", "A name for a boat?", id="q"), says("assistant", "Gull.", id="a"), says("user", "Thanks", id="t")
    )
    bring(first)
    again = talk(
        says("user", "A name for a boat?", id="q"),
        says("assistant", "Gull.", id="a"),
        says("user", "Thanks", id="t"),
        says("assistant", "Petrel.", id="b") | {"parent": "q"},
    )
    done = bring(again)
    assert (done.added, done.known, done.taken_back) == ({"message": 1}, {"message": 1}, 2)
    assert roles_and_texts(memory) == [("user", "A name for a boat?"), ("assistant", "Petrel.")]
    assert (bring(again).total, bring(again).taken_back) == (0, 0)
    # The person goes back to the first answer.
    back = bring(again | {"current_node": "t"})
    assert (back.added, back.taken_back) == ({"message": 2}, 1)
    assert roles_and_texts(memory) == [("user", "A name for a boat?"), ("assistant", "Gull."), ("user", "Thanks")]
    # What the person deletes here stays deleted.
    memory.delete(memory.messages.history()[-1].id)
    assert bring(again | {"current_node": "t"}).total == 0
    assert roles_and_texts(memory) == [("user", "A name for a boat?"), ("assistant", "Gull.")]


def test_whatever_grows_and_whichever_branch_is_shown_only_that_is_told(tmp_path_factory: pytest.TempPathFactory):
    """A tree grows between exports, and the person goes to another of its leaves."""
    folder = tmp_path_factory.mktemp("trees")
    step = st.tuples(st.lists(st.integers(0, 99), max_size=3), st.integers(0, 99))

    with Memory(folder / "m.db", embedder=None, settings=Settings(worker=False)) as memory:
        rooms = count()

        @settings(max_examples=40, deadline=None)
        @given(steps=st.lists(step, min_size=1, max_size=5))
        def check(steps: list[tuple[list[int], int]]) -> None:
            room, nodes = f"room-{next(rooms)}", [says("user", "n0", id="n0")]
            parents: dict[str, str | None] = {"n0": None}
            for grown, at in steps:
                for chosen in grown:
                    parent, id = f"n{chosen % len(nodes)}", f"n{len(nodes)}"
                    parents[id] = parent
                    nodes.append(says("user", id, id=id) | {"parent": parent})
                current: str | None = f"n{at % len(nodes)}"
                path = folder / "conversations.json"
                path.write_text(json.dumps([talk(*nodes, id=room, current_node=current)]))
                import_from(memory, path, "chatgpt-export")
                again = import_from(memory, path, "chatgpt-export")
                assert (again.total, again.taken_back) == (0, 0)
                visible: list[str] = []
                while current is not None:
                    visible.insert(0, current)
                    current = parents[current]
                assert [words for _, words in roles_and_texts(memory, room)] == visible

        check()


# ---- kinds of content


KINDS: list[tuple[str, dict[str, Any], str]] = [
    ("code", {"content_type": "code", "language": "python", "response_format_name": None, "text": "print(2)"}, "print(2)"),
    ("execution_output", {"content_type": "execution_output", "text": "2"}, "2"),
    ("tether_quote", {"content_type": "tether_quote", "url": "https://tea.example/oolong", "domain": "tea.example",
     "title": "Oolong", "text": "Half oxidised.", "tether_id": None}, "Oolong\nhttps://tea.example/oolong\nHalf oxidised."),
    ("a quote of a file", {"content_type": "tether_quote", "url": "file-id://file-Xy1", "domain": "list.txt", "title": "list.txt",
     "text": "Eggs, rice."}, "list.txt\nEggs, rice."),
    ("tether_browsing_display", {"content_type": "tether_browsing_display", "result": "", "summary": "Two shops nearby",
     "assets": None, "tether_id": None}, "Two shops nearby"),
    ("sonic_webpage", {"content_type": "sonic_webpage", "url": "https://tea.example", "domain": "tea.example",
     "title": "Teas", "text": "All kinds.", "snippet": "All", "pub_timestamp": 1.0, "ref_id": None},
     "Teas\nhttps://tea.example\nAll kinds."),
    ("system_error", {"content_type": "system_error", "name": "tool_error", "text": "It took too long."},
     "tool_error\nIt took too long."),
    ("citable_code_output", {"content_type": "citable_code_output", "output_str": "L0: done", "metadata": {}}, "L0: done"),
    ("several parts", {"content_type": "multimodal_text", "parts": ["One", "", {"content_type": "audio_transcription",
     "text": "and two", "direction": "in", "decoding_id": None}]}, "One\nand two"),
    ("a NUL", {"content_type": "execution_output", "text": "a\x00b"}, "ab"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "words"), [(case[1], case[2]) for case in KINDS], ids=[case[0] for case in KINDS])
def test_the_words_of_every_kind_of_content_are_kept(
    memory: Memory, bring: Callable[..., ImportReport], content: dict[str, Any], words: str
):
    done = bring(talk(says("user", "Go on"), says("tool", content, name="web.run")))
    assert roles_and_texts(memory)[1:] == [("tool", words)]
    assert (done.left_out, done.problems) == ({}, ())


def test_what_has_no_words_is_counted_by_what_it_is(memory: Memory, bring: Callable[..., ImportReport]):
    done = bring(
        talk(
            says("user", "Look at this"),
            says("assistant", {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}],
                               "source_analysis_msg_id": "x"}),
            says("assistant", {"content_type": "reasoning_recap", "content": "Thought for 4s"}),
            says("tool", {"content_type": "tether_browsing_display", "result": "", "summary": "", "assets": None}),
            says("tool", {"content_type": "super_widget", "widget": {"kind": "map"}}),
            says("user", {"content_type": "multimodal_text", "parts": [
                {"content_type": "real_time_user_audio_video_asset_pointer", "frames_asset_pointers": [],
                 "audio_asset_pointer": {"content_type": "audio_asset_pointer", "asset_pointer": "sediment://file_1"}}]}),
            says("system", "You are a helper.", metadata={"is_visually_hidden_from_conversation": True}),
            says("tool", "A page of a file", name="file_search", metadata={"is_visually_hidden_from_conversation": True}),
            says("user", "See?", weight=0.0),
            None,
        )
    )  # fmt: skip
    assert roles_and_texts(memory) == [("user", "Look at this"), ("user", "See?")]
    assert done.left_out == {
        "a step of reasoning": 2,
        "a message without words": 1,
        "a part that is no text: super_widget": 1,
        "a part that is no text: real_time_user_audio_video_asset_pointer": 1,
        "a message that is hidden from the person": 2,
    }


def test_marks_for_links_and_cards_become_what_they_stand_for(memory: Memory, bring: Callable[..., ImportReport]):
    cite, unknown = "\ue200cite\ue202turn0search1\ue201", "\ue200cite\ue202turn9search9\ue202turn9search8\ue201"
    text = (
        f'\ue200entity\ue202["city","Porto","a city in Portugal"]\ue201 is near{cite}. Two words{unknown}'
        " \ue200url\ue202the fares\ue202https://rail.example/fares\ue201\ue200image_group\ue202{}\ue201 \ue206"
        " \u30104\u2020source\u3011\ue200filecite\ue202turn1file0\ue201"
    )
    references: list[Any] = [
        {"matched_text": cite, "type": "grouped_webpages", "alt": " ([Rail](https://rail.example))", "items": []},
        {"matched_text": " ", "type": "sources_footnote", "alt": "x"},
        {"matched_text": "\u30104\u2020source\u3011", "type": "webpage", "alt": "(source)"},
        {"matched_text": "\ue200filecite\ue202turn1file0\ue201", "type": "file", "name": "fares.pdf"},
        None,
    ]
    bring(talk(says("assistant", text, metadata={"content_references": references})))
    assert roles_and_texts(memory) == [
        ("assistant", "Porto is near ([Rail](https://rail.example)). Two words [the fares](https://rail.example/fares)  (source)[fares.pdf]")
    ]  # fmt: skip


def test_calls_of_tools_canvas_and_memory(memory: Memory, bring: Callable[..., ImportReport]):
    page = json.dumps({"name": "plan", "type": "document", "content": "# Plan\nPaint the door."})
    done = bring(
        talk(
            says(
                "assistant",
                {"content_type": "code", "language": "json", "text": page},
                recipient="canmore.create_textdoc",
            ),
            says("tool", "Successfully created text document", name="canmore.create_textdoc", recipient="all"),
            says("assistant", "Keeps two hens.", recipient="bio", id="b"),
            says("tool", "Model set context updated.", name="bio", recipient="assistant"),
            says("assistant", "Noted.", channel="final", status="in_progress"),
        )
    )
    made, _, kept, updated, last = memory.messages.history()
    assert made.tool_calls[0]["function"] == {"name": "canmore.create_textdoc", "arguments": page}
    assert (kept.tool_calls[0]["function"]["name"], updated.tool_call_id, last.content) == ("bio", "b", "Noted.")
    [note] = memory.list(kind="note")
    assert (note.text, note.metadata, done.added) == (
        "Keeps two hens.",
        {"chatgpt": "memory"},
        {"message": 5, "note": 1},
    )


def test_what_a_person_told_about_themselves_stands_in_content_or_beside_it(
    memory: Memory, bring: Callable[..., ImportReport]
):
    beside = {"about_user_message": "I bake.", "about_model_message": "Use grams."}
    old = says("system", "", metadata={"is_user_system_message": True, "user_context_message_data": beside})
    new = says(
        "user",
        {
            "content_type": "user_editable_context",
            "user_profile": "The user wrote: ```I bake.```",
            "user_instructions": "Use grams.",
        },
        metadata={"is_visually_hidden_from_conversation": True, "user_context_message_data": beside},
    )
    done = bring(talk(old, says("user", "Hello")), talk(new, says("user", "Hello"), id="talk-2"))
    assert {record.text for record in memory.list(kind="note")} == {"I bake.", "Use grams."}
    assert done.left_out == {}


# ---- files


def test_images_and_attachments_are_found_under_every_name_they_have(memory: Memory, pack: Pack):
    def image(pointer: str) -> dict[str, Any]:
        return {"content_type": "image_asset_pointer", "asset_pointer": pointer, "size_bytes": 70, "metadata": None}

    notes = {"id": "file_0000bb", "name": "notes.md", "mime_type": "text/markdown", "size": 9}
    path = pack(
        "chatgpt.zip",
        {
            "conversations-000.json": [
                talk(
                    says("user", {"content_type": "multimodal_text", "parts": [
                        image("sediment://file_0000aa"), image("file-service://file-Old1"), image("file-service://file-Ol"),
                        image("sediment://8f2c#file_0000cc#p_3.jpg"), "What are these?"]},
                        metadata={"attachments": [{"id": "file-Old1", "name": "cat.png", "mime_type": "image/png"}, notes,
                                                  {"id": "file-Lost", "name": "song.mp3", "mime_type": "audio/mpeg"}]}),
                    says("tool", {"content_type": "execution_output", "text": ""}, name="python", metadata={
                        "aggregate_result": {"messages": [{"message_type": "image", "image_url": "file-service://file-Plot"}]}}),
                    says("tool", {"content_type": "computer_output", "computer_id": "1", "screenshot": image("sediment://file_0000aa"),
                                  "state": {"title": "A shop", "url": "https://shop.example", "id": "2"}}, name="computer.do"),
                )
            ],
            "conversation_asset_file_names.json": {"file_0000aa.dat": "dog.png"},
            "file_0000aa.dat": PIXEL,
            "file_0000bb.dat": b"# Notes\nThe key is under the pot.",
            "file_0000cc-sanitized.png": PIXEL,
            "file-Old1-cat.png": PIXEL,
            "dalle-generations/file-Plot-1b2c.webp": PIXEL,
            "__MACOSX/._conversations-000.json": b"\x00\x05",
            "user.json": {"id": "user-1"},
        },
    )  # fmt: skip
    done = import_from(memory, path, "chatgpt-export")
    question, plot, screen = memory.messages.history()
    assert [len(message.images) for message in (question, plot, screen)] == [3, 1, 1]
    assert question.metadata["files"] == ["notes.md", "song.mp3"]
    assert screen.content == "A shop\nhttps://shop.example"
    assert memory.documents.search("where is the key?")[0].document.title == "notes.md"
    assert done.left_out == {
        "an image that is not in the export, or too large": 1,
        "a file that is not in the export, or is no text": 1,
        "a file beside the conversations, which is not read": 2,
    }
    assert import_from(memory, path, "chatgpt-export").total == 0


def test_a_part_that_is_missing_is_told(memory: Memory, pack: Pack):
    manifest = {"version": 1, "logical_files": {"conversations.json": {"sharded": True, "files": [
        "conversations-000.json", "conversations-001.json"]}}}  # fmt: skip
    path = pack("c.zip", {"conversations-000.json": [talk(says("user", "Hi"))], "export_manifest.json": manifest})
    left = import_from(memory, path, "chatgpt-export").left_out
    assert left == {"a file of conversations that the export names and that is not in it": 1}


def test_conversations_under_a_name_and_one_alone_are_read(memory: Memory, tmp_path: Path):
    for number, value in enumerate([{"conversations": [talk(says("user", "Hi"))]}, talk(says("user", "Hi"))]):
        (tmp_path / f"{number}.json").write_text(json.dumps(value))
        assert import_from(memory, tmp_path / f"{number}.json", "chatgpt-export").added.get("message", 0) == 1 - number


def test_an_export_of_claude_is_known_as_such(memory: Memory, tmp_path: Path):
    (tmp_path / "conversations.json").write_text('[{"uuid": "c", "chat_messages": []}]')
    with pytest.raises(InvalidInput, match="is an export of Claude: import it from claude-export"):
        import_from(memory, tmp_path, "chatgpt-export")
