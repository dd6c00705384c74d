"""Installs the peers, gives each the same work, and gathers what came out."""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import rememo
from rememo.bench.datasets import Dataset, load
from rememo.bench.peers.wrappers import PEERS
from rememo.errors import InvalidInput, MissingExtra
from rememo.text.wordfiles import vectors_file

OURS: Final = ("numpy", "PyStemmer")  # what the embedding model needs; for Rememo itself this environment serves
WRITERS: Final = 4
_QUALITY: Final = 20
"""How many times as long asking questions may take as other work: their conversations are added first."""
_LONGER: Final = {"fill-and-search": 3, "present": _QUALITY, "quality": _QUALITY * 2}
"""How many times as long as other work these may take before their process is killed; they look at the time now and then."""
_SLACK: Final = 60.0
"""Seconds beyond its limit that a piece of work may take, for opening and closing, before its process is killed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How much is asked for."""

    size: int = 10_000
    searches: int = 1_000
    seconds: float = 60.0
    """What each piece of work may take; what was done by then is counted."""
    each: int = 250
    """Records that each of the writing processes adds."""
    acknowledged: int = 300
    """How many records are acknowledged before the writer is killed."""


@dataclass(slots=True)
class PeerResult:
    """What came out for one peer."""

    peer: str
    version: str
    figures: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


def measure(
    peers: Sequence[str],
    work: Workload,
    *,
    home: Path,
    data: tuple[Dataset, Path] | None = None,
    progress: Callable[[str], object] = lambda _: None,
) -> dict[str, Any]:
    """Run every task for every peer, whose environments are kept in `home`; returns everything as JSON values."""
    unknown = [peer for peer in peers if peer not in PEERS]
    if unknown:
        raise InvalidInput(f"there is no peer {', '.join(unknown)}; there are {', '.join(PEERS)}")
    if shutil.which("uv") is None and find_spec("uv") is None:
        raise MissingExtra("the peers' environments are made by uv: pip install uv")
    results: list[PeerResult] = []
    home = home.absolute()  # the work is done in folders of its own
    with tempfile.TemporaryDirectory() as folder:
        questions = None if data is None else _questions(*data, Path(folder) / "questions.jsonl")
        for peer in peers:
            progress(f"{peer}: installing")
            python = _install(peer, home)
            result = PeerResult(peer, _version(peer, python))
            for task, run in _tasks(work, questions).items():
                progress(f"{peer}: {task}")
                result.figures[task] = run(peer, python, Path(tempfile.mkdtemp(dir=folder)))
            results.append(result)
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {"system": platform.platform(), "processor": _processor(), "cores": os.cpu_count()},
        "python": platform.python_version(),
        "work": {"size": work.size, "searches": work.searches, "seconds": work.seconds},
        "results": [{"peer": result.peer, "version": result.version, **result.figures} for result in results],
    }


# ---- the work


def _tasks(work: Workload, questions: Path | None) -> dict[str, Callable[[str, Path, Path], dict[str, Any]]]:
    tasks: dict[str, Callable[[str, Path, Path], dict[str, Any]]] = {
        "adds": lambda peer, python, folder: _run_task(work, peer, python, folder, "adds", work.size, work.seconds),
        "bulk": lambda peer, python, folder: _run_task(work, peer, python, folder, "bulk", work.size, work.seconds),
        "searches": lambda peer, python, folder: _searching(peer, python, folder, work),
        "reopen": lambda peer, python, folder: _reopen(peer, python, folder, work),
        "together": lambda peer, python, folder: _run_together(peer, python, folder, work),
        "kill": lambda peer, python, folder: _kill_writer(peer, python, folder, work),
    }
    if questions is not None:
        tasks["quality"] = lambda peer, python, folder: _run_task(
            work, peer, python, folder, "quality", str(questions), work.seconds * _QUALITY
        )
    return tasks


_LASTS_NOT: Final = {"said": "keeps everything in the process that wrote it"}


def _searching(peer: str, python: Path, folder: Path, work: Workload) -> dict[str, Any]:
    """Fill a store and search it, in one process: not every peer can be searched by the next one."""
    return _run_task(work, peer, python, folder, "fill-and-search", f"{work.size}:{work.searches}", work.seconds)


def _reopen(peer: str, python: Path, folder: Path, work: Workload) -> dict[str, Any]:
    """Fill a store, and time opening it and the first search in a new process."""
    if not PEERS[peer].persists:
        return _LASTS_NOT
    filled = _run_task(work, peer, python, folder, "bulk", work.size, work.seconds)
    return filled if "done" not in filled else _run_task(work, peer, python, folder, "reopen", 1, work.seconds)


def _run_together(peer: str, python: Path, folder: Path, work: Workload) -> dict[str, Any]:
    """Let several processes write to one store at the same time, and count what is there afterwards."""
    if not PEERS[peer].persists:
        return _LASTS_NOT
    prepared = _run_task(
        work, peer, python, folder, "steadily", WRITERS * work.each, 1
    )  # tables are made by one, not by four
    if "done" not in prepared:
        return prepared
    writers = [_start(peer, python, folder, "steadily", at * work.each, work.each) for at in range(WRITERS)]
    deadline = time.monotonic() + work.seconds + _SLACK
    outcomes = [_read_output(writer, max(0.0, deadline - time.monotonic())) for writer in writers]
    present = _run_task(work, peer, python, folder, "present", 0, WRITERS * work.each)
    acknowledged = sum(len(acks) for acks, _ in outcomes)
    errors = sorted({answer["said"] for _, answer in outcomes if "said" in answer})
    return {**present, "asked_for": WRITERS * work.each, "acknowledged": acknowledged, "errors": errors}


