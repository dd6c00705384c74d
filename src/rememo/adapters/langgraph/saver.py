"""LangGraph's checkpoints: the state of a graph, step by step, to go on from and to go back to."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from rememo.adapters.langgraph.async_methods import AsyncSaverMethods
from rememo.adapters.langgraph.thread import (
    CHECKPOINTS,
    SAVER_RECORDS,
    Tags,
    ThreadRecords,
    channel_tags,
    checkpoint_key,
    checkpoint_tags,
    id_time,
    iter_states,
    write_tags,
)
from rememo.adapters.memory_holder import MemoryHolder, MemorySource
from rememo.errors import InvalidInput
from rememo.model.record import STATE, Record

_ONE_TICK: Final = timedelta(microseconds=1)
_METADATA_FIELDS: Final = ("source", "step", "run_id")


class RememoSaver(MemoryHolder, AsyncSaverMethods):
    """A LangGraph checkpointer on a memory: each thread is a room, and its state is kept in records of kind `state`.

    `memory` is a memory, a view of one, or where to open one. A call that returns is durable; a checkpoint and the
    channels that changed with it are one transaction, and so are the writes of a task.
    """

    def __init__(self, memory: MemorySource = "rememo.db", *, serde: SerializerProtocol | None = None) -> None:
        AsyncSaverMethods.__init__(self, serde=serde)
        MemoryHolder.__init__(self, memory)

    # ---- writing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and the channels that changed with it."""
        thread, space = self._thread_and_namespace(config)
        id, values, versions = checkpoint["id"], checkpoint["channel_values"], checkpoint["channel_versions"]
        at = id_time(id) or datetime.fromisoformat(checkpoint["ts"])
        items: list[dict[str, Any]] = []
        for name, version in new_versions.items():
            if name in values:
                items += thread.items(channel_tags(space, name, version), values[name], at, replace=False)
        # Channels are kept by their versions, once; one without a version stays with the checkpoint.
        kept = {**checkpoint, "channel_values": {name: value for name, value in values.items() if name not in versions}}
        about = get_serializable_checkpoint_metadata(config, metadata)
        content = {"checkpoint": kept, "metadata": about, "parent": get_checkpoint_id(config)}
        searchable: Tags = {name: value for name, value in about.items() if name in _METADATA_FIELDS}
        items += thread.items(checkpoint_tags(space, id), content, at, replace=True, more=searchable)
        thread.view.add_many(items)
        return _config(thread, space, id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after a checkpoint; what is stored already stays, but for errors and interrupts."""
        thread, space = self._thread_and_namespace(config)
        id = str(get_checkpoint_id(config))
        items: list[dict[str, Any]] = []
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            tags, more = write_tags(space, id, task_id, index), {"channel": channel, "path": task_path}
            items += thread.items(tags, value, id_time(id), replace=index < 0, more=more)
        if items:
            thread.view.add_many(items)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread to another, at once."""
        source, target = self._thread(source_thread_id), self._thread(target_thread_id)
        if items := target.copies(list(iter_states(source.view, SAVER_RECORDS))):
            target.view.add_many(items)

    # ---- ending

    def delete_thread(self, thread_id: str) -> None:
        """End all checkpoints and writes of a thread; `memory.erase(room=…)` removes them for good."""
        self._thread(thread_id).view.delete_where(kind=STATE, metadata=SAVER_RECORDS)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """End the checkpoints that some runs made, and what was written after them."""
        conditions = {**CHECKPOINTS, "run_id": {"$in": [str(run_id) for run_id in run_ids]}}
        doomed: dict[str, set[tuple[str, str]]] = {}
        for record in iter_states(self._memory, conditions) if run_ids else ():
            doomed.setdefault(str(record.scope.room), set()).add(checkpoint_key(record))
        for name, steps in doomed.items():
            _drop_checkpoints(self._thread(name), lambda step, steps=steps: step in steps)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep the latest checkpoint of each namespace of some threads (`keep_latest`), or none (`delete`).

        Older ones stay where a channel that stores only its changes needs them.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InvalidInput(f'strategy must be "keep_latest" or "delete", not {strategy!r}')
        for thread in map(self._thread, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread.name)
                continue
            latest: dict[str, str] = {}
            for record in iter_states(thread.view, CHECKPOINTS):
                latest.setdefault(*checkpoint_key(record))
            kept = {step for head in latest.items() for step in self._needed(thread, *head)}
            _drop_checkpoints(thread, lambda step, kept=kept: step not in kept)

    def _needed(self, thread: ThreadRecords, space: str, id: str) -> Iterator[tuple[str, str]]:
        """Yield a checkpoint and the earlier ones that its channels are computed from."""
        config, missing = _config(thread, space, id), None
        while config is not None and (checkpoint := self.get_tuple(config)) is not None:
            yield space, checkpoint.checkpoint["id"]
            if missing is None:
                missing = set(checkpoint.metadata.get("counters_since_delta_snapshot") or ())
            missing -= set(checkpoint.checkpoint["channel_values"])
            config = checkpoint.parent_config if missing else None

    # ---- reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint by its id, or the latest of a thread; None where there is none."""
        thread, space = self._thread_and_namespace(config)
        if id := get_checkpoint_id(config):
            records = thread.view.list(ids=[thread.id(checkpoint_tags(space, id))], limit=1)
        else:
            records = thread.view.list(kind=STATE, metadata={**CHECKPOINTS, "tags.space": space}, limit=1)
        return _checkpoint_tuple(thread, records[0], thread.contents(records)[records[0].id]) if records else None

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield checkpoints, newest first: of a thread, of one of its namespaces, or of all threads."""
        configurable: dict[str, Any] = {} if config is None else config.get("configurable", {})
        named = {
            "tags.space": configurable.get("checkpoint_ns"),
            "tags.checkpoint": configurable.get("checkpoint_id") or None,
        }
        conditions = {**CHECKPOINTS, **{name: value for name, value in named.items() if value is not None}}
        end = None if before is None else get_checkpoint_id(before)
        yielded = 0
        for record in iter_states(
            self._memory if config is None else self._thread_and_namespace(config)[0].view, conditions
        ):
            if limit is not None and yielded >= limit:
                return
            if end is not None and checkpoint_key(record)[1] >= end:
                continue
            thread = self._thread(str(record.scope.room))
            content = thread.contents([record])[record.id]
            if all(content["metadata"].get(name) == value for name, value in (filter or {}).items()):
                yielded += 1
                yield _checkpoint_tuple(thread, record, content)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002 - as it is called
        """Return the version after another; no two are the same, in whichever branch of a thread they are made."""
        number = 0 if current is None else int(str(current).split(".", maxsplit=1)[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - no secret

    def _thread(self, name: object) -> ThreadRecords:
        return ThreadRecords(self._memory, str(name), self.serde)

    def _thread_and_namespace(self, config: RunnableConfig) -> tuple[ThreadRecords, str]:
        named: dict[str, Any] = config.get("configurable", {})
        if "thread_id" not in named:
            raise InvalidInput('the config names no thread; write {"configurable": {"thread_id": …}}')
        return self._thread(named["thread_id"]), named.get("checkpoint_ns") or ""


def _config(thread: ThreadRecords, space: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread.name, "checkpoint_ns": space, "checkpoint_id": id}}


def _checkpoint_tuple(thread: ThreadRecords, record: Record, content: Mapping[str, Any]) -> CheckpointTuple:
    """Return a checkpoint with its channels and with what was written after it."""
    (space, id), checkpoint = checkpoint_key(record), cast("Checkpoint", content["checkpoint"])
    channels = {
        thread.id(channel_tags(space, *channel)): channel[0] for channel in checkpoint["channel_versions"].items()
    }
    contents = thread.contents(thread.view.list(ids=channels, limit=len(channels)) if channels else [])
    values = {**checkpoint["channel_values"], **{channels[record_id]: value for record_id, value in contents.items()}}
    at = id_time(id)
    span = {} if at is None else {"after": at, "before": at + _ONE_TICK}
    conditions = {"langgraph": "write", "tags.space": space, "tags.checkpoint": id}
    writes = sorted(iter_states(thread.view, conditions, **span), key=_write_order)
    written = thread.contents(writes)
    return CheckpointTuple(
        config=_config(thread, space, id),
        checkpoint={**checkpoint, "channel_values": values},
        metadata=content["metadata"],
        parent_config=_config(thread, space, content["parent"]) if content["parent"] else None,
        pending_writes=[
            (write.metadata["tags"]["task"], write.metadata["channel"], written[write.id]) for write in writes
        ],
    )


def _write_order(write: Record) -> tuple[str, str, int]:
    tags = write.metadata["tags"]
    return writes_sort_key(write.metadata["path"], tags["task"], tags["index"])


def _drop_checkpoints(thread: ThreadRecords, doomed: Callable[[tuple[str, str]], bool]) -> None:
    """End some checkpoints of a thread with their writes, and the channels that no other one refers to."""
    records = list(iter_states(thread.view, SAVER_RECORDS))
    steps = [
        record
        for record in records
        if record.metadata["langgraph"] == "checkpoint" and not doomed(checkpoint_key(record))
    ]
    contents = thread.contents(steps)
    alive = {
        thread.id(channel_tags(checkpoint_key(step)[0], *channel))
        for step in steps
        for channel in contents[step.id]["checkpoint"]["channel_versions"].items()
    }
    ids = [
        record.id
        for record in records
        for tags in [record.metadata["tags"]]
        if (thread.id(tags) not in alive if tags["langgraph"] == "channel" else doomed(checkpoint_key(record)))
    ]
    if ids:
        thread.view.delete_where(ids=ids)
