"""The two threads of a worker: one for what rules do, one for what waits for a model."""

import logging
import time
import weakref
from typing import TYPE_CHECKING

from rememo.engine.learning import RULE_TASKS
from rememo.errors import Closed, StorageError
from rememo.jobs.worker_state import IDLE_SECONDS, LISTENING_SECONDS, WorkerState

if TYPE_CHECKING:
    from rememo.jobs.worker import Worker

BATCH, _SMALL_BATCH, _FEW = 256, 64, 64
_QUIET_SECONDS = 0.05
"""Writes that far apart leave room for the worker; while they come faster it stands back."""
_STANDING_BACK, _LONGEST_BACK = 20.0, 2.0
"""How many times as long as a turn it then rests, and how many seconds at the most."""
_log = logging.getLogger("rememo.worker")


def run_rule_tasks(reference: "weakref.ref[Worker]", state: WorkerState) -> None:
    """Turn until the worker is stopped or forgotten; between turns nothing holds on to it."""
    worked = _LONGEST_BACK
    while not state.stopping:
        state.due.clear()
        busy = _stand_back(state, worked)
        worker = reference()
        if worker is None:
            return
        count, began = 0, time.monotonic()
        try:
            wanted, state.wanted = state.wanted[:_FEW], state.wanted[_FEW:]
            if wanted:
                count = worker.run_once(ids=wanted, tasks=RULE_TASKS)
            if not count:
                count = worker.run_once(limit=_SMALL_BATCH if busy else BATCH, tasks=worker.lanes()[0])
        except Closed:
            return
        except Exception as error:  # noqa: BLE001 - the thread outlives whatever a turn raises, and the jobs keep
            _rest(state, error)
        del worker
        worked = time.monotonic() - began
        if not count and not state.stopping:
            state.due.wait(state.idle)
            worked = _LONGEST_BACK


def run_model_tasks(reference: "weakref.ref[Worker]", state: WorkerState) -> None:
    """Run the jobs that need a model until the worker is stopped or garbage-collected, whatever the other thread does."""
    while not state.stopping:
        state.model_work.clear()
        worker, count = reference(), 0
        if worker is None:
            return
        try:
            count = worker.run_once(limit=_SMALL_BATCH, tasks=worker.lanes()[1])
        except Closed:
            return
        except Exception as error:  # noqa: BLE001 - the thread outlives whatever a turn raises, and the jobs keep
            _rest(state, error)
        del worker
        if not count and not state.stopping:
            state.model_work.wait(LISTENING_SECONDS)


def _rest(state: WorkerState, error: Exception) -> None:
    """Log a failed run, and pause: whoever waits for the jobs asks for the next run at once, again and again."""
    if isinstance(error, StorageError):
        _log.warning("the store cannot be worked on now: %s", error)
    else:
        _log.error("a turn of the worker failed", exc_info=error)
    state.ended.wait(IDLE_SECONDS)


def _stand_back(state: WorkerState, worked: float) -> bool:
    """Rest while this process writes one thing after the other; says whether it still does."""
    ends = time.monotonic() + min(worked * _STANDING_BACK, _LONGEST_BACK)
    while not state.stopping and not state.urgent.is_set():
        now, quiet = time.monotonic(), state.written + _QUIET_SECONDS
        if now >= quiet:
            return False
        if now >= ends:
            return True
        state.urgent.wait(min(ends, quiet) - now)
    state.urgent.clear()
    return False
