"""Metrics of a server of several workers: whichever is asked adds up what all of them counted."""

import asyncio
import logging
import os
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

from rememo.errors import RememoError

_ANSWER_SECONDS: Final = 2.0
_SUMMED_TYPES: Final = ("counter", "histogram")
_SUMMED_GAUGES: Final = (
    "rememo_http_under_way", "process_virtual_memory_bytes", "process_resident_memory_bytes", "process_open_fds",
)  # fmt: skip
"""Gauges of a process; the others are of the store, which all workers see alike."""

_COUNTED: Final = "ended"
"""The file of what workers counted that have ended."""
_log = logging.getLogger("rememo.serve")

Render = Callable[[], bytes]


class WorkerMetrics:
    """The metrics of one worker and, by sockets in a folder that only they may enter, those of the others.

    What a worker counted stays in the sum after it has ended, unless it was killed.
    """

    def __init__(self, folder: Path, name: str) -> None:
        """Answer in a folder under a name that no other worker has."""
        self._folder = folder
        self._path = folder / f"{name}.sock"

    @asynccontextmanager
    async def answering(self, render: Render) -> AsyncGenerator[None]:
        """Answer the other workers for the block, and leave what was counted to them at its end."""

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(ConnectionError):  # who asked has not waited
                writer.write(await asyncio.to_thread(render))
                await writer.drain()
            writer.close()

        with socket.socket(socket.AF_UNIX) as listening:
            # It has its name once it listens: what refuses a connection is of a worker that was killed.
            unnamed = self._path.with_suffix(".new")
            listening.bind(str(unnamed))
            listening.listen()
            unnamed.rename(self._path)
            async with await asyncio.start_unix_server(answer, sock=listening):
                yield
                try:
                    # On a thread: a worker that holds the lock may be asking this one.
                    await asyncio.to_thread(self._leave, render)
                except (OSError, RememoError) as error:
                    _log.warning("what this worker counted is missing from the metrics from now on: %s", error)

    def render(self, own: bytes) -> bytes:
        """Return the metrics of this worker, with what the others counted added; one that does not answer is left out."""
        with self._locked(exclusive=False):
            others = [
                text for path in sorted(self._folder.glob("*.sock")) if path != self._path and (text := _ask(path))
            ]
            return merge([text.decode() for text in (own, *others, self._counted())])

    def _leave(self, render: Render) -> None:
        own = counters(render().decode())
        with self._locked(exclusive=True):
            new_file = self._folder / f"{_COUNTED}.new"
            new_file.write_bytes(merge([own.decode(), self._counted().decode()]))
            new_file.replace(self._folder / _COUNTED)
            self._path.unlink()

    def _counted(self) -> bytes:
        """Return what workers counted that have ended."""
        path = self._folder / _COUNTED
        return path.read_bytes() if path.exists() else b""

    @contextmanager
    def _locked(self, *, exclusive: bool) -> Generator[None]:
        """Keep workers from ending while one adds up."""
        import fcntl  # noqa: PLC0415 - not on Windows, where there is one worker

        folder = os.open(self._folder, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
            yield
        finally:
            os.close(folder)


def counters(text: str) -> bytes:
    """Return the families of an exposition that only ever grow."""
    families = [family for family in text_string_to_metric_families(text) if family.type in _SUMMED_TYPES]
    return generate_latest(cast("CollectorRegistry", _Families(families)))


def merge(texts: Sequence[str]) -> bytes:
    """Return one exposition of several: counters, histograms and gauges of processes are summed, other gauges are the first's."""
    first, *others = [list(text_string_to_metric_families(text)) for text in texts]
    merged = {family.name: family for family in first}
    for family in (family for families in others for family in families):
        if family.name not in merged:
            merged[family.name] = family
        elif family.type in _SUMMED_TYPES or family.name in _SUMMED_GAUGES:
            merged[family.name] = _add(merged[family.name], family)
    return generate_latest(cast("CollectorRegistry", _Families(merged.values())))


def _add(family: Metric, other: Metric) -> Metric:
    """Return a family with the samples of both, those of the same labels summed."""
    values: dict[tuple[str, tuple[tuple[str, str], ...]], float] = {}
    for sample in (*family.samples, *other.samples):
        key = sample.name, tuple(sorted(sample.labels.items()))
        values[key] = values.get(key, 0.0) + sample.value
    added = Metric(family.name, family.documentation, family.type)
    for (name, labels), value in values.items():
        added.add_sample(name, dict(labels), value)
    return added


class _Families:
    """Metric families in the place of a registry."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        """Yield the families."""
        yield from self._families


def _ask(path: Path) -> bytes | None:
    """Return what the worker behind a socket answers; None when there is none."""
    parts: list[bytes] = []
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(_ANSWER_SECONDS)
            line.connect(str(path))
            while part := line.recv(65_536):
                parts.append(part)
    except ConnectionRefusedError:
        path.unlink(missing_ok=True)
        return None
    except OSError:
        return None
    return b"".join(parts)
