"""Migration of derived ids: stores of earlier releases get those of this one.

Before, a derived id was the digest itself, a hash that anybody could compute and anybody could write by hand. Whoever opens
such a store renames the records of each tenant in short steps, with everything that refers to them. An id follows from the
former one alone, so that who is interrupted begins again and several may be at it at once. Ids that callers gave
themselves stay as they are, whatever their form.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rememo.engine.audit import new_audit_entry
from rememo.engine.engine import Engine
from rememo.errors import Busy
from rememo.model.derived_ids import (
    derive_id,
    is_derived,
    may_be_older,
    name_of,
    name_to_uuid,
    random_id,
    replace_older,
)
from rememo.model.derived_names import (
    chunk_name,
    copy_name,
    document_name,
    external_name,
    fact_name,
    relationship_name,
    summary_name,
    typed_name,
    value_name,
)
from rememo.model.erasure import ErasureTarget
from rememo.model.scope import Scope
from rememo.store.audit_chain import AuditRow, Half
from rememo.store.id_renaming import STEP, IdChanges, IdRenaming, VersionIdentity
from rememo.store.protocol.erasure import RecordErasure

_log = logging.getLogger("rememo.engine")

_PURGE_SECONDS: Final = 15.0
_FEW_NUMBERS, _MOST_NUMBERS = 2, 1_000
"""How often one value may have come back; what was taken back or denied has a number below zero."""
_COPIED: Final = frozenset({"message", "action", "thought", "task"})
"""The kinds of what a workbench takes over from another, under ids of its own."""
_ADAPTED: Final = ("langgraph", "google_adk", "memory_tool", "langchain")
"""Marks in the metadata of what adapters keep under ids they derive."""
_CONVERSATION: Final = {"pydantic_ai": "conversation"}
"""The mark of what one of them keeps beside entries whose ids it was given."""


def migrate_derived_ids(engine: Engine) -> None:
    """Give the tenants of a store the derived ids of this release, where they still have those of an earlier one."""
    store = engine.store
    if not isinstance(store, IdRenaming):
        return
    for tenant in store.older_tenants():
        if engine.reencryption is not None and engine.reencryption.cipher.is_dropped(tenant):
            store.rename_unreadable(tenant, lambda id: random_id() if may_be_older(id) else id)
        else:
            _rename_tenant(engine, store, tenant)
        if engine.reencryption is not None:
            _hide_traces(engine, tenant)
        store.end_renaming(tenant)


def _rename_tenant(engine: Engine, store: IdRenaming, tenant: str) -> None:
    """Rename what a tenant has under ids of an earlier release, in steps that each leave everything whole."""
    renames = plan_renames(engine, tenant, store.identities(tenant))
    if renames is None:
        return
    _log.info("tenant %r: %d records get ids of this release's form", tenant, len(renames.ids))
    waiting: dict[str, None] = {}
    for version in store.identities(tenant):
        if len(waiting) >= STEP and version.id not in waiting:
            store.rename(tenant, list(waiting), renames)
            waiting.clear()
        if renames.changes(version):
            waiting[version.id] = None
    if waiting:
        store.rename(tenant, list(waiting), renames)
    store.rename_references(tenant, renames)


def plan_renames(engine: Engine, tenant: str, versions: Iterable[VersionIdentity]) -> IdChanges | None:
    """Return which records have derived ids of an earlier release, and their ids of now; None where there are none."""
    cipher = engine.ids.cipher(tenant)
    sorted_out = _IdClassifier()
    for version in versions:
        sorted_out.take(version)
    names = sorted_out.names(lambda id: name_of(id, cipher))
    if not names and not sorted_out.renamed:
        return None
    ids = {id: str(derive_id(name, cipher)) for id, name in names.items()}
    new_ids = sorted_out.renamed | set(ids.values())

    def new_id_of(id: str) -> str:
        # Who was interrupted does not find the former ids any more, but what they became.
        candidates = (ids.get(id), str(derive_id(id, cipher)), str(derive_id(_moved(id), cipher)))
        return next((new for new in candidates if new in new_ids), id)

    return IdChanges(ids=ids, rewrite=lambda text: replace_older(text, new_id_of))


class _IdClassifier:
    """Classifies records by where their ids come from."""

    def __init__(self) -> None:
        self.renamed: set[str] = set()
        """Derived ids of this release's form."""
        self._others: set[str] = set()
        self._older: dict[str, str] = {}
        """Derived ids of an earlier release, and the names of what they stand for."""
        self._chunks: dict[str, tuple[str, int]] = {}
        self._doubtful: dict[str, Scope] = {}

    def take(self, version: VersionIdentity) -> None:
        """Classify the id of a record's version."""
        id = version.id
        if is_derived(id):
            self.renamed.add(id)
        elif not may_be_older(id):
            self._others.add(id)
        elif id not in self._older:
            data = _object(version.data)
            name = _name(version, data, _object(version.metadata))
            if name is not None:
                self._older[id] = name
            elif version.kind == "chunk" and isinstance(data.get("document"), str):
                self._chunks[id] = data["document"], data.get("place", 0)
            elif version.kind in _COPIED:
                self._doubtful[id] = version.scope

    def names(self, name_of: Callable[[str], str]) -> Mapping[str, str]:
        """Return the former ids with the names that ids are derived from; `name_of` gives that of an id of now."""
        names = dict(self._older)
        for id, (document, place) in self._chunks.items():
            # An id that callers gave a document has no name, and its chunks have none.
            name = names.get(document) or (name_of(document) if is_derived(document) else None)
            if name is not None:
                names[id] = chunk_name(name_to_uuid(name), place)
        if self._doubtful:
            # A copy tells of nothing but the id of what it is a copy of, so that is looked for.
            originals = [*self._others, *self._doubtful, *names, *map(name_of, self.renamed)]
            for scope in set(self._doubtful.values()):
                copies = (copy_name(scope, id) for id in originals)
                names |= {copied: copied for copied in copies if self._doubtful.get(copied) == scope}
        return names


