"""How soon each view of the dashboard is there on a large file: `python -m bench.dashboard`.

The server is a process of its own (`rememo serve`). Cold is the first request to a server that has just started, a new one for
each view; warm is the median of the requests after it. A page that takes a while comes in two parts, and a browser shows the
first at once: what counts is the first byte, or with `--paint` when a browser has shown something.
"""

import argparse
import http.client
import os
import runpy
import statistics
import sys
import tempfile
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from bench.serve import serve_file
from rememo import Memory, Settings
from rememo.bench.speed import sample_messages

BOUND = 300.0
"""Milliseconds in which any view must be there."""
LARGEST = 200_000
"""Bytes of a view."""
ROOMS, USERS = 100, 50
FACTS, TIES, CONFLICTS, EDITED = 2_000, 2_000, 20, 1_000
START = datetime(2026, 1, 1, tzinfo=UTC)


def fill(path: Path, count: int) -> None:
    """Store a year of messages in many rooms, with facts, relationships, conflicts and later versions."""
    texts = sample_messages(count - FACTS - TIES, seed=1)
    with Memory(path, settings=Settings(durability="fast", worker=False, learn=False, audit=True)) as memory:
        for room in range(ROOMS):
            some = texts[room::ROOMS]
            memory.scope(user=f"user {room % USERS}", room=f"room {room}").add_many(
                {"text": text, "kind": "message", "data": {"role": "user"}}
                | {"occurred_at": START + timedelta(minutes=500 * place + room)}
                for place, text in enumerate(some)
            )
        memory.snapshot("filled")
        memory.facts.policy("favourite_colour", "ask")
        for place in range(FACTS):
            memory.scope(user=f"user {place % USERS}").facts.add(f"person {place}", "lives_in", texts[place].split()[6])
        for place in range(CONFLICTS):
            for colour in ("green", "blue"):
                memory.facts.add(f"person {place}", "favourite_colour", colour)
        for place in range(TIES):
            memory.relationships.add(f"person {place % 300}", f"person {place * 7 % 1_000 + 300}", "knows")
        for record in memory.scope(room="room 1").list(limit=EDITED):
            memory.update(record.id, text=record.text + " indeed")


def views(path: Path) -> dict[str, str]:
    """Return the addresses to ask for, by a name."""
    with Memory(path, settings=Settings(worker=False)) as memory:
        message = memory.scope(room="room 1").list(limit=1)[0].id
        made = memory.snapshots()["filled"].isoformat()
    word = sample_messages(1, seed=1)[0].split()[6]
    return {
        "overview": "/",
        "overview of a user": "/?user=user+1",
        "overview, past": f"/?known_at={quote(made)}",
        "search": "/search",
        "search, a question": f"/search?q={word}",
        "search, a kind": "/search?kind=fact",
        "hits of a key press": f"/search/hits?q={word}",
        "rooms": "/rooms",
        "room": "/room?room=room+1",
        "room, around": f"/room?room=room+1&around={message}",
        "record": f"/record?id={message}",
        "facts": "/facts",
        "facts of a moment": "/facts?valid_at=2026-06-01T00:00",
        "conflicts": "/conflicts",
        "graph": "/graph",
        "graph around": "/graph?entity=person+1",
        "context": f"/context?q={word}",
        "versions": "/versions",
        "versions, compared": "/versions?since=filled",
        "versions, everything": "/versions?since=2026-01-01",
        "going back": "/versions?back=filled",
        "erase": "/erase",
        "erase somebody": "/erase?user=user+1",
        "quarantine": "/quarantine",
        "jobs": "/jobs",
        "flows": "/flows",
        "audit": "/audit",
        "keys": "/keys",
        "settings": "/settings",
    }


def time_request(address: str, path: str) -> tuple[float, float, int]:
    """Return the milliseconds to the first byte and to the last, and the bytes."""
    place = urlsplit(address)
    with closing(http.client.HTTPConnection(place.hostname or "", place.port, timeout=60)) as line:
        start = time.perf_counter()
        line.request("GET", path)
        answer = line.getresponse()
        first = time.perf_counter() - start
        body = answer.read()
        whole = time.perf_counter() - start
    if answer.status != http.client.OK:
        sys.exit(f"{path} was answered {answer.status}: {body[:300]!r}")
    return first * 1e3, whole * 1e3, len(body)


def time_paint(browser: Any, address: str, path: str) -> float:
    """Return the milliseconds until a new page of a browser showed something."""
    with closing(browser.new_page()) as page:
        page.goto(address + path, wait_until="load")
        return page.evaluate(
            "new Promise((resolve) => new PerformanceObserver((list) => resolve(list.getEntries()[0].startTime))"
            ".observe({ type: 'paint', buffered: true }))"
        )


def cpu_milliseconds(number: int) -> float:
    """Return the milliseconds of processor time that a process has used; 0 where nobody tells."""
    try:
        fields = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * 1_000 / os.sysconf("SC_CLK_TCK")


def wait_until_idle(number: int) -> float:
    """Wait until a process has read in advance what it wants to; returns what it has used."""
    before, now = -1.0, cpu_milliseconds(number)
    while now > before:
        time.sleep(0.3)
        before, now = now, cpu_milliseconds(number)
    return now


def measure(path: Path, wanted: dict[str, str], rounds: int, browser: Any) -> list[str]:
    """Print a line for each view; returns what took too long or is too large."""
    wrong: list[str] = []
    print("milliseconds to the first and to the last byte; cpu: the server's own, of a warm request")
    print(
        f"{'view':22} {'cold first':>10} {'last':>6} {'warm first':>10} {'last':>6} {'cpu':>6} {'paint':>9} {'warm':>5} {'KB':>5}"
    )
    for name, address in wanted.items():
        with serve_file(path) as (server, number):
            cold = time_request(server, address)
            before = wait_until_idle(number)
            runs = [time_request(server, address) for _ in range(rounds)]
            cpu = (cpu_milliseconds(number) - before) / rounds
        paint = again = None
        if browser is not None:
            with serve_file(path) as (server, number):
                paint = time_paint(browser, server, address)
                wait_until_idle(number)
                again = time_paint(browser, server, address)
        first, last = (statistics.median(run[place] for run in runs) for place in (0, 1))
        size, paint_times = runs[0][2], "" if paint is None or again is None else f"{paint:6.0f} {again:5.0f}"
        print(
            f"{name:22} {cold[0]:10.0f} {cold[1]:6.0f} {first:10.0f} {last:6.0f} {cpu:6.0f} {paint_times:>15} {size / 1e3:5.0f}",
            flush=True,
        )
        if max(cold[0], first, paint or 0, again or 0) > BOUND:
            wrong.append(name)
        if size > LARGEST:
            wrong.append(f"{name} ({size:,} bytes)")
    return wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--file", type=Path, help="A file of an earlier run, or where to make one.")
    parser.add_argument("--views", nargs="*", help="These only, by their names.")
    parser.add_argument("--paint", action="store_true", help="Also ask a browser.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path: Path = options.file or Path(folder) / "memory.db"
        if not path.exists():
            fill(path, options.records)
        wanted = {name: view for name, view in views(path).items() if not options.views or name in options.views}
        if options.paint:
            from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only where it is asked for

            program = runpy.run_path(str(Path(__file__).parents[1] / "tools" / "browser.py"))["browser"]()
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
                browser.new_page().close()
                wrong = measure(path, wanted, options.rounds, browser)
                browser.close()
        else:
            wrong = measure(path, wanted, options.rounds, None)
    print(f"over {BOUND:g} ms: {', '.join(wrong) or 'none'}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
