"""Any field of an export may be of another type than ever before: the rest of it is brought in all the same."""

import json
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest

from rememo.errors import RememoError
from rememo.imports import chatgpt, claude
from rememo.imports.item import ImportItem, ReadResult
from rememo.imports.source_path import SourcePath

WRONG: tuple[Any, ...] = (None, 7, "x", [None], {"x": [1]})
IMAGE = {
    "content_type": "image_asset_pointer",
    "asset_pointer": "sediment://file_1",
    "metadata": {"dalle": {"prompt": "p"}},
}


def node(parent: str | None, role: str, content: dict[str, Any], **fields: Any) -> dict[str, Any]:
    message = {
        "id": "m",
        "author": {"role": role, "name": "n"},
        "create_time": 1.7e9,
        "content": content,
        "recipient": "all",
    }
    return {"id": "n", "parent": parent, "children": ["x"], "message": message | fields}


CHATGPT: dict[str, Any] = {
    "id": "c", "title": "T", "create_time": 1.7e9, "current_node": "d", "default_model_slug": "m", "mapping": {
        "a": node(None, "user", {"content_type": "multimodal_text", "parts": ["Hi", IMAGE, {"content_type": "audio_transcription", "text": "t"}]},
                  metadata={"attachments": [{"id": "file_2", "name": "n", "mime_type": "text/plain"}],
                            "user_context_message_data": {"about_user_message": "u"}}),
        "b": node("a", "assistant", {"content_type": "code", "language": "python", "text": "1"}, recipient="bio"),
        "c": node("b", "tool", {"content_type": "tether_quote", "title": "t", "url": "u", "text": "w"},
                  metadata={"aggregate_result": {"messages": [{"image_url": "file-service://file-1"}]}}),
        "d": node("c", "assistant", {"content_type": "text", "parts": ['\ue200entity\ue202["a","b"]\ue201']},
                  metadata={"content_references": [{"matched_text": "\ue200", "alt": "a", "type": "file", "name": "n"}]}),
        "e": node("c", "tool", {"content_type": "computer_output", "screenshot": IMAGE, "state": {"title": "t"}}),
    },
}  # fmt: skip
CLAUDE: list[dict[str, Any]] = [
    {"uuid": "c", "name": "n", "summary": "s", "created_at": "2026-05-04T10:00:00Z", "account": {"uuid": "a"}, "chat_messages": [
        {"uuid": "m", "sender": "human", "text": "t", "created_at": "2026-05-04T10:00:00Z", "parent_message_uuid": "p",
         "content": [{"type": "text", "text": "t"}], "attachments": [{"file_name": "f", "extracted_content": "e"}],
         "files": [{"file_name": "f"}]},
        {"uuid": "k", "sender": "assistant", "parent_message_uuid": "m", "content": [
            {"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1}},
            {"type": "tool_result", "tool_use_id": "t", "structured_content": {"a": 1}, "content": [
                {"type": "knowledge", "title": "t", "url": "u", "text": "w"}, {"type": "image_gallery", "images": [{"title": "t"}]}]}]},
    ]},
    {"uuid": "d", "title": "t", "project": {"name": "p"}, "created_at": "2026-05-04T10:00:00Z", "messages": [
        {"uuid": "m", "role": "user", "content": {"content": "w", "authorAccountUuid": "a", "authorName": "n", "pill": False,
                                                  "attachments": [{"name": "n", "content": "c", "hidden": False}]}},
        {"uuid": "k", "role": "assistant", "content": {"contentBlocks": [
            {"type": "tool_call", "toolCall": {"id": "t", "name": "n", "input": {"a": 1}, "output": "o"}},
            {"type": "user_interjection", "message": {"content": "w"}}]}}]},
    {"uuid": "p", "name": "n", "description": "d", "prompt_template": "t", "creator": {"uuid": "a"}, "docs": [{"filename": "f", "content": "c"}]},
    {"account_uuid": "a", "conversations_memory": "m", "project_memories": {"p": "m"}, "memory_files": [{"path": "p", "content": "c"}]},
]  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the way to every value within a JSON value."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        inner = list(cast("dict[Any, Any]", value).items())
    elif isinstance(value, list):
        inner = list(enumerate(cast("list[Any]", value)))
    for key, inner_value in inner:
        yield (*path, key)
        yield from places(inner_value, (*path, key))


def changed(value: Any, path: tuple[Any, ...], wrong: Any) -> Any:
    copy = deepcopy(value)
    at = copy
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = wrong
    return copy


@pytest.mark.parametrize(
    ("read", "export"), [(chatgpt.read, [CHATGPT]), (claude.read, CLAUDE)], ids=["chatgpt-export", "claude-export"]
)
def test_no_field_of_another_type_costs_the_rest(
    tmp_path: Path, read: Callable[[SourcePath], Iterator[ReadResult]], export: list[Any]
):
    path = tmp_path / "conversations.json"
    last = json.loads(json.dumps(export[0]).replace('"c"', '"last"'))

    def items(entries: list[Any]) -> list[ImportItem]:
        path.write_text(json.dumps(entries))
        return [result for result in read(SourcePath(path)) if isinstance(result, ImportItem)]

    rest = {item.origin for item in items([last])}
    for where in places(export):
        for wrong in WRONG:
            try:
                kept_items = items([*changed(export, where, wrong), last])
            except RememoError as error:
                assert str(path) in str(error)  # noqa: PT017 - an export of another kind is told
            else:
                assert rest <= {item.origin for item in kept_items}, (where, wrong)
