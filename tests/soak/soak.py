"""A memory under load for minutes: processes that write and read, are killed, meet full disks, restarts and odd clocks.

`make soak`, or `python tests/soak/soak.py --minutes 10 --seed 7`. Half of the time goes to a file, half to PostgreSQL. At
the end every receipt must have been honoured, nobody shown what is another tenant's, everything in agreement, and the one
process that was never killed must not have grown.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from worker import TENANTS

from rememo import Memory
from rememo.store.postgres.embedded import EmbeddedPostgres

PROCESSES = 6
DISK_MB = 400
GROWTH, SLACK_MB = 1.25, 25.0
MEANINGFUL = 100
LONGEST_START = 120.0


class Soak:
    """A store under load."""

    def __init__(self, url: str, folder: Path, seed: int) -> None:
        self.url, self.folder = url, folder
        self.chance = random.Random(seed)
        self.started = self.killed = 0
        self.running: list[subprocess.Popen[bytes]] = []
        self.megabytes: list[float] = []
        self.events: dict[str, int] = {}
        self.found: list[str] = []
        self.first_alive = False
        for _ in range(PROCESSES):
            self.start()

    def start(self) -> None:
        name, journal = f"w{self.started}", self.folder / f"w{self.started}.journal"
        self.started += 1
        with (self.folder / f"{name}.error").open("wb") as error:
            command = [sys.executable, str(Path(__file__).with_name("worker.py")), self.url, name, str(journal)]
            self.running.append(subprocess.Popen(command, stderr=error))

    def kill(self) -> None:
        """Kill any but the first that has got to work, and start another."""
        working = [worker for worker in self.running[1:] if self.journal(worker).exists()]
        if not working:
            return
        victim = self.chance.choice(working)
        self.running.remove(victim)
        victim.kill()
        victim.wait()
        self.killed += 1
        self.start()

    def journal(self, process: subprocess.Popen[bytes]) -> Path:
        """Return where a process writes down what it was told."""
        return Path(cast("list[str]", process.args)[-1])

    def run(self, seconds: float, trouble: "Trouble") -> None:
        patience = time.monotonic() + LONGEST_START
        while not all(self.journal(worker).exists() for worker in self.running) and time.monotonic() < patience:
            time.sleep(0.1)  # until all have got to work; who never does shows in what was acknowledged
        end, next_kill = time.monotonic() + seconds, time.monotonic() + 2
        next_trouble, next_look = time.monotonic() + 10, time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.1)
            if time.monotonic() > next_kill:
                self.kill()
                next_kill = time.monotonic() + self.chance.uniform(1, 5)
            if time.monotonic() > next_trouble:
                trouble.make()
                next_trouble = time.monotonic() + self.chance.uniform(10, 25)
            if time.monotonic() > next_look:
                self.megabytes.append(resident(self.running[0].pid))
                next_look = time.monotonic() + 2
        self.first_alive = self.running[0].poll() is None
        for worker in self.running:
            worker.kill()
            worker.wait()

    # ---- what must be true afterwards

    def faults(self) -> Iterator[str]:
        if not self.first_alive:
            yield f"the first process ended: {(self.folder / 'w0.error').read_text()[-400:]}"
        yield from self.growth()
        expected, counts = self.journals()
        yield from self.found
        if self.events["acknowledged"] < MEANINGFUL:
            yield f"only {self.events['acknowledged']} changes were acknowledged: this shows nothing"
        with Memory(self.url) as memory:
            for tenant in TENANTS:
                yield from self.compare(memory.scope(tenant=tenant), tenant, expected[tenant], counts[tenant])
            check = memory.verify()
            if not check.ok:
                yield f"verify: {check}"

    def growth(self) -> Iterator[str]:
        half = self.megabytes[len(self.megabytes) // 3 : len(self.megabytes) // 2]
        last = self.megabytes[-max(1, len(self.megabytes) // 6) :]
        if half and statistics.median(last) > statistics.median(half) * GROWTH + SLACK_MB:
            yield f"memory grew from {statistics.median(half):.0f} to {statistics.median(last):.0f} MB"

    def journals(self) -> tuple[dict[str, dict[str, set[str | None]]], dict[str, tuple[int, int]]]:
        """Return for each id what may stand there (None: nothing), and between which numbers each counter is."""
        expected: dict[str, dict[str, set[str | None]]] = {tenant: {} for tenant in TENANTS}
        counts: dict[str, tuple[int, int]] = dict.fromkeys(TENANTS, (0, 0))
        self.found = []
        self.events = {"acknowledged": 0, "failed": 0}
        for file in sorted(self.folder.glob("*.journal")):
            will: dict[str, Any] | None = None
            for line in file.read_text().splitlines(keepends=True):
                if not line.endswith("\n"):
                    continue
                entry = json.loads(line)
                if "will" in entry:
                    will = entry
                    book(expected, counts, entry, sure=False)
                elif "did" in entry and will is not None:
                    self.events["acknowledged"] += 1
                    book(expected, counts, will, sure=True)
                    will = None
                elif "failed" in entry:
                    self.events["failed"] += 1
                    self.events[entry["failed"]] = self.events.get(entry["failed"], 0) + 1
                elif "fault" in entry:
                    self.found.append(f"{file.stem}: {entry['fault']}")
        return expected, counts

    def compare(
        self, view: Memory, tenant: str, expected: dict[str, set[str | None]], counts: tuple[int, int]
    ) -> Iterator[str]:
        stored: dict[str, str] = {}
        while page := view.list(kind="note", limit=1_000, offset=len(stored)):
            stored |= {record.id: record.text for record in page}
        for id, allowed in expected.items():
            if stored.get(id) not in allowed:
                yield f"{id} of {tenant} is {stored.get(id)!r} and should be one of {allowed!r}"
        for id in stored.keys() - expected.keys():
            yield f"{id} of {tenant} was never written"
        counter = view.kv.get("counter", 0)
        if not counts[0] <= counter <= counts[1]:
            yield f"the counter of {tenant} is {counter} and should be within {counts}"


def book(
    expected: dict[str, dict[str, set[str | None]]],
    counts: dict[str, tuple[int, int]],
    entry: dict[str, Any],
    *,
    sure: bool,
) -> None:
    """Write down what a change leaves behind: for sure, or perhaps, beside what was there before."""
    tenant = entry["tenant"]
    if entry["will"] == "count":
        least, most = counts[tenant]
        counts[tenant] = (least + sure, most + (not sure))
        return
    after = entry["texts"] if entry["will"] == "put" else dict.fromkeys(entry["ids"])
    for id, text in after.items():
        expected[tenant][id] = {text} if sure else {text, *expected[tenant].get(id, {None})}


class Trouble:
    """What happens to the machine: nothing."""

    made: int = 0

    def make(self) -> None:
        """Make some trouble, and end it."""


class FullDisk(Trouble):
    """Somebody else fills the disk for a moment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        ballast = self.folder / "ballast"
        with ballast.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(1 << 20))
            except OSError:
                pass
            time.sleep(0.7)
        ballast.unlink()
        self.made += 1


