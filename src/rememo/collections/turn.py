"""What a turn of a conversation may be, wherever it is kept."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rememo.collections.base import drop_none
from rememo.context.chat import chat_messages, image_url
from rememo.errors import InvalidInput
from rememo.model.check import check_label, check_many, check_text
from rememo.settings import Settings

Image = bytes | str | Path
_FIELDS = (
    "bound",
    "external_id",
    "images",
    "learn",
    "name",
    "reply_to",
    "role",
    "tool_call_id",
    "tool_calls",
    "username",
)


def turn_data(
    *,
    reply_to: str | None = None,
    name: str | None = None,
    username: str | None = None,
    tool_calls: Sequence[Mapping[str, Any]] | None = None,
    tool_call_id: str | None = None,
    images: Sequence[Image] | None = None,
) -> dict[str, Any]:
    """Return what belongs to a turn beside its text, checked; what is not given is not in it."""
    return drop_none(
        reply_to=reply_to,
        name=_label(name, "name"),
        username=_label(username, "username"),
        tool_calls=_tool_calls(tool_calls),
        tool_call_id=_label(tool_call_id, "tool_call_id"),
        images=[
            image_url(image, f"images[{index}]")
            for index, image in enumerate(() if images is None else check_many(images, "images"))
        ]
        or None,
    )


def more_data(data: object) -> dict[str, Any]:
    """Return what a caller keeps with a turn; a name that a turn's own fields have is an error."""
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InvalidInput(f"data must be a mapping, not {type(data).__name__}")
    more = dict(cast("Mapping[str, Any]", data))
    for name in _FIELDS:
        if name in more:
            raise InvalidInput(
                f"data cannot have {name!r}, which is a field of the turn itself; give it by its argument"
            )
    return more


def check_turn(role: str, content: str, data: Mapping[str, Any], settings: Settings) -> None:
    """Refuse a role that the settings do not know, and a turn that says nothing."""
    check_roles((role,), settings)
    check_text(content, "content", max_bytes=settings.max_text_bytes)
    if not content.strip() and not data.get("tool_calls") and not data.get("images"):
        raise InvalidInput("content is empty; only a message with tool calls or images may say nothing")


def check_roles(roles: str | Iterable[str] | None, settings: Settings, field: str = "roles") -> tuple[str, ...] | None:
    """Return roles that were asked for, or None for all; one that the settings do not know is an error."""
    if roles is None:
        return None
    checked: tuple[str, ...] = (roles,) if isinstance(roles, str) else check_many(roles, field)
    allowed = tuple(settings.roles.replace(",", " ").split())
    for role in checked:
        if role not in allowed:
            raise InvalidInput(f"there is no role {role!r}; the roles are {', '.join(allowed)}, others by setting")
    return checked


def model_input(
    turns: Iterable[tuple[str, str, Mapping[str, Any]]],
    settings: Settings,
    *,
    system: str | None,
    user: str | None,
    image: Image | None,
) -> list[dict[str, Any]]:
    """Return turns in the OpenAI chat shape, with a system prompt before them and the current message after."""
    chat: list[tuple[str, str, Mapping[str, Any]]] = []
    if system is not None:
        chat.append(("system", check_text(system, "system", max_bytes=settings.max_text_bytes), {}))
    chat += turns
    if user is not None or image is not None:
        text = check_text(user or "", "user", max_bytes=settings.max_text_bytes)
        chat.append(("user", text, {} if image is None else {"images": [image_url(image)]}))
    return chat_messages(chat)


def _label(value: str | None, field: str) -> str | None:
    return None if value is None else check_label(value, field)


def _tool_calls(calls: object) -> list[Any] | None:
    if calls is None:
        return None
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"tool_calls must be a list of calls, not {type(calls).__name__}")
    for index, call in enumerate(cast("Sequence[object]", calls)):
        if not isinstance(call, Mapping) or not isinstance(cast("Mapping[str, Any]", call).get("id"), str):
            raise InvalidInput(f"tool_calls[{index}] must be a mapping with an id, by which its result names it")
    return list(cast("Sequence[Any]", calls)) or None
