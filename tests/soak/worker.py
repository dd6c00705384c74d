"""One process of the soak: writes and reads at random until it is killed or told to stop, and writes down what it was told.

Before a change its journal says what will be done, and after the receipt that it was. The journal is only appended to, by
single writes, so what stands in it survives `kill -9` of its writer.
"""

import json
import os
import random
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from rememo import Memory, Settings
from rememo.errors import Busy, DiskFull, StorageError

TENANTS = ("north", "south", "east", "west")
MOST_LIVE = 200
WORDS = [
    "river",
    "lamp",
    "garden",
    "violin",
    "harbour",
    "ticket",
    "copper",
    "window",
    "pilot",
    "lemon",
    "bridge",
    "winter",
    "paper",
    "signal",
    "orchard",
    "engine",
]


class Jumping:
    """A clock that an operator corrects now and then, in either direction."""

    def __init__(self) -> None:
        self._off = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self._off

    def jump(self, chance: random.Random) -> None:
        self._off = timedelta(seconds=chance.uniform(-7200, 7200))


class Worker:
    """Does one thing after another."""

    def __init__(self, url: str, name: str, journal: str) -> None:
        self.chance = random.Random(name)
        self.clock = Jumping()
        self.name = name
        self.made = 0
        self.live: dict[str, list[str]] = {tenant: [] for tenant in TENANTS}
        self._journal = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._url = url
        self.memory = self._open()

    def _open(self) -> Memory:
        return Memory(self._url, clock=self.clock, settings=Settings(busy_timeout=20.0))

    def say(self, **what: Any) -> None:
        os.write(self._journal, (json.dumps(what) + "\n").encode())

    def view(self) -> tuple[str, Memory]:
        tenant = self.chance.choice(TENANTS)
        return tenant, self.memory.scope(tenant=tenant, room=f"room-{self.chance.randrange(3)}")

    def text(self, tenant: str) -> str:
        return (
            f"of-{tenant} "
            + " ".join(self.chance.choices(WORDS, k=self.chance.randrange(3, 25)))
            + f" {self.chance.random()}"
        )

    def id(self) -> str:
        self.made += 1
        return f"{self.name}-{self.made}"

    # ---- what it does

    def add(self) -> None:
        tenant, view = self.view()
        texts = {self.id(): self.text(tenant) for _ in range(self.chance.choice((1, 1, 1, 1, 5)))}
        self.say(will="put", tenant=tenant, texts=texts)
        if len(texts) == 1:
            [(id, text)] = texts.items()
            view.add(text, id=id, key=self.chance.choice((None, f"key-{id}")))
        else:
            view.add_many([{"text": text, "id": id} for id, text in texts.items()])
        self.did()
        self.live[tenant] += texts

    def update(self) -> None:
        tenant, id = self.one_of_mine()
        if id:
            text = self.text(tenant)
            self.say(will="put", tenant=tenant, texts={id: text})
            self.memory.scope(tenant=tenant).update(id, text=text)
            self.did()

    def delete(self) -> None:
        tenant, id = self.one_of_mine()
        if id:
            self.live[tenant].remove(id)
            self.say(will="delete", tenant=tenant, ids=[id])
            self.memory.scope(tenant=tenant).delete(id)
            self.did()

    def count(self) -> None:
        tenant, _ = self.view()
        self.say(will="count", tenant=tenant)
        self.memory.scope(tenant=tenant).kv.update("counter", lambda value: (value or 0) + 1)
        self.did()

    def read(self) -> None:
        tenant, view = self.view()
        how = self.chance.choice((self._search_texts, self._search_texts, self._listed, self._fetched))
        for text in how(view):
            if not text.startswith(f"of-{tenant} "):
                self.say(fault=f"a reader of {tenant} was shown {text[:60]!r}")

    def _search_texts(self, view: Memory) -> list[str]:
        words = " ".join(self.chance.choices(WORDS, k=3))
        return [hit.record.text for hit in view.search(words, kind="note", limit=10)]

    def _listed(self, view: Memory) -> list[str]:
        return [record.text for record in view.list(kind="note", limit=20)]

    def _fetched(self, view: Memory) -> list[str]:
        tenant, id = self.one_of_mine(view.bound.tenant)
        record = self.memory.scope(tenant=tenant).get(id) if id else None
        if id and record is None:
            self.say(fault=f"{id} of {tenant} is gone")
        return [record.text] if record else []

    def tidy(self) -> None:
        tenant, _ = self.view()
        self.memory.scope(tenant=tenant).maintain()

    def one_of_mine(self, tenant: str | None = None) -> tuple[str, str | None]:
        tenant = tenant or self.chance.choice(TENANTS)
        own = self.live[tenant]
        return tenant, self.chance.choice(own) if own else None

    def did(self) -> None:
        self.say(did=True)

    # ---- going on

    def step(self) -> None:
        full = any(len(own) > MOST_LIVE for own in self.live.values())
        acts: list[Callable[[], None]] = [self.add, self.update, self.delete, self.count, self.read, self.tidy]
        [act] = self.chance.choices(acts, weights=(0 if full else 30, 10, 60 if full else 8, 4, 40, 0.3))
        if self.chance.random() < 0.01:
            self.clock.jump(self.chance)
        before = {tenant: list(own) for tenant, own in self.live.items()} if act is self.update else None
        try:
            act()
        except (Busy, DiskFull, StorageError) as error:
            # Whether it was done is not known; what it was about is not touched again.
            self.say(failed=type(error).__name__, why=str(error)[:200])
            if before is not None:
                self.live = {tenant: [] for tenant in TENANTS}
            time.sleep(0.05)  # a full disk or a server that restarts is not asked a thousand times a second


def main() -> None:
    url, name, journal = sys.argv[1:4]
    while True:
        try:
            worker = Worker(url, name, journal)
            break
        except StorageError:
            time.sleep(0.1)  # the server is just restarting, or the disk is full
    stop = os.getppid()
    while os.getppid() == stop:
        try:
            worker.step()
        except Exception as error:  # whatever it is, it is a finding
            worker.say(fault=f"{type(error).__name__}: {error}"[:500])
            raise


if __name__ == "__main__":
    main()
