"""Ids: UUIDv7, growing."""

import threading
import time
from uuid import UUID

from rememo.model.ids import new_id


def test_ids_are_uuids_of_version_seven_with_the_present_time():
    before = time.time_ns() // 1_000_000
    made = UUID(new_id())
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert before - 1 <= made.int >> 80 <= time.time_ns() // 1_000_000 + 10_000


def test_ids_grow_and_never_repeat_over_threads():
    made: list[list[str]] = []

    def make() -> None:
        made.append([new_id() for _ in range(500)])

    threads = [threading.Thread(target=make) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(ids == sorted(ids) for ids in made)
    assert len({id for ids in made for id in ids}) == 2_000
