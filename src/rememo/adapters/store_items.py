"""Items of a key-value store as records, by namespace and key; importers write them, adapters read them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast
from uuid import UUID, uuid5

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.retrieval import filterable_metadata
from rememo.model.scope import Scope

ITEM: Final[Mapping[str, Any]] = {"langgraph": "item"}
ROOMS: Final = "store:"
_IDS: Final = UUID("b7e3d2a4-52c1-5f0e-8d27-4f0a6c1e9b35")
_MAX_TEXT: Final = 200_000
_NOT_A_USER: Final = re.compile(
    r"(?:(?:long|short)[-_ ]?term[-_ ]?)?(?:memor(?:y|ies)|stores?|users?|people|persons?|facts?|notes?|docs?|documents?"
    r"|profiles?|preferences?|settings|instructions|history|episodes?|semantic|episodic|procedural|data|default|shared"
    r"|global|public|system|app|apps|tools?|cache|collection)"
    r"|(?:chat|room|thread|session|conversation|run)s?(?:[-_: ]?\w+)?",
    re.IGNORECASE,
)
"""Namespace labels that name a kind of data or a conversation, not a user."""
_NUMBER: Final = re.compile(r"\w?\d+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""What names a user where it stands alone, and a conversation beside a name."""
_MAX_LABELS: Final = 3


def item_name(bound: Scope, namespace: Sequence[str], key: str) -> str:
    """Return the name that an item's record id is derived from: the same for every view with this agent and user."""
    return str(uuid5(_IDS, json.dumps([bound.agent, bound.user, list(namespace), key])))


def item_room(namespace: Sequence[str]) -> str:
    """Return the room of a namespace."""
    return ROOMS + ".".join(namespace)  # no label of a namespace has a dot


def item_user(namespace: Sequence[str]) -> str | None:
    """Return the user that a namespace belongs to, where its labels leave no doubt, else None.

    That is so for `("ana",)`, `("ana", "memories")`, `("memories", "ana")` and `("ana", "chat-1")`: one label is a name.
    """
    names = [label for label in namespace if not _NOT_A_USER.fullmatch(label)]
    if len(names) > 1:
        names = [label for label in names if not _NUMBER.fullmatch(label)]
    return names[0] if len(names) == 1 and len(namespace) <= _MAX_LABELS else None


def item_data(key: str, value: Mapping[str, Any], lives: float | None) -> dict[str, Any]:
    """Return an item as a record's data; `lives` is its time to live in seconds after each read or write."""
    return {"ttl": lives, **pack_json({"key": key, "value": dict(value)})}


def read_item(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the key and the value of a stored item, unchanged."""
    item = unpack_json(data)
    return item["key"], item["value"]


def item_metadata(namespace: Sequence[str], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata by which an item is filtered."""
    levels = {str(depth): label for depth, label in enumerate(namespace)}
    return {**ITEM, "namespace": levels, "value": filterable_metadata(value)}


def join_texts(texts: Iterator[str]) -> str:
    """Return the searchable text of an item."""
    return storable_text("\n".join(texts)[:_MAX_TEXT])


def iter_texts(value: object) -> Iterator[str]:
    """Yield every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from iter_texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from iter_texts(item)