class Restarts(Trouble):
    """The server is restarted, kindly or not."""

    def __init__(self, server: EmbeddedPostgres) -> None:
        self.server = server

    def make(self) -> None:
        self.server.stop("immediate" if self.made % 2 else "fast")
        self.server.start()
        self.made += 1


@contextmanager
def small_disk(folder: Path) -> Generator[bool]:
    """Give a folder a small disk of its own, where this may be done."""
    mounted = shutil.which("mount") is not None and os.geteuid() == 0
    if mounted:
        order = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MB}m", "tmpfs", str(folder)]
        mounted = subprocess.run(order, capture_output=True, check=False).returncode == 0
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def resident(process: int) -> float:
    """Return how many megabytes of memory a process holds."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


def report(name: str, soak: Soak, trouble: str, start: float) -> bool:
    """Say how it went, and whether all was well."""
    faults = list(soak.faults())
    print(
        f"{name}: {time.monotonic() - start:.0f} s, {soak.events['acknowledged']:,} changes acknowledged,"
        f" {soak.events['failed']:,} refused, {soak.killed} processes killed, {trouble},"
        f" memory {soak.megabytes[len(soak.megabytes) // 3]:.0f} -> {soak.megabytes[-1]:.0f} MB,"
        f" {len(faults)} faults"
    )
    for fault in faults[:20]:
        print(f"  {fault}")
    return not faults


def on_a_file(folder: Path, seconds: float, seed: int) -> bool:
    disk = folder / "disk"
    disk.mkdir()
    start = time.monotonic()
    with small_disk(disk) as small:
        soak = Soak(str(disk / "agent.db"), folder, seed)
        trouble = FullDisk(disk) if small else Trouble()
        soak.run(seconds, trouble)
        summary = (
            f"disk full {trouble.made} times" if small else "disk never full (a small one may not be mounted here)"
        )
        return report("file", soak, summary, start)


def on_a_server(folder: Path, seconds: float, seed: int) -> bool:
    start = time.monotonic()
    with EmbeddedPostgres() as server:
        soak = Soak(server.url(), folder, seed)
        trouble = Restarts(server)
        soak.run(seconds, trouble)
        return report("PostgreSQL", soak, f"server restarted {trouble.made} times", start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    well: list[bool] = []
    for part in (on_a_file, on_a_server):
        with tempfile.TemporaryDirectory() as folder:
            well.append(part(Path(folder), options.minutes * 30, options.seed))
    sys.exit(0 if all(well) else 1)


if __name__ == "__main__":
    main()
