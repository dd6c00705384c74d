"""Letta: an agent file (`.af`), in its present form with `agents`, `blocks` and `files`, or the first one with one agent.

Ids in an agent file are numbers within the file, and the first form has none: a message is known by its time and content.
A file holds the messages that the agent has in its context, and the summary of the older ones. Some files
hold their JSON as a text in JSON, as Letta's API returned it.
"""

from collections.abc import Iterator
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.chat_content import read_content, tool_call, web_images
from rememo.imports.item import ImportItem, ReadResult, Skipped
from rememo.imports.json_values import (
    Json,
    as_label,
    as_list,
    as_object,
    as_text,
    as_title,
    digest,
    drop_empty,
    parse_object,
)
from rememo.imports.message_times import in_order, parse_time
from rememo.imports.skip_reasons import EMPTY, REASONING
from rememo.imports.source_path import SourcePath, read_json

_MAX_FILE: Final = 256 * 1024 * 1024
_SEND_MESSAGE: Final = "send_message"
_SAYS_ITS_TEXT: Final = "letta_v1_agent"
_THINKING: Final = ("reasoning", "redacted_reasoning", "omitted_reasoning", "summarized_reasoning")
_MAX_IMAGE: Final = 700_000
"""Characters of an image within the file: 512 KB of bytes."""
_SUMMARY: Final = "summary of the previous"
_SYSTEM: Final = "a system prompt; it holds the blocks, which are brought in themselves"
_EVENT: Final = "an event that Letta wrote as a message of the user: {}"
_TOOLS: Final = "a tool of the agent"
_SENT_RECEIPT: Final = "the receipt of a message that was sent"
_FILE: Final = "a file without its text"
_APPROVAL: Final = "an answer to the question whether a tool may be called"
_NO_IMAGE: Final = "an image that is kept elsewhere, or too large"


def read(source: SourcePath) -> Iterator[ReadResult]:
    """Yield the blocks of each agent as pinned notes, its messages, and files as documents."""
    path = source.file()
    if path.stat().st_size > _MAX_FILE:
        raise InvalidInput(f"{path} is larger than any agent file: {path.stat().st_size:,} bytes")
    with source.open() as file:
        content = read_json(file, str(path))
    values = parse_object(content) if isinstance(content, str) else as_object(content)
    agents = [as_object(agent) for agent in as_list(values.get("agents"))]
    if not agents and "core_memory" in values:
        agents = [values]
    if not agents:
        raise InvalidInput(f"{path} is no agent file of Letta: it has no agents")
    blocks = {as_text(block.get("id")): block for block in map(as_object, as_list(values.get("blocks")))}
    for agent in agents:
        yield from _LettaAgent(agent, blocks).read()
    for document in map(as_object, as_list(values.get("files"))):
        yield _file(document)
    if tools := len(as_list(values.get("tools"))):
        yield Skipped(_TOOLS, tools)


def _file(values: Json) -> ReadResult:
    text, title = as_text(values.get("content")), as_title(values.get("original_file_name") or values.get("file_name"))
    if not text.strip():
        return Skipped(_FILE)
    return ImportItem(kind="document", origin=("letta", digest([title, text])), title=title or "file", text=text)


