"""The worker: does jobs when their time has come, in this process or in one of its own.

Jobs are leased, so that one worker has one job; what they do can be repeated without a second effect, so that a worker
that dies in the middle, or whose lease runs out, costs time and nothing else.
"""

import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rememo.endpoint.cancellation import CancelToken, cancelled_by
from rememo.engine.audit import acting_as_worker
from rememo.engine.drafting import EMBED
from rememo.engine.engine import Engine
from rememo.engine.job_payloads import ABSTRACT, EXTRACT, SUMMARISE, UNLEARN
from rememo.engine.learning import RULE_TASKS
from rememo.errors import JobFailed, KeyMismatch
from rememo.jobs.heartbeat import LEASE_SECONDS, Heartbeat
from rememo.jobs.outcomes import (
    MOST_ATTEMPTS,
    MOST_ATTEMPTS_OF_AN_OUTAGE,
    describe_dead_job,
    settlement_of,
    storable_reason,
)
from rememo.jobs.tasks import OUTCOME, TASKS, UNLEARNED_OUTCOMES, Errors, do_all
from rememo.jobs.waiting import OPEN, wait_for_jobs
from rememo.jobs.worker_state import WorkerState
from rememo.jobs.worker_threads import BATCH, run_model_tasks, run_rule_tasks
from rememo.model.ids import new_id
from rememo.model.job import Job, NewJob, Settlement
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS, Scope
from rememo.store.notifications import WorkerNotifier
from rememo.store.writes import Written

_log = logging.getLogger("rememo.worker")


