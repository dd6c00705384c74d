"""One piece of work, done by one peer in its own environment: `python work.py PEER FOLDER TASK [ARGUMENTS]`.

Prints one line of JSON: figures, or what the peer said. Time is limited for each piece: what was done by then is counted.
"""

import json
import os
import random
import re
import sys
import time
import traceback
import uuid
from pathlib import Path
from typing import Any

sys.path.insert(0, os.environ["REMEMO_BENCH_PATH"])  # some peers take what PYTHONPATH names off their own path

from rememo.text import wordfiles

wordfiles.CARRIED = Path(os.environ["REMEMO_BENCH_WORDS"])  # a peer's environment has them not

from rememo.bench.peers.wrappers import PEERS
from rememo.bench.peers.wrappers.peer import Peer

WORDS = [
    "harbour", "violin", "copper", "lantern", "orchard", "winter", "bridge", "pilot", "lemon", "signal", "engine",
    "paper", "river", "ticket", "garden", "window", "market", "letter", "doctor", "planet", "coffee", "summer",
    "teacher", "island", "mirror", "castle", "forest", "silver", "carpet", "bottle", "rocket", "sailor", "pepper",
    "museum",
]  # fmt: skip


def name_of(number: int) -> str:
    """Return an id that every peer takes."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, str(number)))


def text_of(number: int) -> str:
    """Return the text of a number: a sentence of about fifteen words, the same in every process."""
    chance = random.Random(number)
    return f"note {number}: " + " ".join(chance.choices(WORDS, k=12)) + f" {chance.randrange(10_000)}"


def adds(peer: Peer, count: int, seconds: float) -> dict[str, Any]:
    """Add one after the other."""
    start, count_done = time.perf_counter(), 0
    durations: list[float] = []
    while count_done < count and time.perf_counter() - start < seconds:
        before = time.perf_counter()
        peer.add(name_of(count_done), text_of(count_done))
        durations.append(time.perf_counter() - before)
        count_done += 1
    durations.sort()
    return {
        "done": count_done,
        "asked": count,
        "seconds": sum(durations),
        "p50": durations[len(durations) // 2],
        "p99": durations[len(durations) * 99 // 100],
    }


def bulk(peer: Peer, count: int, seconds: float) -> dict[str, Any]:
    """Add as many at once as the peer takes."""
    start, done, size = time.perf_counter(), 0, peer.batch_size
    while done < count and time.perf_counter() - start < seconds:
        peer.add_many([(name_of(done + at), text_of(done + at)) for at in range(min(size, count - done))])
        done += min(size, count - done)
    return {"done": done, "asked": count, "seconds": time.perf_counter() - start}


def searches(peer: Peer, count: int, seconds: float) -> dict[str, Any]:
    """Search for three words each."""
    chance, start, hit_count = random.Random(7), time.perf_counter(), 0
    durations: list[float] = []
    while len(durations) < count and time.perf_counter() - start < seconds:
        question = " ".join(chance.sample(WORDS, k=3))
        before = time.perf_counter()
        hit_count += bool(peer.search(question, 10))
        durations.append(time.perf_counter() - before)
    durations.sort()
    half = len(durations) // 2
    return {
        "done": len(durations),
        "found": hit_count,
        "p50": durations[half],
        "p99": durations[len(durations) * 99 // 100],
    }


def fill_and_search(peer: Peer, counts: str, seconds: float) -> dict[str, Any]:
    """Add many, then search them in the same process."""
    size, count = map(int, counts.split(":"))
    filled = bulk(peer, size, seconds * 2)
    return {**searches(peer, count, seconds), "records": filled["done"]}


def reopen(peer: Peer, count: int, seconds: float) -> dict[str, Any]:  # noqa: ARG001 - all are called alike
    """Search once in a process that has just opened the store; `main` adds how long opening took."""
    before = time.perf_counter()
    hits = peer.search(" ".join(WORDS[:3]), 10)
    return {"first_search": time.perf_counter() - before, "found": len(hits)}


def steadily(peer: Peer, start: int, count: int) -> dict[str, Any]:
    """Add, and say of each that it was acknowledged."""
    for number in range(start, start + count):
        peer.add(name_of(number), text_of(number))
        sys.stdout.write(f"{number}\n")
        sys.stdout.flush()
    return {"done": count}


def present(peer: Peer, start: int, count: int) -> dict[str, Any]:
    """Count what can be read."""
    return {
        "present": len(peer.present([(name_of(number), text_of(number)) for number in range(start, start + count)]))
    }


def quality(make: Any, folder: Path, file: Path, seconds: float) -> dict[str, Any]:
    """Ask questions whose answers are known, each in the conversation it belongs to."""
    hits = done = 0
    start = time.perf_counter()
    cases = [json.loads(line) for line in file.read_text().splitlines()]
    total = sum(len(case["questions"]) for case in cases)
    for number, case in enumerate(cases):
        scope_folder = folder / f"scope-{number}"
        scope_folder.mkdir()
        peer = make(scope_folder)
        peer.converse(case["turns"])
        for question in case["questions"]:
            nearest = set(peer.ask(question, 10))
            hits += len(nearest & set(question["evidence"])) / len(question["evidence"])
            done += 1
            if time.perf_counter() - start > seconds:
                return {"recall_at_10": hits / done, "done": done, "asked": total}
        peer.close()
    return {"recall_at_10": hits / done, "done": done, "asked": total}


def run_task(name: str, folder: Path, task: str, arguments: list[str]) -> dict[str, Any]:
    """Open a peer's store and do one piece of work there."""
    make = PEERS[name]
    if task == "quality":
        return quality(make, folder, Path(arguments[0]), float(arguments[1]))
    before = time.perf_counter()
    peer = make(folder)
    opened = time.perf_counter() - before
    if task == "fill-and-search":
        result = fill_and_search(peer, arguments[0], float(arguments[1]))
    elif task in {"steadily", "present"}:
        result = (steadily if task == "steadily" else present)(peer, int(arguments[0]), int(arguments[1]))
    else:
        piece = {"adds": adds, "bulk": bulk, "reopen": reopen}[task]
        result = piece(peer, int(arguments[0]), float(arguments[1]))
    result["opened"] = opened
    peer.close()
    return result


def main() -> None:
    """Run a task, and print its result."""
    name, folder, task, *arguments = sys.argv[1:]
    try:
        result = run_task(name, Path(folder), task, arguments)
    except BaseException as error:  # noqa: BLE001 - what it said is the result
        last = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error}".replace(folder, "…").replace(str(Path(__file__)), "work.py")
        message = re.sub(r"PID \d+", "PID …", message)[:300]
        result = {"said": message, "where": f"{Path(last.filename).name}:{last.lineno}"}
    sys.stdout.write("\n" + json.dumps(result) + "\n")
    sys.stdout.flush()
    os._exit(0)  # some peers leave threads behind that never end


if __name__ == "__main__":
    main()
