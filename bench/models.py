"""Whether a model whose endpoint is down costs those who write and search anything: `python -m bench.models [rounds]`."""

import socket
import statistics
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from bench.timing import time_call
from rememo import Memory
from rememo.llm.openai import OpenAICompatible

BOUND = 1.1
EACH = 50
PLACES = ["Lisbon", "Porto", "Rome", "Berlin", "Oslo", "Paris", "Madrid", "Vienna", "Prague", "Dublin"]


def unused_address() -> str:
    """Return an address on loopback at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"


def measure(rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Return the median times of adds and searches without a model, and with one that cannot be reached, turn by turn."""
    spent: dict[str, list[tuple[float, float]]] = {"add": [], "search": []}
    with ExitStack() as stack:
        llm = stack.enter_context(OpenAICompatible(unused_address(), "none"))
        views: dict[bool, Memory] = {}
        for with_model in (False, True):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            memory = stack.enter_context(Memory(Path(folder) / "bench.db", llm=llm if with_model else None))
            views[with_model] = memory.scope(user="ana", room="chat")
        for turn in range(rounds):
            took = {
                with_model: one_turn(views[with_model], turn)
                for with_model in ((False, True) if turn % 2 else (True, False))
            }
            for place, name in enumerate(spent):
                spent[name].append((took[False][place], took[True][place]))
    return spent


def one_turn(view: Memory, turn: int) -> tuple[float, float]:
    """Write and search, and return the median times of both."""
    adds, searches = list[float](), list[float]()
    for number in range(EACH):
        text = f"I moved to {PLACES[number % len(PLACES)]} for the {turn * EACH + number}th time."
        adds.append(time_call(lambda text=text: view.messages.add("user", text)))
        question = f"who moved to {PLACES[number // 5 % len(PLACES)]}?"
        if number % 5 == 0:
            searches.append(time_call(lambda question=question: view.search(question, limit=5)))
    return statistics.median(adds), statistics.median(searches)


if __name__ == "__main__":
    worst = 0.0
    for name, turns in measure(int(sys.argv[1]) if len(sys.argv) > 1 else 60).items():
        # Turns that follow each other meet the same machine; what is compared is these, and not the whole run.
        ratio = statistics.median(down / without for without, down in turns)
        without, down = (statistics.median(times) * 1e3 for times in zip(*turns, strict=True))
        worst = max(worst, ratio)
        print(
            f"{name}: {without:.3f} ms without a model, {down:.3f} ms with one whose endpoint is down:"
            f" {ratio:.3f} times (bound: {BOUND})"
        )
    sys.exit(worst > BOUND)
