"""Design chats of Claude: conversations beside a canvas, one in a file, with messages of a shape of their own.

Their messages become those of other conversations, so that one reader stores both.
"""

from typing import Final

from rememo.imports.claude_blocks import INTERJECTED
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text, as_title

_SENDERS: Final = {"user": "human", "assistant": "assistant"}


def to_conversation(values: Json) -> Json:
    """Return a design chat as a conversation."""
    id, project = as_label(values.get("uuid")), as_title(as_object(values.get("project")).get("name"))
    messages = [as_object(message) for message in as_list(values.get("messages"))]
    authors = (as_object(message.get("content")).get("authorAccountUuid") for message in messages)
    return {
        "uuid": id,
        "name": ": ".join(filter(None, (project, as_title(values.get("title"))))),
        "created_at": values.get("created_at"),
        "account": {"uuid": next(filter(None, map(as_label, authors)), None)},
        "chat_messages": [
            _message(f"{id}-{position}", message) if message else None for position, message in enumerate(messages)
        ],
    }


def _message(id: str, values: Json) -> Json:
    content = as_object(values.get("content"))
    blocks = [
        block for content_block in as_list(content.get("contentBlocks")) for block in _blocks(as_object(content_block))
    ]
    # A notice of the page, written as if the person had said it.
    noticed = content.get("pill") is True
    return {
        "uuid": as_label(values.get("uuid")) or id,
        "sender": "notice" if noticed else _SENDERS.get(as_text(values.get("role")), "unknown"),
        "name": as_title(content.get("authorName")),
        "created_at": values.get("created_at") or content.get("timestamp"),
        "content": blocks,
        "text": as_text(content.get("content")),
        "attachments": [
            {"file_name": attachment.get("name"), "extracted_content": attachment.get("content")}
            for attachment in map(as_object, as_list(content.get("attachments")))
            if attachment.get("hidden") is not True
        ],
    }


def _blocks(block: Json) -> list[Json]:
    """Return a block as others have it; a call has its result in it."""
    kind, call = as_text(block.get("type")), as_object(block.get("toolCall"))
    if kind == "tool_call":
        made = {"type": "tool_use", "id": call.get("id"), "name": call.get("name"), "input": call.get("input")}
        output = as_text(call.get("output"))
        answered = {"type": "tool_result", "tool_use_id": call.get("id"), "content": output}
        return [made, answered] if output else [made]
    if kind == "user_interjection":
        output = block.get("message")
        return [{"type": INTERJECTED, "text": as_text(output) or as_text(as_object(output).get("content"))}]
    if kind == "thinking":
        return [{"type": kind}]
    return [{"type": kind, "text": as_text(block.get("text"))}]
