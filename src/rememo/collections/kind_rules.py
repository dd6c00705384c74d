"""Kinds with rules of their own: how `add` makes a message, a fact or a document, so that their own verbs find it.

Each collection is loaded when something of its kind is added: opening and searching need none of them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from rememo.engine.view import View
from rememo.errors import InvalidInput
from rememo.model.receipt import Receipt
from rememo.settings import Settings

_TRIPLE: Final = ("subject", "predicate", "object")
_FACT_DATA: Final = (*_TRIPLE, "confidence", "wording")
_NOT_OF_FACTS: Final = (
    "id", "metadata", "occurred_at", "pinned", "importance", "ttl", "source", "trust", "embedding",
)  # fmt: skip
_DOCUMENT_DATA: Final = ("title", "tags", "media_type")
_NOT_OF_DOCUMENTS: Final = (
    "id", "occurred_at", "valid_from", "valid_to", "pinned", "importance", "ttl", "trust", "embedding",
)  # fmt: skip


def message_fields(fields: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the fields of a message with its role, which is `user` unless its data says otherwise."""
    from rememo.collections.turn import check_turn  # noqa: PLC0415 - see above

    data = {"role": "user", **_data(fields)}
    check_turn(data["role"], fields["text"], data, settings)
    return {**fields, "data": data}


def add_messages(view: View, items: list[dict[str, Any]], key: str | None) -> Receipt:
    """Add the fields of messages, among others perhaps, all or none; the room keeps its limits."""
    from rememo.collections.limits import RoomLimits  # noqa: PLC0415 - see above
    from rememo.collections.messages import put_messages  # noqa: PLC0415 - the same

    return put_messages(view, RoomLimits(view), items, key)


def _add_message(view: View, fields: dict[str, Any], key: str | None) -> Receipt:
    return add_messages(view, [message_fields(fields, view.engine.settings)], key)


def _add_fact(view: View, fields: dict[str, Any], key: str | None) -> Receipt:
    """Add a fact of the parts in its data, or of a text that states exactly one fact."""
    from rememo.collections.facts import Facts  # noqa: PLC0415 - see above

    _refuse_arguments(fields, _NOT_OF_FACTS)
    data = _data(fields, allowed=_FACT_DATA)
    missing = [name for name in _TRIPLE if not data.get(name)]
    if len(missing) == len(_TRIPLE):
        data |= _stated_fact(view, fields["text"])
    elif missing:
        raise InvalidInput(f"a fact needs subject, predicate and object in its data; {missing[0]} is missing")
    data.setdefault("wording", fields["text"] or None)
    return Facts(view).add(**data, valid_from=fields["valid_from"], valid_to=fields["valid_to"], key=key)


def _stated_fact(view: View, text: str) -> dict[str, str]:
    from rememo.extract import extract  # noqa: PLC0415 - see above

    speaker = view.home.user or "user"
    stated = [fact for fact in extract(text, speaker=speaker, at=view.engine.now(), noted=True) if not fact.ends]
    if len(stated) != 1:
        raise InvalidInput(
            f"the text of a fact must state one fact, such as 'Ana lives in Porto', and this one states {len(stated)};"
            " give subject, predicate and object in data, or call facts.add()"
        )
    return {name: getattr(stated[0], name) for name in _TRIPLE}


def _add_document(view: View, fields: dict[str, Any], key: str | None) -> Receipt:
    from rememo.collections.documents import Documents  # noqa: PLC0415 - see above

    _refuse_arguments(fields, _NOT_OF_DOCUMENTS)
    data = _data(fields, allowed=_DOCUMENT_DATA)
    return Documents(view).add(
        text=fields["text"], source=fields["source"], metadata=fields["metadata"], key=key, **data
    )


def _data(fields: Mapping[str, Any], allowed: tuple[str, ...] | None = None) -> dict[str, Any]:
    data = fields.get("data")
    if data is not None and not isinstance(data, Mapping):
        raise InvalidInput(f"data must be a mapping, not {type(data).__name__}")
    checked = dict(cast("Mapping[str, Any]", data or {}))
    if allowed is not None and (unknown := checked.keys() - set(allowed)):
        raise InvalidInput(
            f"the data of a {fields['kind']} has the unknown field {min(map(str, unknown))!r};"
            f" it may have {', '.join(allowed)}"
        )
    return checked


def _refuse_arguments(fields: Mapping[str, Any], names: tuple[str, ...]) -> None:
    kind = fields["kind"]
    for name in names:
        if fields[name] not in (None, False):
            raise InvalidInput(f"add(kind={kind!r}) takes no {name}; see {kind}s.add() for what it takes")
    if fields["on_conflict"] != "error":
        raise InvalidInput(f"add(kind={kind!r}) takes no on_conflict; an equal {kind} is known again by what it says")


KIND_RULES: Final[Mapping[str, Callable[[View, dict[str, Any], str | None], Receipt]]] = {
    "message": _add_message,
    "fact": _add_fact,
    "document": _add_document,
}
