"""Batches: several writes in one request, as one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final

from pydantic import ConfigDict

from rememo.errors import InvalidInput, RememoError
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS
from rememo.serve.rest.operations import BATCHED, OPERATIONS
from rememo.serve.rest.signature import OperationSpec

_MOST: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchStep:
    """One operation of a batch."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    call: str
    """The name of the operation, such as `messages.add`."""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """All arguments of the operation, whether they are body, path or query parameters."""
    scope: dict[str, str] = field(default_factory=dict[str, str])
    """Labels that narrow the request's scope for this operation."""
    pool: str | None = None
    """The pool to write to."""


def batch(memory: Memory, *, operations: Sequence[BatchStep], key: str | None = None) -> Receipt:
    """Execute several writes as one transaction, in their order: all of them or none.

    Each has a call (`add`, `update`, `delete`, `messages.add`, `tasks.done` …), its arguments, and labels that narrow the
    scope. The receipt covers all of them.
    """
    if len(operations) > _MOST:
        raise InvalidInput(f"a batch has at most {_MOST:,} operations, not {len(operations):,}; add_many takes more")
    with memory.batch(key=key) as inside:
        for number, operation in enumerate(operations):
            try:
                _run_step(inside, operation)
            except RememoError as error:
                error.detail = {"operation": number, "detail": error.detail}
                raise
    if inside.receipt is None:
        raise InvalidInput("the batch was not committed")  # pragma: no cover - it is, or has raised
    return inside.receipt


def _run_step(inside: Memory, step: BatchStep) -> None:
    call = batchable().get(step.call.removeprefix("memory."))
    if call is None:
        raise InvalidInput(
            f"{step.call[:100]!r} cannot be part of a batch; these can: {', '.join(sorted(BATCHED))}"
        )  # fmt: skip
    if unknown := set(step.scope) - set(LABELS):
        raise InvalidInput(f"a scope inside a batch has agent, user and room, not {min(unknown)[:100]!r}")
    arguments = call.parse_arguments(dump_json(step.arguments))
    face, _, name = call.operation.method_path.rpartition(".")
    view = inside.scope(**step.scope)
    view = view if step.pool is None else view.pool(step.pool)
    getattr(attrgetter(face)(view) if face else view, name)(**arguments)


@cache
def batchable() -> dict[str, OperationSpec]:
    """Return the operations that can be part of a batch, by name."""
    return {
        operation.method_path: OperationSpec(operation) for operation in OPERATIONS if operation.method_path in BATCHED
    }
