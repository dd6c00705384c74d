"""A server of several processes."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.test_command import COMMAND, LONGEST, rememo

from rememo.errors import RateLimited
from rememo.serve.limits import RateLimit
from rememo.serve.token_buckets import SharedBuckets, make_bucket_file
from rememo.serve.worker_metrics import merge

_RUNS = re.compile(r"worker \d runs as process (\d+)")


class WorkerServer:
    """A `rememo serve` of two workers, whose log is read line by line."""

    def __init__(self, file: Path) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "serve", str(file), "--port", "0", "--workers", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._watchdog = threading.Timer(LONGEST, self.process.kill)
        self._watchdog.start()
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().removeprefix("dashboard: ").strip()

    def wait_for(self, pattern: "re.Pattern[str]") -> "re.Match[str]":
        """Return the next line of the log that matches."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if match := pattern.search(line):
                return match
        raise AssertionError(f"the server ended without saying {pattern.pattern!r}")

    def close(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.communicate()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[WorkerServer]:
    with closing(WorkerServer(tmp_path / "a.db")) as server:
        yield server


def ask_while(address: str, action: Callable[[], object]) -> list[int]:
    """Return the statuses of requests on new connections that are sent until an action is over."""
    over = threading.Event()

    def ask() -> list[int]:
        statuses: list[int] = []
        while not over.is_set():
            statuses.append(httpx.get(f"{address}/v1/records", timeout=30, trust_env=False).status_code)
        return statuses

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        try:
            action()
        finally:
            over.set()
        return asked.result()


@pytest.mark.requirement("api.rest")
def test_workers_share_a_server_from_start_to_stop(served: WorkerServer, tmp_path: Path):
    first, _ = (int(served.wait_for(_RUNS)[1]) for _ in range(2))
    with httpx.Client(base_url=served.address, timeout=30, trust_env=False) as web:
        web.post("/v1/messages", params={"user": "ana"}, json={"role": "user", "content": "I live in Lisbon."})
        for _ in range(6):  # each on a connection of its own, so that either worker may answer
            listed = httpx.get(f"{served.address}/v1/messages", timeout=30, trust_env=False).json()
            assert [message["content"] for message in listed["items"]] == ["I live in Lisbon."]
        metrics = web.get("/metrics").text
    assert 'rememo_http_requests_total{method="GET",route="/v1/messages",status="200"} 6.0' in metrics

    os.kill(first, signal.SIGKILL)
    served.wait_for(re.compile("worker 0 ended with status -9"))
    replaced = int(served.wait_for(_RUNS)[1])

    def reload() -> None:
        served.process.send_signal(signal.SIGHUP)
        served.wait_for(re.compile("all 2 workers were replaced"))

    assert set(ask_while(served.address, reload)) == {200}
    with pytest.raises(ProcessLookupError):
        os.kill(replaced, 0)

    served.process.send_signal(signal.SIGTERM)
    out, err = served.process.communicate(timeout=60)
    assert (served.process.returncode, "stopped; everything is stored" in out) == (0, True), err
    assert not (tmp_path / "a.db-wal").exists()


def test_no_worker_outlives_its_supervisor(served: WorkerServer):
    served.wait_for(_RUNS)
    httpx.get(f"{served.address}/healthz", timeout=30, trust_env=False).raise_for_status()
    served.process.kill()
    assert served.process.stderr is not None
    served.process.stderr.read()  # ends when the last worker, which writes there too, has ended
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{served.address}/healthz", timeout=30, trust_env=False)


@pytest.mark.parametrize("arguments", [(":memory:", "--workers", "2"), ("a.db", "--workers", "0")])
def test_workers_that_cannot_be_are_refused(arguments: tuple[str, ...]):
    refused = rememo("serve", *arguments)
    assert refused.returncode != 0
    assert "workers" in refused.stderr


def test_a_rate_is_shared_by_all_who_map_its_buckets():
    descriptor = make_bucket_file()
    now = [100.0]
    limits = [RateLimit(1, lambda: now[0], SharedBuckets(descriptor)) for _ in range(2)]

    def take(id: str) -> list[bool]:
        taken: list[bool] = []
        for limit in limits * 2:
            try:
                limit.take(id)
            except RateLimited:
                taken.append(False)
            else:
                taken.append(True)
        return taken

    assert take("phone") == [True, True, False, False]
    assert take("laptop") == [True, True, False, False]
    now[0] += 1
    assert take("phone") == [True, False, False, False]
    # However many ids there are, the file does not grow.
    for number in range(20_000):
        limits[0].take(str(number))
    assert os.fstat(descriptor).st_size == 2**19
    os.close(descriptor)


def test_metrics_of_workers_are_added_up():
    def exposition(count: int, jobs: int, seconds: float) -> str:
        return (
            "# HELP rememo_asked_total Calls.\n# TYPE rememo_asked_total counter\n"
            f'rememo_asked_total{{route="/a"}} {count}\n'
            "# HELP rememo_jobs Jobs.\n# TYPE rememo_jobs gauge\n"
            f"rememo_jobs {jobs}\n"
            "# HELP rememo_seconds Durations.\n# TYPE rememo_seconds histogram\n"
            f'rememo_seconds_bucket{{le="1.0"}} {count}\nrememo_seconds_bucket{{le="+Inf"}} {count}\n'
            f"rememo_seconds_count {count}\nrememo_seconds_sum {seconds}\n"
        )

    merged: list[Any] = merge([exposition(3, 7, 2.0), exposition(4, 8, 5.0)]).decode().splitlines()
    for line in (
        'rememo_asked_total{route="/a"} 7.0', "rememo_jobs 7.0", 'rememo_seconds_bucket{le="1.0"} 7.0',
        "rememo_seconds_count 7.0", "rememo_seconds_sum 7.0",
    ):  # fmt: skip
        assert line in merged
