"""The import sources, and the call that imports from one."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from rememo.errors import InvalidInput
from rememo.imports import chatgpt, claude, hindsight, jsonl, langgraph, letta, mem0, openai_agents
from rememo.imports.item import ImportItem, ReadResult
from rememo.imports.source_path import Progress, SourcePath
from rememo.imports.writer import ImportReport, ImportWriter
from rememo.memory import Memory

_DEFAULT_USER: Final = "me"
"""The user of a personal account's conversations unless the view has one; `rememo chat` uses the same name."""


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A system that memories are imported from."""

    read: Callable[[SourcePath], Iterator[ReadResult]]
    about: str
    user: str | None = None
    """The user where neither the source nor the view names one."""


SOURCES: Final[dict[str, ImportSource]] = {
    "chatgpt-export": ImportSource(
        chatgpt.read, "the archive that ChatGPT sends, or its conversations.json", _DEFAULT_USER
    ),
    "claude-export": ImportSource(
        claude.read, "the archive that Claude sends, or its conversations.json", _DEFAULT_USER
    ),
    "hindsight": ImportSource(
        hindsight.read, "the archive of Hindsight's export_bank, or what list_memories returned, as JSON"
    ),
    "jsonl": ImportSource(jsonl.read, "JSON Lines: one message or text a line"),
    "langgraph": ImportSource(langgraph.read, "a file of LangGraph's SqliteStore or SqliteSaver, or both"),
    "letta": ImportSource(letta.read, "an agent file (.af) of Letta"),
    "mem0": ImportSource(
        mem0.read, "mem0's history.db, its Qdrant folder, what get_all returned, as JSON, or a backup of OpenMemory"
    ),
    "openai-agents": ImportSource(openai_agents.read, "a file of the OpenAI Agents SDK's SQLiteSession"),
}


def import_from(
    memory: Memory, path: str | Path, source: str, *, learn: bool = True, progress: Progress | None = None
) -> ImportReport:
    """Import what another system wrote, and report what was imported and what was skipped.

    The source is read as a stream and stored in small transactions. What was imported before is recognized, so that a
    second run, or one after an interruption, doubles nothing. Labels that the view has are those of everything: what
    belongs to another user, agent or room is left out. `learn` lets facts be learned from messages, later, by jobs.
    `progress(done, total)` is called with the bytes read so far and the bytes in all.
    """
    if source not in SOURCES:
        raise InvalidInput(f"there is no import source {source!r}; the sources are {', '.join(SOURCES)}")
    chosen = SOURCES[source]
    source_path = SourcePath(path, progress, memory.bound)
    results: Iterator[ReadResult] = chosen.read(source_path)
    if chosen.user is not None and memory.bound.user is None:
        results = (_with_user(result, chosen.user) for result in results)
    report = ImportWriter(memory, source, learn=learn).write(results)
    source_path.count_read(source_path.size)  # all of it, also of a database whose pages are not all of interest
    return report


def _with_user(result: ReadResult, user: str) -> ReadResult:
    return replace(result, user=user) if isinstance(result, ImportItem) and result.user is None else result
