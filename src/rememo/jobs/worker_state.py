"""What a worker holds of one process: its threads, and the events that wake them."""

import os
import threading

from rememo.jobs.waiting import JobEndings
from rememo.store.notifications import Subscription

IDLE_SECONDS = 1.0
LISTENING_SECONDS = 5.0
"""How often jobs are looked for by a worker that is notified of them: notifications can be lost, and what failed is tried again."""


class WorkerState:
    """What belongs to one process: threads, locks and events are not carried over a fork."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.due = threading.Event()
        self.urgent = threading.Event()
        """Somebody waits for the work, or for its end."""
        self.wanted: tuple[str, ...] = ()
        """Jobs that somebody waits for: they are done before others."""
        self.written = float("-inf")
        self.endings = JobEndings()
        self.turn_ended = threading.Condition()
        self.busy = 0
        self.thread: threading.Thread | None = None
        self.model_work = threading.Event()
        self.model_thread: threading.Thread | None = None
        """The thread that waits for a model."""
        self.listening: Subscription | None = None
        self.stopping = False
        self.ended = threading.Event()
        """Set with `stopping`, for those who rest."""

    @property
    def idle(self) -> float:
        """How long to wait before looking for jobs without having been told of any."""
        return IDLE_SECONDS if self.listening is None or not self.listening.connected else LISTENING_SECONDS
