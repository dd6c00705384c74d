"""Derived names: digests of what things are, which their ids are derived from. Anybody can compute them.

Earlier releases stored them as ids, so they are what they always were: UUIDs of version 5.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final
from uuid import UUID, uuid5

from rememo.model.check import dump_json
from rememo.model.scope import Scope

_EXTERNAL: Final = UUID("6f2c1d0e-8a57-5b44-9d3b-0c5a7e6b1f20")
_DOCUMENT: Final = UUID("0d7c5a0e-3f0b-5c7e-9c55-7b1f2a9d4e61")
_SUMMARY: Final = UUID("b5f1c9a2-6d3e-5f08-8a41-2e7d90c4ab13")


def digest_name(parts: Sequence[str | int | None]) -> str:
    """Return the same digest for the same parts, everywhere."""
    return str(UUID(bytes=blake2b(dump_json(list(parts)).encode(), digest_size=16).digest(), version=5))


def fact_name(  # noqa: PLR0917 - all that names it
    scope: Scope, subject: str, predicate: str, object: str, number: int, bound: Sequence[str] = ()
) -> str:
    """Name a fact by where and what it is; subject and object are folded, `number` tells runs of one value apart.

    `bound` are the labels that those who told it were bound to.
    """
    return digest_name(["fact", scope.agent, scope.user, scope.room, subject, predicate, object, number, *bound])


def relationship_name(scope: Scope, entity: str, target: str, type: str) -> str:
    """Name a relationship by where and what it is; its ends are folded."""
    return digest_name(["relationship", scope.agent, scope.user, scope.room, entity, target, type])


def document_name(scope: Scope, hash: str) -> str:
    """Name a document by where it is and what its content hashes to."""
    labels = ["document", scope.tenant, scope.agent, scope.user, scope.room, hash]
    return str(uuid5(_DOCUMENT, dump_json(labels)))


def chunk_name(document: str, place: int) -> str:
    """Name a chunk by the name of its document and its place in it."""
    return str(uuid5(UUID(document), str(place)))


def summary_name(scope: Scope, first: str) -> str:
    """Name a summary beside its messages by its room and the first of them."""
    return str(uuid5(_SUMMARY, dump_json([scope.tenant, scope.room, first])))


@lru_cache(65_536)
def revision_name(record: str) -> str:
    """Name what became of a record by the record's own name; every search asks for those of its hits."""
    return digest_name(["revision", record])


def external_name(kind: str, parts: Sequence[str | None]) -> str:
    """Name what has a name outside: a platform's ids."""
    return str(uuid5(_EXTERNAL, dump_json([kind, *parts])))


def typed_name(scope: Scope, name: str) -> str:
    """Name a typed value by exactly the scope it belongs to, and what it is called there."""
    return external_name("state", [scope.agent, scope.user, scope.room, name])


def value_name(scope: Scope, use: str, name: str) -> str:
    """Name a value of a workbench by exactly the scope it belongs to, what it is for, and what it is called there."""
    return external_name("state", [use, *_labels(scope), name])


def copy_name(scope: Scope, original: str) -> str:
    """Name the copy of a record in a workbench by exactly the scope it belongs to, and the name of the original."""
    return external_name("copy", [*_labels(scope), original])


def _labels(scope: Scope) -> list[str]:
    return [scope.agent or "", scope.user or "", scope.room or ""]