class _LettaAgent:
    """Reads one agent."""

    def __init__(self, values: Json, blocks: dict[str, Json]) -> None:
        self._values = values
        self._name = as_label(values.get("name")) or "agent"
        owned = [blocks.get(str(block_id), {}) for block_id in as_list(values.get("block_ids"))]
        written = [as_object(block) for block in as_list(values.get("core_memory") or values.get("memory_blocks"))]
        self._blocks = [*owned, *written]
        self._text_is_said = values.get("agent_type") == _SAYS_ITS_TEXT
        """Whether a text beside calls is for the user. Agents of the older kinds put their thoughts there."""
        self._sent_calls: set[str] = set()
        """Calls by which the agent messaged the user; their results are skipped."""

    def read(self) -> Iterator[ReadResult]:
        for block in self._blocks:
            name, text = as_title(block.get("label")) or "block", as_text(block.get("value"))
            if text.strip():
                yield ImportItem(
                    kind="note", origin=(f"letta:{self._name}", digest([name, text])), text=text, agent=self._name,
                    pinned=True, metadata=drop_empty({"block": name, "about": as_title(block.get("description"))}),
                )  # fmt: skip
        last = None
        for message in map(as_object, as_list(self._values.get("messages"))):
            last = in_order(parse_time(message.get("created_at")), last)
            for turn in self._message(message):
                if isinstance(turn, Skipped):
                    yield turn
                    continue
                if isinstance(turn, str):
                    yield ImportItem(
                        kind="note", origin=(f"letta:{self._name}", digest(turn)), text=turn, agent=self._name,
                        room=self._name, at=last, metadata={"summary": True},
                    )  # fmt: skip
                    continue
                role, text, calls, answers, images = turn
                key = [message.get("created_at"), role, text, calls, answers]
                yield ImportItem(
                    kind="message", origin=(f"letta:{self._name}", digest(key)[:32]), agent=self._name,
                    room=self._name, role=role, text=text, at=last, tool_calls=calls, tool_call_id=answers,
                    images=images, name=as_label(message.get("name")) if role == "user" else None,
                )  # fmt: skip

    def _message(self, message: Json) -> Iterator["_LettaTurn | Skipped | str"]:
        """Yield the turns of a message; a text alone is a summary of what went before."""
        role = as_text(message.get("role"))
        parts = [as_object(part) for part in as_list(message.get("content"))]
        text = "\n".join(filter(None, (as_text(part.get("text")) for part in parts if part.get("type") == "text")))
        if isinstance(message.get("content"), str):
            text = as_text(message.get("content"))
        if thoughts := sum(1 for part in parts if as_text(part.get("type")) in _THINKING):
            yield Skipped(REASONING, thoughts)
        if role == "system":
            yield Skipped(_SYSTEM)
        elif role == "summary":
            yield as_text(parse_object(text).get("message")) or text or Skipped(EMPTY)
        elif role == "user":
            yield from self._read_user_message(text, parts)
        elif role == "assistant" or (role == "approval" and as_list(message.get("tool_calls"))):
            yield from self._read_assistant_message(message, text)
        elif role == "approval":
            yield Skipped(_APPROVAL)
        elif role == "tool":
            yield from self._read_tool_returns(message, parts, text)
        else:
            yield Skipped(_EVENT.format(role or "unknown"))

    def _read_user_message(self, text: str, parts: list[Json]) -> Iterator["_LettaTurn | Skipped | str"]:
        """Yield what a user said: Letta may wrap it in JSON, and writes log-ins, heartbeats and summaries in the same way."""
        sources = [as_object(part.get("source")) for part in parts if part.get("type") == "image"]
        images = web_images(map(_image_address, sources))
        if missing := len(sources) - len(images):
            yield Skipped(_NO_IMAGE, missing)
        wrapped = parse_object(text)
        kind = as_text(wrapped.get("type"))
        if kind == "user_message":
            text = as_text(wrapped.get("message"))
        elif kind and "time" in wrapped:
            event_text = as_text(wrapped.get("message"))
            yield event_text if _SUMMARY in event_text else Skipped(_EVENT.format(kind))
            return
        yield ("user", text, (), None, images) if text.strip() or images else Skipped(EMPTY)

    def _read_assistant_message(self, message: Json, text: str) -> Iterator["_LettaTurn | Skipped"]:
        """Yield what an agent said, in its text or by calling `send_message`, and what it called."""
        calls: list[Json] = []
        for call in map(as_object, as_list(message.get("tool_calls"))):
            function = as_object(call.get("function"))
            id, arguments = as_label(call.get("id")) or digest(call)[:16], as_text(function.get("arguments"))
            if as_text(function.get("name")) == _SEND_MESSAGE:
                self._sent_calls.add(id)
                sent = as_text(parse_object(arguments).get("message"))
                yield ("assistant", sent, (), None, ()) if sent.strip() else Skipped(EMPTY)
            else:
                calls.append(tool_call(id, function.get("name"), arguments))
        if as_list(message.get("tool_calls")) and text.strip() and not self._text_is_said:
            yield Skipped(REASONING)
            text = ""
        if calls or text.strip():
            yield ("assistant", text, tuple(calls), None, ())
        elif not as_list(message.get("tool_calls")):
            yield Skipped(EMPTY)

    def _read_tool_returns(self, message: Json, parts: list[Json], text: str) -> Iterator["_LettaTurn | Skipped"]:
        """Yield what calls returned: of several calls at once each return stands in `tool_returns`."""
        answered = as_label(message.get("tool_call_id"))
        returns = [
            (tool_return, tool_return.get("func_response"))
            for tool_return in map(as_object, as_list(message.get("tool_returns")))
        ]
        returns += [(part, part.get("content")) for part in parts if part.get("type") == "tool_return"]
        results = [
            (as_label(tool_return.get("tool_call_id")) or answered, read_content(result)[0])
            for tool_return, result in returns
            if result
        ]
        for id, result in results or [(answered, text)]:
            if id in self._sent_calls:
                yield Skipped(_SENT_RECEIPT)
            elif result.strip():
                yield ("tool", as_text(parse_object(result).get("message")) or result, (), id, ())
            else:
                yield Skipped(EMPTY)


def _image_address(source: Json) -> str | None:
    """Return where an image is: its address, or the image itself as a data URL."""
    kind, data = as_text(source.get("media_type")), as_text(source.get("data"))
    if data and kind.startswith("image/"):
        return f"data:{kind};base64,{data}" if len(data) <= _MAX_IMAGE else None
    return as_text(source.get("url")) or None


_LettaTurn = tuple[str, str, tuple[Json, ...], str | None, tuple[str, ...]]
"""A role, what was said, calls, the call that is answered, and images."""