class Worker:
    """Runs the jobs of one engine; thread-safe, and safe beside any number of others on the same store."""

    def __init__(self, engine: Engine, *, lease: float = LEASE_SECONDS) -> None:
        """Make one; `lease` is for how many seconds jobs are its own unless it says that it is still at them."""
        self.engine = engine
        self._lease = lease
        self._state = WorkerState()

    @property
    def _worker_state(self) -> WorkerState:
        if self._state.process != os.getpid():
            self._state = WorkerState()
        return self._state

    # ---- the thread

    @property
    def running(self) -> bool:
        """Whether its thread runs in this process."""
        thread = self._worker_state.thread
        return thread is not None and thread.is_alive()

    def start(self, *, listen: bool = False) -> None:
        """Work in the background from now on; starting twice is harmless.

        With `listen` it is told of jobs that others write, where the store can do that, instead of looking all the time.
        """
        state = self._worker_state
        with state.lock:
            store = self.engine.store
            if listen and state.listening is None and isinstance(store, WorkerNotifier):
                state.listening = store.listen(state.due.set)
            if state.thread is None or not state.thread.is_alive():
                state.stopping = False
                state.ended.clear()
                state.thread = threading.Thread(
                    target=run_rule_tasks, args=(weakref.ref(self), state), name="rememo-worker", daemon=True
                )
                state.thread.start()
            if self.engine.models is not None and (state.model_thread is None or not state.model_thread.is_alive()):
                state.model_thread = threading.Thread(
                    target=run_model_tasks, args=(weakref.ref(self), state), name="rememo-asking", daemon=True
                )
                state.model_thread.start()

    def wake(self) -> None:
        """Look for jobs: a write has just enqueued one. Starts the thread where it does not run yet.

        The work begins as soon as writes pause or somebody waits for it, so that it does not take their time.
        """
        state = self._worker_state
        state.written = time.monotonic()
        if not self.running:
            self.start()
        state.due.set()

    def after(self, written: Written, reach: Scope | None = None) -> list[NewJob]:
        """Return the jobs that bring in line what was learned from a record that is gone or changed, within `reach`."""
        if written.outcome not in UNLEARNED_OUTCOMES.get(written.kind, ()):
            return []
        payload: dict[str, Any] = {
            "record": written.id, "version": written.version, "room": written.scope.room, OUTCOME: written.outcome,
        }  # fmt: skip
        if reach is not None:
            payload["reach"] = {name: getattr(reach, name) for name in LABELS if getattr(reach, name) is not None}
        return [NewJob(id=new_id(), task=UNLEARN, payload=payload)]

    def stop(self, timeout: float = 5.0) -> bool:
        """End the thread after the jobs it is at; False when they take longer than that. What is left stays stored."""
        state = self._worker_state
        with state.lock:
            state.stopping = True
            state.ended.set()
            state.urgent.set()
            state.due.set()
            state.model_work.set()
            threads, listening = (state.thread, state.model_thread), state.listening
            state.listening = None
        if listening is not None:
            listening.close()
        ends = time.monotonic() + timeout
        begun = [thread for thread in threads if thread is not None and thread is not threading.current_thread()]
        for thread in begun:
            thread.join(max(0.0, ends - time.monotonic()))
        return not any(thread.is_alive() for thread in begun)

    # ---- the work

    def lanes(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tasks that are done at once, and those that wait for a model, so that nothing else waits for them."""
        quick = TASKS
        if self.engine.model.follow().embedder is None:
            # Vectors are left to a process that has the model: here they could only fail.
            quick = tuple(task for task in TASKS if task != EMBED)
        if self.engine.models is None:
            # What was left to a model that is there no more is written without one.
            return (*quick, ABSTRACT), ()
        return quick, (EXTRACT, ABSTRACT)

    def run_once(
        self, *, limit: int = BATCH, ids: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> int:
        """Run the jobs that are due now, at most `limit`, and return how many.

        What only a language model can do is left to others where there is none here.
        """
        state = self._worker_state
        if tasks is None:
            quick, slow = self.lanes()
            tasks = (*quick, *slow)
        with state.turn_ended:
            state.busy += 1
        try:
            engine = self.engine
            jobs = engine.store.lease_many(tasks, self._lease, engine.now(), limit=limit, ids=ids)
            if jobs:
                self.do(jobs)
            return len(jobs)
        finally:
            with state.turn_ended:
                state.busy -= 1
                state.turn_ended.notify_all()

    def run_until_idle(self, timeout: float = 60.0) -> int:
        """Run all jobs that are due, and return how many; raises `JobFailed` when it takes longer."""
        ends, total = time.monotonic() + timeout, 0
        state = self._worker_state
        while True:
            count = self.run_once()
            total += count
            if count == 0:
                with state.turn_ended:
                    if state.turn_ended.wait_for(lambda: state.busy == 0, max(0.0, ends - time.monotonic())):
                        return total
            if time.monotonic() > ends:
                raise JobFailed(f"jobs are still being done after {timeout:g} seconds; wait longer, or list them")

    def follow(self, receipt: Receipt, timeout: float, *, tenant: str) -> Receipt:
        """Return the receipt once its jobs are done; raises `JobFailed` when one is dead or the time is over.

        Vectors that only a process with another embedding model can make are not waited for: the receipt is `learning`
        then, and its notes say why.
        """
        jobs = self.wait(tenant, receipt.jobs, timeout)
        if dead := [job for job in jobs if job.state == "dead"]:
            raise JobFailed(describe_dead_job(dead[0]))
        open_jobs = [job for job in jobs if job.state in OPEN]
        notes = tuple(dict.fromkeys(job.error for job in jobs if job.error))
        if not open_jobs:
            return replace(receipt, status="done", notes=notes)
        if all(self._left_to_others(job) for job in open_jobs):
            why = (
                self.engine.model.active.words_only or "vectors are left to a process that was opened with an embedder"
            )
            return replace(receipt, status="learning", notes=(*notes, why))
        job = open_jobs[0]
        why = f"; its last attempt failed: {job.error}" if job.error else ""
        raise JobFailed(f"job {job.id!r} ({job.task}) is not done after {timeout:g} seconds{why}")

    def wait(self, tenant: str, ids: Sequence[str], timeout: float) -> list[Job]:
        """Return jobs as they are once they have ended, or one is dead, or the time is over.

        Where no thread runs, the caller does the work itself. What is left to other processes is not waited for.
        """
        state = self._worker_state

        def help(due: Sequence[Job]) -> bool:
            if not self.running:
                return self.run_once(ids=[job.id for job in due]) > 0
            state.urgent.set()
            state.due.set()
            state.model_work.set()
            return False

        return wait_for_jobs(
            self.engine, tenant, ids, timeout, endings=state.endings, help=help, pass_over=self._left_to_others
        )

    def finish_extraction(self, tenant: str, jobs: Sequence[str], seconds: float) -> bool:
        """Wait until lessons are done, for so long at the most; says whether they are.

        The worker's thread does them next, where nobody has begun: who waits writes nothing, and so no lock of a writer
        holds a read up. What only a model can add, and what failed and is tried again later, is not waited for.
        """
        state = self._worker_state

        def pass_over(job: Job) -> bool:
            postponed = job.state == "waiting" and job.attempts > 0 and job.due_at > self.engine.now()
            return job.task not in RULE_TASKS or postponed

        def help(due: Sequence[Job]) -> bool:
            state.wanted = tuple(dict.fromkeys((*state.wanted, *(job.id for job in due))))
            if not self.running:
                self.start()
            state.urgent.set()
            state.due.set()
            return False

        finished = wait_for_jobs(
            self.engine, tenant, jobs, seconds, endings=state.endings, help=help, pass_over=pass_over
        )
        return not any(job.state in OPEN and not pass_over(job) for job in finished)

    def _left_to_others(self, job: Job) -> bool:
        """Whether only a process with the store's embedding model can do a job, and this is none."""
        return job.task == EMBED and self.engine.model.active.embedder is None

    def do(self, jobs: Sequence[Job]) -> None:
        """Run jobs that were leased, and settle them."""
        lost = CancelToken()
        heartbeat = Heartbeat(self.engine, jobs, self._lease, lost=lost.cancel)
        try:
            errors: Errors = {}
            doing: list[Job] = []
            for job in jobs:
                # One that failed before has waited in between; one that never ended takes its worker with it.
                if job.attempts > (MOST_ATTEMPTS if job.error is None else MOST_ATTEMPTS_OF_AN_OUTAGE):
                    errors[job.tenant, job.id] = job.error or f"it was begun {MOST_ATTEMPTS} times and never ended"
                elif job.task != SUMMARISE or self.engine.models is None:  # else a model will write it
                    doing.append(job)
            with acting_as_worker(), cancelled_by(lost):
                errors |= do_all(self.engine, doing)
        finally:
            heartbeat.stop()
        endings = [settlement_of(self.engine, job, errors.get((job.tenant, job.id))) for job in jobs]
        self._settle([ending._replace(error=storable_reason(ending.error)) for ending in endings])
        self._worker_state.endings.tell()
        if any(ending.task is not None for ending in endings):
            self._worker_state.model_work.set()

    def _settle(self, endings: Sequence[Settlement]) -> None:
        """End leases together; where one of them keeps the others from ending, each by itself."""
        try:
            self.engine.store.settle_many(endings)
        except KeyMismatch as error:
            if len(endings) == 1:
                # Its lease runs out, and it is done again by somebody who can write of it.
                _log.error("job %s of tenant %s cannot be settled: %s", endings[0].job.id, endings[0].job.tenant, error)
                return
            for ending in endings:
                self._settle([ending])
