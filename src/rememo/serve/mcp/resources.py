"""The resources of the MCP server: rooms, documents and profiles."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote, unquote

from mcp.types import Resource

from rememo.errors import InvalidInput, NotFound
from rememo.model.check import check_offset
from rememo.serve.mcp.serializer import memory_item, memory_line
from rememo.text.fence import fenced

if TYPE_CHECKING:
    from rememo.memory import Memory

SCHEME: Final = "rememo://"
MARKDOWN: Final = "text/markdown"
PAGE: Final = 50
"""How many resources one page lists."""
_MOST_TURNS: Final = 200
_MESSAGE_KINDS: Final = ("message", "note")
_MOST_PROFILE_LINES: Final = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceKind:
    """A kind of resource: how it is listed, read and completed."""

    name: str
    title: str
    description: str
    argument: str
    list: "Callable[[Memory, int, int], Sequence[tuple[str, str]]]"
    """Names and titles from an offset, up to a limit."""
    read: "Callable[[Memory, str], str]"

    @property
    def template(self) -> str:
        """The URI template."""
        return f"{SCHEME}{self.name}/{{{self.argument}}}"

    def uri(self, name: str) -> str:
        """Return the URI of a resource."""
        return f"{SCHEME}{self.name}/{quote(name, safe='')}"


def _list_rooms(memory: "Memory", start: int, most: int) -> list[tuple[str, str]]:
    return [(room, room) for room in memory.rooms()[start : start + most]]


def _read_room(memory: "Memory", room: str) -> str:
    if room not in memory.rooms():
        raise NotFound(f"there is no room {room!r} here")
    # A pool is a room with a method of its own.
    view = memory.pool(room.removeprefix("pool:")) if room.startswith("pool:") else memory.scope(room=room)
    lines: list[str] = []
    if (summary := view.summaries.current()) is not None:
        lines += ["Summary of what was said before:", summary.text, ""]
    lines += [memory_line(memory_item(record)) for record in view.list(kind=_MESSAGE_KINDS, limit=_MOST_TURNS)]
    return "\n".join(lines)


def _list_documents(memory: "Memory", start: int, most: int) -> list[tuple[str, str]]:
    return [(document.id, document.title) for document in memory.documents.list(limit=most, offset=start)]


def _read_document(memory: "Memory", id: str) -> str:
    return f"# {memory.documents.get(id).title}\n\n{memory.documents.text(id)}"


def _list_profiles(memory: "Memory", start: int, most: int) -> list[tuple[str, str]]:
    names = sorted({*memory.profiles.keys(), *memory.users()})
    return [(user, user) for user in names[start : start + most]]


def _read_profile(memory: "Memory", user: str) -> str:
    profile = memory.profiles.get(user)
    bound = memory.bound.user
    facts = memory.facts.list(subject=user, limit=_MOST_PROFILE_LINES) if bound in (None, user) else []
    if profile is None and not facts:
        if user not in memory.users():
            raise NotFound(f"nothing is known of {user!r} here")
        return "Nothing is known yet."
    lines = [
        f"{name.replace('_', ' ')}: {_to_text(value)}" for name, value in (profile.fields if profile else {}).items()
    ]
    lines += [f"{fact.subject} {fact.predicate.replace('_', ' ')} {fact.object}" for fact in facts]
    return "\n".join(lines)


def _to_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


KINDS: Final = (
    ResourceKind(
        name="rooms",
        title="Room",
        description="What was said and noted in a conversation, chat or project, with its summary.",
        argument="room",
        list=_list_rooms,
        read=_read_room,
    ),
    ResourceKind(
        name="documents",
        title="Document",
        description="The whole text of a document.",
        argument="id",
        list=_list_documents,
        read=_read_document,
    ),
    ResourceKind(
        name="profiles",
        title="Profile",
        description="What is known of a user: the profile, and the facts that hold now.",
        argument="user",
        list=_list_profiles,
        read=_read_profile,
    ),
)


def list_page(memory: "Memory", cursor: str | None) -> tuple[list[Resource], str | None]:
    """Return a page of all resources, and the cursor of the next page."""
    kind, start = _parse_cursor(cursor)
    listed: list[Resource] = []
    while kind < len(KINDS):
        resource_kind = KINDS[kind]
        names = resource_kind.list(memory, start, PAGE - len(listed) + 1)
        page = names[: PAGE - len(listed)]
        listed += [
            Resource(
                uri=resource_kind.uri(name),
                name=f"{resource_kind.name}/{name}",
                title=title or name,
                description=resource_kind.description,
                mime_type=MARKDOWN,
            )
            for name, title in page
        ]
        if len(names) > len(page):
            return listed, urlsafe_b64encode(json.dumps([kind, start + len(page)]).encode()).decode()
        kind, start = kind + 1, 0
    return listed, None


def _parse_cursor(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return 0, 0
    try:
        kind, start = json.loads(urlsafe_b64decode(cursor.encode()))
        if 0 <= check_offset(kind) < len(KINDS):
            return kind, check_offset(start)
    except (ValueError, TypeError, RecursionError):
        pass
    raise InvalidInput("invalid cursor; start again without one")


def read_resource(memory: "Memory", uri: str) -> str:
    """Return a resource as text, fenced as recalled text; raises `NotFound` when it does not exist."""
    kind, name = _parse_uri(uri)
    return fenced(kind.read(memory, name))


def _parse_uri(uri: str) -> tuple[ResourceKind, str]:
    head, _, rest = uri.removeprefix(SCHEME).partition("/")
    name = unquote(rest)
    for kind in KINDS:
        if uri.startswith(SCHEME) and kind.name == head and name:
            return kind, name
    raise NotFound(f"there is no resource {uri[:200]!r}; they are {', '.join(kind.template for kind in KINDS)}")


def complete_names(memory: "Memory", template: str, argument: str, begun: str) -> list[str]:
    """Return the names with this prefix, for an argument of a template or a prompt."""
    for kind in KINDS:
        if argument == kind.argument and template in ("", kind.template):
            names = [name for name, _ in kind.list(memory, 0, 1_000)]
            return [name for name in names if name.casefold().startswith(begun.casefold())]
    return []
