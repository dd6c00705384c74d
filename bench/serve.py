"""What HTTP costs beside the direct call, and fifty clients that read and write at once: `python -m bench.serve`.

The server is a process of its own (`rememo serve`), the direct call opens the same file; the two take turns.
"""

import argparse
import http.client
import json
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rememo import Client, Memory, Settings
from rememo.bench.speed import sample_messages
from rememo.serve.auth import ApiKeys

BOUND = 2.0
"""Milliseconds that HTTP may add to a search, at the median."""
ROOMS = 50
WARM = 20
FAULT = 400


@contextmanager
def serve_file(path: Path) -> Generator[tuple[str, int]]:
    """Serve a file by the command, on a free port; gives the address and the process. The log goes beside it."""
    command = [sys.executable, "-c", "from rememo.cli import main; main()", "serve", str(path), "--port", "0"]
    with (
        path.with_suffix(".log").open("w") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as server,  # noqa: S603 - ours
    ):
        try:
            first_line = "" if server.stdout is None else server.stdout.readline()
            yield first_line.removeprefix("dashboard: ").strip(), server.pid
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(60)


class HttpConnection:
    """A kept connection with nothing above it, so that the server's time is what is measured."""

    def __init__(self, address: str, key: str) -> None:
        place = urlsplit(address)
        self._line = http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}

    def ask(self, verb: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        self._line.request(verb, path, None if body is None else json.dumps(body).encode(), self._headers)
        answer = self._line.getresponse()
        return answer.status, json.loads(answer.read())

    def close(self) -> None:
        self._line.close()


def fill(path: Path, count: int) -> str:
    """Store what rooms talked about, and return the text of a key."""
    texts = sample_messages(count, seed=1)
    with Memory(path, settings=Settings(durability="fast", worker=False, learn=False)) as memory:
        for room in range(ROOMS):
            memory.scope(user="u", room=f"r{room}").add_many(texts[room::ROOMS])
        return ApiKeys(memory).add(rights=["read", "write"])[1]


def make_questions(count: int, seed: int) -> list[str]:
    """Return questions as long as people's."""
    return [" ".join(text.split()[:6]) for text in sample_messages(count, seed=seed)]


def compare(path: Path, address: str, key: str, rounds: int) -> float:
    """Print medians of a search, direct and over HTTP in turn; returns what HTTP adds, in milliseconds."""
    questions = make_questions(200, seed=2)
    with (
        Memory(path, settings=Settings(worker=False)) as memory,
        Client(address, key) as client,
        closing(HttpConnection(address, key)) as line,
    ):
        room, remote = memory.scope(room="r1"), client.scope(room="r1")

        def over_http(question: str) -> None:
            status, hits = line.ask("POST", "/v1/search?room=r1", {"query": question, "limit": 10})
            if status >= FAULT:
                sys.exit(f"the search failed: {hits}")

        runs: dict[str, Callable[[str], object]] = {
            "direct": lambda question: room.search(question, limit=10),
            "HTTP": over_http,
            "rememo.Client": lambda question: remote.search(question, limit=10),
        }
        taken: dict[str, list[float]] = {name: [] for name in runs}
        for number in range(rounds + WARM):
            for name, run in runs.items():
                start = time.perf_counter()
                run(questions[number % len(questions)])
                if number >= WARM:  # after both sides have read what they keep
                    taken[name].append((time.perf_counter() - start) * 1e3)
    middle = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        more = "" if name == "direct" else f", {middle[name] - middle['direct']:+.2f} ms"
        print(f"search, {name}: p50 {middle[name]:.2f} ms, p99 {statistics.quantiles(times, n=100)[98]:.2f} ms{more}")
    return middle["HTTP"] - middle["direct"]


def measure_crowd(address: str, key: str, clients: int, seconds: float) -> int:
    """Let many clients search, list, add and change for some seconds; prints what they felt, returns what went wrong."""
    texts, questions = sample_messages(2_000, seed=3), make_questions(500, seed=4)
    taken: dict[str, list[float]] = {"search": [], "list": [], "add": [], "update": []}
    wrong: Counter[str] = Counter()
    lock = threading.Lock()
    end = time.perf_counter() + seconds

    def run_client(number: int) -> None:
        choice = random.Random(number)
        own: dict[str, list[float]] = {name: [] for name in taken}
        where = f"user=u&room=r{number % ROOMS}"
        own_ids: list[str] = []
        with closing(HttpConnection(address, key)) as line:
            while time.perf_counter() < end:
                name = choice.choices(["search", "list", "add", "update"], [50, 20, 20, 10])[0]
                name = "add" if name == "update" and not own_ids else name
                text = choice.choice(texts)
                start = time.perf_counter()
                if name == "search":
                    status, hits = line.ask(
                        "POST", f"/v1/search?{where}", {"query": choice.choice(questions), "limit": 10}
                    )
                elif name == "list":
                    status, hits = line.ask("GET", f"/v1/records?{where}&limit=20")
                elif name == "add":
                    status, hits = line.ask("POST", f"/v1/records?{where}", {"text": text})
                    own_ids += hits.get("ids", [])
                else:
                    status, hits = line.ask("PATCH", f"/v1/records/{choice.choice(own_ids)}?{where}", {"text": text})
                own[name].append((time.perf_counter() - start) * 1e3)
                if status >= FAULT:
                    with lock:
                        wrong[f"{name} {status}: {hits['error']['message']}"] += 1
        with lock:
            for name, times in own.items():
                taken[name] += times

    def safely(number: int) -> None:
        try:
            run_client(number)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the bench is for
            with lock:
                wrong[f"client: {error!r}"] += 1

    threads = [threading.Thread(target=safely, args=(number,)) for number in range(clients)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lasted = time.perf_counter() - start
    count = sum(map(len, taken.values()))
    print(f"{clients} clients for {lasted:.0f} s: {count:,} requests, {count / lasted:,.0f} a second")
    for name, latencies in taken.items():
        cuts = statistics.quantiles(latencies, n=100)
        print(
            f"  {name}: {len(latencies):,}, p50 {cuts[49]:.1f} ms, p99 {cuts[98]:.1f} ms, longest {max(latencies):.0f} ms"
        )
    print(f"errors: {sum(wrong.values())}")
    for said_wrong, times in wrong.most_common(5):
        print(f"  {times} times {said_wrong}")
    return sum(wrong.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        key = fill(path, options.records)
        with serve_file(path) as (address, _):
            added = compare(path, address, key, options.rounds)
            print(f"HTTP adds {added:.2f} ms to a search at the median (at most {BOUND:g})")
            wrong = measure_crowd(address, key, options.clients, options.seconds)
    sys.exit(added > BOUND or wrong > 0)


if __name__ == "__main__":
    main()