def _kill_writer(peer: str, python: Path, folder: Path, work: Workload) -> dict[str, Any]:
    """Kill a writer once it acknowledged enough, or its time is over; count what it had acknowledged and is gone."""
    if not PEERS[peer].persists:
        return _LASTS_NOT
    writer = _start(peer, python, folder, "steadily", 0, work.acknowledged * 100)
    in_time = threading.Timer(work.seconds + _SLACK, writer.kill)
    in_time.start()
    acknowledged = 0
    for line in writer.stdout or ():
        acknowledged += line.strip().isdigit()
        if acknowledged >= work.acknowledged or line.startswith("{"):
            break
    in_time.cancel()
    writer.kill()
    rest, _ = writer.communicate()
    acknowledged += sum(line.strip().isdigit() for line in rest.splitlines(keepends=True) if line.endswith("\n"))
    if not acknowledged:
        return {"said": "nothing was acknowledged"}
    present = _run_task(work, peer, python, folder, "present", 0, acknowledged)
    return {**present, "acknowledged": acknowledged, "lost": acknowledged - present.get("present", 0)}


# ---- processes


def _start(peer: str, python: Path, folder: Path, task: str, *arguments: object) -> "subprocess.Popen[str]":
    package = Path(rememo.__file__).parent.parent
    script = package / "rememo" / "bench" / "peers" / "work.py"
    left_out = {"PYTHONPATH", "PYTHONDONTWRITEBYTECODE"}  # without bytecode, importing would be what is measured
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment |= {"REMEMO_BENCH_PATH": str(package), "REMEMO_BENCH_WORDS": str(vectors_file().parents[1])}
    return subprocess.Popen(  # noqa: S603 - our own command
        [str(python), str(script), peer, str(folder), task, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, cwd=folder,
    )  # fmt: skip


def _read_output(process: "subprocess.Popen[str]", seconds: float) -> tuple[list[str], dict[str, Any]]:
    """Return what a process acknowledged, and its answer."""
    try:
        output, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
        return [line for line in output.splitlines() if line.isdigit()], {"said": "it was not done in time"}
    lines = output.splitlines()
    answers = [line for line in lines if line.startswith("{")]
    answer = json.loads(answers[-1]) if answers else {"said": f"it ended with {process.returncode}"}
    return [line for line in lines if line.isdigit()], answer


def _run_task(work: Workload, peer: str, python: Path, folder: Path, task: str, *arguments: object) -> dict[str, Any]:
    limit = work.seconds * _LONGER.get(task, 1) + 2 * _SLACK
    return _read_output(_start(peer, python, folder, task, *arguments), limit)[1]


# ---- environments


def _install(peer: str, home: Path) -> Path:
    """Return the interpreter of a peer's environment, made if need be."""
    if not PEERS[peer].needs:
        return Path(sys.executable)
    folder = home / peer.removesuffix("-in-memory")
    python, marker = folder / "bin" / "python", folder / ".installed"
    requirements = "\n".join((*PEERS[peer].needs, *OURS))
    if not (marker.exists() and marker.read_text() == requirements):
        shutil.rmtree(folder, ignore_errors=True)
        uv = shutil.which("uv") or str(Path(sys.executable).parent / "uv")
        for command in (
            ["venv", "--quiet", "--python", sys.executable, str(folder)],
            ["pip", "install", "--quiet", "--compile-bytecode", "--python", str(python), *PEERS[peer].needs, *OURS],
        ):
            subprocess.run([uv, *command], check=True)  # noqa: S603 - our own command
        marker.write_text(requirements)
    return python


def _version(peer: str, python: Path) -> str:
    if peer == "rememo":
        return version("rememo")
    if peer == "fts5":
        code = "import sqlite3; print('SQLite', sqlite3.sqlite_version)"
    else:
        name = PEERS[peer].needs[0].partition("==")[0]
        code = f"from importlib.metadata import version; print(version({name!r}))"
    return subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 - as above


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _questions(dataset: Dataset, path: Path, target: Path) -> Path:
    """Write a dataset for the peers' processes: a line a conversation."""
    with target.open("w") as file:
        for case in load(dataset, path):
            turns = [
                {
                    "id": str(at),
                    "text": message.text,
                    "speaker": message.speaker,
                    "room": message.room,
                    "time": message.time.isoformat(),
                }
                for at, message in enumerate(case.messages)
            ]
            questions = [
                {
                    "text": question.text,
                    "at": question.at.isoformat(),
                    "evidence": [str(at) for at in question.evidence],
                }
                for question in case.questions
                if question.evidence
            ]
            file.write(json.dumps({"turns": turns, "questions": questions}) + "\n")
    return target
