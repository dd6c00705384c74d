"""Letta: an agent file (`.af`), in its present form with `agents`, `blocks` and `files`, or the first one with one agent.

Ids in an agent file are numbers within the file, and the first form has none: a message is known by its time and content.
A file holds the messages that the agent has in its context, and the summary that stands there for the older ones. Some files
hold their JSON as a text in JSON, as Letta's API returned it.
"""

from collections.abc import Iterator
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports.item import (
    Found,
    Item,
    Json,
    Left,
    as_list,
    as_object,
    as_text,
    call_of,
    content_of,
    digest,
    label,
    moment,
    not_before,
    parsed,
    plain,
    short,
    web_images,
)
from rememo.imports.source_path import Place, whole

_LARGEST: Final = 256 * 1024 * 1024
_SAYING: Final = "send_message"
_TEXT_IS_SAID: Final = "letta_v1_agent"
_THINKING: Final = ("reasoning", "redacted_reasoning", "omitted_reasoning", "summarized_reasoning")
_LARGEST_IMAGE: Final = 700_000
"""Characters of an image within the file: 512 KB of bytes."""
_SUMMARY: Final = "summary of the previous"
_SYSTEM: Final = "a system prompt; it holds the blocks, which are brought in themselves"
_EVENT: Final = "an event that Letta wrote as a message of the user: {}"
_EMPTY: Final = "a message without words"
_REASONING: Final = "a step of reasoning"
_TOOLS: Final = "a tool of the agent"
_SPOKEN: Final = "the receipt of a message that was sent"
_FILE: Final = "a file without its text"
_ALLOWED: Final = "an answer to the question whether a tool may be called"
_NO_IMAGE: Final = "an image that is kept elsewhere, or too large"


def read(place: Place) -> Iterator[Found]:
    """Give the blocks of each agent as pinned notes, its messages, and files as documents."""
    path = place.file()
    if path.stat().st_size > _LARGEST:
        raise InvalidInput(f"{path} is larger than any agent file: {path.stat().st_size:,} bytes")
    with place.opened() as file:
        held = whole(file, str(path))
    values = parsed(held) if isinstance(held, str) else as_object(held)
    agents = [as_object(one) for one in as_list(values.get("agents"))]
    if not agents and "core_memory" in values:
        agents = [values]
    if not agents:
        raise InvalidInput(f"{path} is no agent file of Letta: it has no agents")
    blocks = {as_text(one.get("id")): one for one in map(as_object, as_list(values.get("blocks")))}
    for agent in agents:
        yield from _Agent(agent, blocks).found()
    for one in map(as_object, as_list(values.get("files"))):
        yield _file(one)
    if tools := len(as_list(values.get("tools"))):
        yield Left(_TOOLS, tools)


def _file(values: Json) -> Found:
    text, title = as_text(values.get("content")), short(values.get("original_file_name") or values.get("file_name"))
    if not text.strip():
        return Left(_FILE)
    return Item(kind="document", origin=("letta", digest([title, text])), title=title or "file", text=text)


