"""Memory: opening, narrowing, batches; its collections and its verbs are in the files beside this one."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from rememo.engine.audit import ActorContext, ComplianceCheck, acting
from rememo.engine.batch import Batch
from rememo.engine.view import View, view_of
from rememo.errors import InvalidInput
from rememo.keep.keyring import Keyring
from rememo.llm.protocol import LLM
from rememo.memory.collections import MemoryCollections
from rememo.memory.composing import MemoryContext
from rememo.memory.opening import open_memory_engine
from rememo.memory.upkeep import MemoryUpkeep
from rememo.memory.versions import MemoryVersions
from rememo.model.check import check_label
from rememo.model.receipt import Receipt
from rememo.model.scope import DEFAULT_TENANT, LabelValue, Scope
from rememo.model.spelling import usual_spellings
from rememo.model.times import Clock, now
from rememo.recall.embed.protocol import Embedder
from rememo.recall.rerank.protocol import Reranker
from rememo.runtime.closing import Closing
from rememo.settings import Settings

_POOL = "pool:"

M = TypeVar("M", bound="Memory")


@usual_spellings
class Memory(Closing, MemoryCollections, MemoryContext, MemoryVersions, MemoryUpkeep):
    """What an agent remembers, seen through one scope.

    Every read and write obeys the view's scope: labels that are bound must match, labels that are not do not matter.
    Thread-safe; many processes may open one file. Use it as a context manager, or call `close()`.
    """

    def __init__(
        self,
        url: str | Path = "rememo.db",
        *,
        tenant: str = DEFAULT_TENANT,
        embedder: Embedder | str | None = "default",
        llm: LLM | None = None,
        reranker: Reranker | None = None,
        encryption: Keyring | None = None,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a memory: a file's path, ":memory:" or "postgresql://…"; a file that is not there is made.

        `embedder` is the one that the settings name unless given, the static one where they name none; a name such as
        "static" or "openai:text-embedding-3-small" will do; None keeps no vectors. `llm` is a language model that
        sharpens what is learned, and that its owner closes; without one, the one that the settings name, if any.
        `reranker` orders hits where `search(rerank=True)` asks for it. With
        `encryption`, contents are stored
        encrypted; a file is encrypted from its beginning or never. `settings` come from the environment and
        `rememo.toml` unless given. `clock` tells the time, for tests.
        """
        scope = Scope().narrow(tenant=tenant)
        engine = open_memory_engine(
            url, embedder=embedder, llm=llm, reranker=reranker, encryption=encryption, settings=settings, clock=clock
        )
        super().__init__(View(engine=engine, scope=scope))

    def scope(
        self,
        *,
        tenant: LabelValue | None = None,
        agent: LabelValue | None = None,
        user: LabelValue | None = None,
        room: LabelValue | None = None,
    ) -> Memory:
        """Return a narrower view of the same memory; a label that is bound already cannot be changed.

        A label is a text, or the whole number that a platform gives: `user=42` is `user="42"`.
        """
        if isinstance(room, str) and room.startswith(_POOL) and room != self.bound.room:
            raise InvalidInput(f"rooms whose name begins with {_POOL!r} are pools; open one with memory.pool(name)")
        return _memory(Memory, self._view.narrow(self.bound.narrow(tenant=tenant, agent=agent, user=user, room=room)))

    def pool(self, name: str) -> Memory:
        """Return the view of a pool: what its group shares within this tenant, whoever opens it by this name.

        A pool is a room of its own, `pool:` and the name. What is written through the view is there for all of them and
        carries this view's agent and user as its author; nothing else of theirs can be seen through it.
        """
        room = check_label(f"{_POOL}{check_label(name, 'name')}", "name")
        shared = self._view.narrow(Scope(tenant=self.bound.tenant, room=room))
        return _memory(Memory, replace(shared, author=self._view.home))

    def acting(
        self, *, actor: str | None = None, session: str | None = None, address: str | None = None
    ) -> ActorContext:
        """Act in somebody's name inside a `with` block: the audit trail says so. What is not given stays as it is.

        It holds for this thread or asyncio task, whichever view or memory is used inside.
        """
        return acting(actor=actor, session=session, address=address)

    def compliance(self, check: ComplianceCheck | None = None, *, content: bool = False) -> Callable[..., Any]:
        """Ask `check(intent)` before every write of this view and narrower ones; what it returns are flags in the trail.

        Usable as a decorator. A check returns one flag, several or None; it does not see the content unless it asks for
        it (`content=True`). One that raises leaves a flag that says so; the write goes on.
        """
        from rememo.keep.audit import add_check

        return add_check(self._view, check, content=content)

    @contextmanager
    def batch(self, *, key: str | None = None) -> Generator[BatchView]:
        """Gather writes and make them as one transaction when the block ends; an exception inside drops them all.

        Reads inside see what is stored, not what waits. Receipts inside are `pending`; the batch's `receipt` has it all.
        """
        self._view.need_present()
        self._view.need_no_batch("batch()")
        batch = Batch()
        inside = _memory(BatchView, replace(self._view, batch=batch))
        try:
            yield inside
        finally:
            # Whatever is written through it later goes straight to the store.
            batch.open = False
        inside.receipt = self._view.commit(batch.writes, key)

    def as_of(self, moment: str | datetime) -> Memory:
        """Return a read-only view of what was known at a snapshot or a moment."""
        return _memory(Memory, self._view.at(self._to_time(moment)))

    def close(self) -> None:
        """Close the store, for every view of it; closing twice is harmless."""
        self._view.engine.close()


class BatchView(Memory):
    """A view whose writes are collected and committed together, as `Memory.batch()` yields it."""

    receipt: Receipt | None = None
    """What the batch did, once its block has ended."""


def _memory(kind: type[M], view: View) -> M:
    """Return a memory over a view whose engine is open already."""
    memory = object.__new__(kind)
    object.__setattr__(memory, "_view", view)
    return memory


def walled(memory: Memory, scope: Scope) -> Memory:
    """Return the view of a scope that nothing widens: no narrower view of it, no recall and no pool leads out of it.

    The scope may be of any tenant: this is for those who decide who may reach what.
    """
    return _memory(Memory, replace(view_of(memory), scope=scope, wall=scope))
