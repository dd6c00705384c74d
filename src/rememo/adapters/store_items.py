"""How an item of a store stands in a memory: by namespace and key. What importers write is what adapters read."""

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
"""Labels of namespaces that say what is kept or in which conversation, and not for whom."""
_NUMBER: Final = re.compile(r"\w?\d+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""What names a user where it stands alone, and a conversation beside a name."""
_MAX_LABELS: Final = 3


def item_name(bound: Scope, namespace: Sequence[str], key: str) -> str:
    """Return what the id of an item's record is derived from: the same for everybody whose view has this agent and user."""
    return str(uuid5(_IDS, json.dumps([bound.agent, bound.user, list(namespace), key])))


def item_room(namespace: Sequence[str]) -> str:
    """Return the room of a namespace."""
    return ROOMS + ".".join(namespace)  # no label of a namespace has a dot


def item_user(namespace: Sequence[str]) -> str | None:
    """Return whom the items of a namespace are kept for, where its labels leave no doubt, else None.

    That is so for `("ana",)`, `("ana", "memories")`, `("memories", "ana")` and `("ana", "chat-1")`: one label is a name.
    """
    names = [label for label in namespace if not _NOT_A_USER.fullmatch(label)]
    if len(names) > 1:
        names = [label for label in names if not _NUMBER.fullmatch(label)]
    return names[0] if len(names) == 1 and len(namespace) <= _MAX_LABELS else None


def item_data(key: str, value: Mapping[str, Any], lives: float | None) -> dict[str, Any]:
    """Return an item as a record's data; `lives` is for how many seconds it lives after it was read or written."""
    return {"ttl": lives, **pack_json({"key": key, "value": dict(value)})}


def read_item(data: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the key and the value of an item, as they were."""
    item = unpack_json(data)
    return item["key"], item["value"]


def item_metadata(namespace: Sequence[str], value: Mapping[str, Any]) -> dict[str, Any]:
    """Return what filters see of an item."""
    levels = {str(depth): label for depth, label in enumerate(namespace)}
    return {**ITEM, "namespace": levels, "value": filterable_metadata(value)}


def join_texts(texts: Iterator[str]) -> str:
    """Return the text that an item is found by."""
    return storable_text("\n".join(texts)[:_MAX_TEXT])


def iter_texts(value: object) -> Iterator[str]:
    """Give every text in a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in cast("Mapping[str, Any]", value).values():
            yield from iter_texts(item)
    elif isinstance(value, list | tuple):
        for item in cast("Sequence[Any]", value):
            yield from iter_texts(item)
