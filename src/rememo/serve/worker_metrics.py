"""Metrics of a server of several workers: whichever is asked adds up what all of them counted."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, cast

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families

_ANSWER_SECONDS: Final = 2.0
_SUMMED_TYPES: Final = ("counter", "histogram")
_SUMMED_GAUGES: Final = (
    "rememo_http_under_way", "process_virtual_memory_bytes", "process_resident_memory_bytes", "process_open_fds",
)  # fmt: skip
"""Gauges of a process; the others are of the store, which all workers see alike."""

Render = Callable[[], bytes]


class WorkerMetrics:
    """The metrics of one worker and, by a socket of each in a folder that only they may enter, those of the others."""

    def __init__(self, folder: Path, index: int) -> None:
        self._folder = folder
        self._path = folder / f"{index}.sock"

    @asynccontextmanager
    async def answering(self, render: Render) -> AsyncGenerator[None]:
        """Answer the other workers for the block."""

        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(await asyncio.to_thread(render))
            await writer.drain()
            writer.close()

        self._path.unlink(missing_ok=True)  # of the worker that was here before
        server = await asyncio.start_unix_server(answer, self._path)
        inode = self._path.stat().st_ino
        try:
            yield
        finally:
            server.close()
            # A worker that takes this one's place may have its own socket there by now.
            if self._path.exists() and self._path.stat().st_ino == inode:
                self._path.unlink()

    def render(self, own: bytes) -> bytes:
        """Return the metrics of this worker, with what the others counted added; one that does not answer is left out."""
        others = [text for path in sorted(self._folder.glob("*.sock")) if path != self._path and (text := _ask(path))]
        return merge([own.decode(), *(text.decode() for text in others)])


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
    except OSError:
        return None
    return b"".join(parts)