class _Agent:
    """One agent on its way through."""

    def __init__(self, values: Json, blocks: dict[str, Json]) -> None:
        self._values = values
        self._name = label(values.get("name")) or "agent"
        owned = [blocks.get(str(one), {}) for one in as_list(values.get("block_ids"))]
        written = [as_object(one) for one in as_list(values.get("core_memory") or values.get("memory_blocks"))]
        self._blocks = [*owned, *written]
        self._text_is_said = values.get("agent_type") == _TEXT_IS_SAID
        """Whether a text beside calls is said to the user. Agents of the older kinds think aloud there."""
        self._spoken: set[str] = set()
        """Calls by which the agent spoke to the user; their results say nothing."""

    def found(self) -> Iterator[Found]:
        for block in self._blocks:
            name, text = short(block.get("label")) or "block", as_text(block.get("value"))
            if text.strip():
                yield Item(
                    kind="note", origin=(f"letta:{self._name}", digest([name, text])), text=text, agent=self._name,
                    pinned=True, metadata=plain({"block": name, "about": short(block.get("description"))}),
                )  # fmt: skip
        last = None
        for message in map(as_object, as_list(self._values.get("messages"))):
            last = not_before(moment(message.get("created_at")), last)
            for one in self._message(message):
                if isinstance(one, Left):
                    yield one
                    continue
                if isinstance(one, str):
                    yield Item(
                        kind="note", origin=(f"letta:{self._name}", digest(one)), text=one, agent=self._name,
                        room=self._name, at=last, metadata={"summary": True},
                    )  # fmt: skip
                    continue
                role, text, calls, answers, images = one
                key = [message.get("created_at"), role, text, calls, answers]
                yield Item(
                    kind="message", origin=(f"letta:{self._name}", digest(key)[:32]), agent=self._name,
                    room=self._name, role=role, text=text, at=last, tool_calls=calls, tool_call_id=answers,
                    images=images, name=label(message.get("name")) if role == "user" else None,
                )  # fmt: skip

    def _message(self, message: Json) -> Iterator["_Turn | Left | str"]:
        """Give the turns of a message; a text alone is a summary of what went before."""
        role = as_text(message.get("role"))
        parts = [as_object(one) for one in as_list(message.get("content"))]
        text = "\n".join(filter(None, (as_text(one.get("text")) for one in parts if one.get("type") == "text")))
        if isinstance(message.get("content"), str):
            text = as_text(message.get("content"))
        if thoughts := sum(1 for one in parts if as_text(one.get("type")) in _THINKING):
            yield Left(_REASONING, thoughts)
        if role == "system":
            yield Left(_SYSTEM)
        elif role == "summary":
            yield as_text(parsed(text).get("message")) or text or Left(_EMPTY)
        elif role == "user":
            yield from self._asked(text, parts)
        elif role == "assistant" or (role == "approval" and as_list(message.get("tool_calls"))):
            yield from self._answered(message, text)
        elif role == "approval":
            yield Left(_ALLOWED)
        elif role == "tool":
            yield from self._returned(message, parts, text)
        else:
            yield Left(_EVENT.format(role or "unknown"))

    def _asked(self, text: str, parts: list[Json]) -> Iterator["_Turn | Left | str"]:
        """Give what a user said: Letta may wrap it in JSON, and writes log-ins, heartbeats and summaries in the same way."""
        sources = [as_object(one.get("source")) for one in parts if one.get("type") == "image"]
        images = web_images(map(_address, sources))
        if missing := len(sources) - len(images):
            yield Left(_NO_IMAGE, missing)
        wrapped = parsed(text)
        kind = as_text(wrapped.get("type"))
        if kind == "user_message":
            text = as_text(wrapped.get("message"))
        elif kind and "time" in wrapped:
            told = as_text(wrapped.get("message"))
            yield told if _SUMMARY in told else Left(_EVENT.format(kind))
            return
        yield ("user", text, (), None, images) if text.strip() or images else Left(_EMPTY)

    def _answered(self, message: Json, text: str) -> Iterator["_Turn | Left"]:
        """Give what an agent said, in its text or by calling `send_message`, and what it called."""
        calls: list[Json] = []
        for call in map(as_object, as_list(message.get("tool_calls"))):
            function = as_object(call.get("function"))
            id, arguments = label(call.get("id")) or digest(call)[:16], as_text(function.get("arguments"))
            if as_text(function.get("name")) == _SAYING:
                self._spoken.add(id)
                said = as_text(parsed(arguments).get("message"))
                yield ("assistant", said, (), None, ()) if said.strip() else Left(_EMPTY)
            else:
                calls.append(call_of(id, function.get("name"), arguments))
        if as_list(message.get("tool_calls")) and text.strip() and not self._text_is_said:
            yield Left(_REASONING)
            text = ""
        if calls or text.strip():
            yield ("assistant", text, tuple(calls), None, ())
        elif not as_list(message.get("tool_calls")):
            yield Left(_EMPTY)

    def _returned(self, message: Json, parts: list[Json], text: str) -> Iterator["_Turn | Left"]:
        """Give what calls returned: of several calls at once each return stands in `tool_returns`."""
        answered = label(message.get("tool_call_id"))
        returns = [(one, one.get("func_response")) for one in map(as_object, as_list(message.get("tool_returns")))]
        returns += [(one, one.get("content")) for one in parts if one.get("type") == "tool_return"]
        found = [(label(one.get("tool_call_id")) or answered, content_of(said)[0]) for one, said in returns if said]
        for id, said in found or [(answered, text)]:
            if id in self._spoken:
                yield Left(_SPOKEN)
            elif said.strip():
                yield ("tool", as_text(parsed(said).get("message")) or said, (), id, ())
            else:
                yield Left(_EMPTY)


def _address(source: Json) -> str | None:
    """Return where an image is: its address, or the image itself as a data URL."""
    kind, data = as_text(source.get("media_type")), as_text(source.get("data"))
    if data and kind.startswith("image/"):
        return f"data:{kind};base64,{data}" if len(data) <= _LARGEST_IMAGE else None
    return as_text(source.get("url")) or None


_Turn = tuple[str, str, tuple[Json, ...], str | None, tuple[str, ...]]
"""A role, what was said, calls, the call that is answered, and images."""