def _name(version: VersionIdentity, data: Mapping[str, Any], metadata: Mapping[str, Any]) -> str | None:
    """Return the name that a record's id of now is derived from; None for an id that its caller gave.

    A record of a shape that is only ever derived, under an id that does not follow from it, came from another tenant, or
    somebody put it there before what the id was meant for. It gets an id that nothing else is derived to.
    """
    id = version.id
    if id.startswith(f"{version.source}:") or (id.startswith("haystack-") and "haystack_id" in data):
        return id
    if any(mark in metadata for mark in _ADAPTED) or data.get("use") == "langgraph" or metadata == _CONVERSATION:
        return id
    shape = _SHAPES.get(version.kind)
    if shape is None:
        return None
    fields, names = shape
    if not all(field in data for field in fields):
        return None
    if id in names(version.scope, data):
        return id
    return None if version.kind in _GIVEN else _moved(id)


def _moved(id: str) -> str:
    return f"moved:{id}"


def _fact_names(scope: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    match = data["match"]
    for number in range(-_FEW_NUMBERS, _MOST_NUMBERS):
        yield fact_name(
            scope, match["subject"], data["predicate"], match["object"], number, data.get("bound", ())
        )  # fmt: skip


def _relationship_names(scope: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    match = data["match"]
    yield relationship_name(scope, match["entity"], match["target"], match["type"])


def _document_names(scope: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    yield document_name(scope, data["hash"])


def _chapter_names(scope: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    for first in data["sources"][:1]:
        yield summary_name(scope, first)


def _message_names(_: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    yield external_name("message", data["external_id"])


def _post_names(_: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    yield external_name("post", data["external_id"])


def _value_names(scope: Scope, data: Mapping[str, Any]) -> Iterator[str]:
    yield typed_name(scope, data["name"])
    yield value_name(scope, data.get("use", ""), data["name"])


_SHAPES: Final[Mapping[str, tuple[tuple[str, ...], Callable[[Scope, Mapping[str, Any]], Iterator[str]]]]] = {
    "fact": (("statements", "match", "predicate"), _fact_names),
    "relationship": (("own", "match"), _relationship_names),
    "document": (("hash", "chunks"), _document_names),
    "summary": (("made_by", "sources", "kept"), _chapter_names),
    "message": (("external_id",), _message_names),
    "post": (("external_id",), _post_names),
    "state": (("name", "value"), _value_names),
}
"""By kind: the fields that records with derived ids have, and the names that these may be derived from."""
_GIVEN: Final = frozenset({"message", "post", "state"})
"""Kinds of which callers may well have chosen the ids."""


def _object(text: str) -> Mapping[str, Any]:
    return json.loads(text)


def _hide_traces(engine: Engine, tenant: str) -> None:
    """Take the former ids out of the audit trail and out of what deletion leaves behind: each confirms a guess."""
    store = engine.store
    if not isinstance(store, RecordErasure):
        return

    def choose(line: AuditRow) -> Sequence[Half]:
        named = line.operation != "redact" and any(may_be_older(id) for id in json.loads(line.ids))
        return ("what",) if named else ()

    if engine.store.audit_head(tenant)[0].count:
        store.redact(new_audit_entry("redact", Scope(tenant=tenant), engine.now(), {"reason": "derived ids"}), choose)
    _clean(store, tenant, engine.now())


def _clean(store: RecordErasure, tenant: str, now: datetime) -> None:
    """Make the bytes of former ids go; where others keep them from going, `maintain()` does it later."""
    target = ErasureTarget(scope=Scope(tenant=tenant), ids=())
    number = store.begin_erasure(target, now)
    store.forget_target(number, target)
    try:
        unclean = store.purge(tenant, _PURGE_SECONDS)
    except Busy as error:
        unclean = str(error)
    if unclean is None:
        store.end_erasure(number, tenant)
    else:
        _log.warning("tenant %r: former ids stand in unused parts of the store until maintain(): %s", tenant, unclean)
