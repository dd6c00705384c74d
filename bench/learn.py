"""How many short messages a second one worker learns on one core: `python -m bench.learn [messages]`."""

import random
import statistics
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.jobs.tasks import LEARN
from rememo.jobs.worker import Worker
from rememo.model.ids import new_id
from rememo.model.job import NewJob

BOUND = 1_000
SLOWEST = 1.1
PLACES = ["Lisbon", "Porto", "Rome", "Berlin", "Oslo", "Paris", "Madrid", "Vienna", "Prague", "Dublin"]
PEOPLE = ["Ana", "Bea", "Carl", "Dora", "Emil", "Fay", "Gus", "Hana", "Ivo", "Jana"]
THINGS = ["tea", "coffee", "jazz", "chess", "hiking", "opera", "cycling", "sushi", "gardening", "poetry"]
SAID = (
    "I moved to {place}.",
    "My sister {person} works at Siemens.",
    "I love {thing}!",
    "What time is it in {place}?",
    "ok, thanks",
    "I have a meeting with {person} later today.",
    "That sounds great, let us talk about it tomorrow.",
    "My cat is called Miso.",
    "Could you remind me to call {person}?",
    "I don't like {thing} any more.",
)


def message(dice: random.Random) -> dict[str, object]:
    text = dice.choice(SAID).format(place=dice.choice(PLACES), person=dice.choice(PEOPLE), thing=dice.choice(THINGS))
    job = NewJob(id=new_id(), task=LEARN, payload={})
    return {"text": text, "kind": "message", "data": {"role": "user"}, "jobs": (job,)}


def measure(count: int, users: int = 100) -> tuple[float, int]:
    dice = random.Random(3)
    with (
        tempfile.TemporaryDirectory() as folder,
        Memory(Path(folder) / "bench.db", settings=Settings(durability="full", worker=False)) as memory,
    ):
        for user in range(users):
            view = view_of(memory.scope(user=f"user-{user}", room="chat"))  # jobs are not on the surface
            view.put([message(dice) for _ in range(count // users)])
        worker = Worker(view_of(memory).engine)  # the same engine
        worker.stop()
        begun = time.process_time()
        done = worker.run_until_idle(timeout=600)
        spent = time.process_time() - begun
        return done / spent, memory.count(kind="fact")


def slowdown(rounds: int = 12, each: int = 100) -> float:
    """Return the median time of a message with learning on, as a multiple of that with learning off, taken in turns."""
    with ExitStack() as stack:
        views: dict[bool, Memory] = {}
        for learn in (False, True):
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            memory = stack.enter_context(Memory(Path(folder) / "bench.db", settings=Settings(learn=learn)))
            views[learn] = memory.scope(user="ana", room="chat")
        spent: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(rounds):
            for learn, view in views.items():
                for number in range(each):
                    begun = time.perf_counter()
                    view.messages.add("user", f"I love thing {number}, really.")
                    spent[learn].append(time.perf_counter() - begun)
        return statistics.median(spent[True]) / statistics.median(spent[False])


if __name__ == "__main__":
    rate, facts = measure(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    print(f"{rate:,.0f} messages a second of processor time, {facts:,} facts (bound: {BOUND:,})")
    ratio = slowdown()
    print(f"a message with learning takes {ratio:.2f} times as long as without (bound: {SLOWEST})")
    sys.exit(rate < BOUND or ratio > SLOWEST)
