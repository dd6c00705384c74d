"""What an assistant waits for: `rememo mcp` to start, and `recall` to answer: `python -m bench.mcp`.

A client starts the server as a process and speaks to it over a pipe, line by line, so that nothing of a client's own is in
the figures. The least of several starts counts: others use the machine too.
"""

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rememo import Memory, Settings

START, RECALL = 1.0, 50.0
COMMAND = [sys.executable, "-c", "from rememo.cli import main; main()", "mcp"]
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
PEOPLE = ["Ana", "Bruno", "Clara", "Diego", "Elif", "Farid"]
THINGS = ["tea", "the launch", "a violin", "the garden", "chess", "a dentist", "the budget", "Lisbon", "a sailing trip"]
VERBS = ["likes", "talked about", "is worried about", "bought", "forgot", "wants to plan", "asked for news of"]


class McpProcess:
    """A server at the other end of a pipe."""

    def __init__(self, file: Path) -> None:
        began = time.perf_counter()
        self._process = subprocess.Popen(  # noqa: S603 - as above
            [*COMMAND, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self._questions: Any = self._process.stdin
        self._answers: Any = self._process.stdout
        self._id = 0
        self.ask("initialize", HELLO)
        self.started = time.perf_counter() - began
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.call("recall", query="tea")
        self.ready = time.perf_counter() - began

    def ask(self, method: str, params: Any) -> Any:
        self._id += 1
        self._send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return json.loads(self._answers.readline())["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        answer = self.ask("tools/call", {"name": tool, "arguments": arguments})
        if answer.get("isError"):
            sys.exit(str(answer))
        return answer["structuredContent"]

    def _send(self, message: Any) -> None:
        self._questions.write(json.dumps(message) + "\n")

    def close(self) -> None:
        self._process.communicate()


def fill(file: Path, count: int) -> None:
    chance = random.Random(7)
    with Memory(file, settings=Settings(durability="fast", learn=False)) as memory:
        for start in range(0, count, 1_000):
            memory.add_many(
                f"{chance.choice(PEOPLE)} {chance.choice(VERBS)} {chance.choice(THINGS)}, note {start + place}."
                for place in range(min(1_000, count - start))
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--starts", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=300)
    options = parser.parse_args()
    chance = random.Random(8)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "memory.db"
        fill(file, options.records)
        starts: list[tuple[float, float]] = []
        for left in reversed(range(options.starts)):
            server = McpProcess(file)
            starts.append((server.started, server.ready))
            if left:
                server.close()
        started, ready = min(seconds for seconds, _ in starts), min(seconds for _, seconds in starts)
        print(
            f"rememo mcp answers {started:.2f} s after it was started (at most {START:.0f}), the first recall after {ready:.2f} s"
        )
        times: list[float] = []
        for _ in range(options.rounds):
            query = f"what does {chance.choice(PEOPLE)} say about {chance.choice(THINGS)}?"
            began = time.perf_counter()
            server.call("recall", query=query)
            times.append((time.perf_counter() - began) * 1e3)
        server.close()
        middle, late = statistics.median(times), statistics.quantiles(times, n=100)[98]
        print(
            f"recall among {options.records:,} records: p50 {middle:.1f} ms, p99 {late:.1f} ms (at most {RECALL:.0f})"
        )
    if started > START or late > RECALL:
        sys.exit("too slow")


if __name__ == "__main__":
    main()
