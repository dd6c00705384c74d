"""A server of several processes."""

import asyncio
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import listening
from tests.serve.test_command import COMMAND, LONGEST, rememo

from rememo import Memory
from rememo.cli import serve
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, RateLimited, ReadOnlyStore, Unavailable
from rememo.serve import http_protocol
from rememo.serve.app import create_app
from rememo.serve.dashboard.flash import FlashSigner
from rememo.serve.limits import ConcurrencyLimit, ConnectionLimit, RateLimit, Requester
from rememo.serve.server import Server
from rememo.serve.service import ServerOptions, Service
from rememo.serve.shared_limits import SharedLimits, make_shared_file
from rememo.serve.worker_metrics import WorkerMetrics, merge

RUNS = re.compile(r"worker \d runs as process (\d+)")
REPLACED = re.compile("all 2 workers were replaced")


class LoggedProcess:
    """A process whose standard error is read line by line."""

    def __init__(self, command: list[str], **more: Any) -> None:
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True, **more
        )
        self.pids: list[int] = []
        """The workers that were started so far, in this order."""
        self._watchdog = threading.Timer(LONGEST, self.process.kill)
        self._watchdog.start()

    def wait_for(self, pattern: "re.Pattern[str]") -> "re.Match[str]":
        """Return the next line of the log that matches."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.pids += [int(pid) for pid in RUNS.findall(line)]
            if match := pattern.search(line):
                return match
        raise AssertionError(f"the process ended without saying {pattern.pattern!r}")

    def close(self) -> None:
        self._watchdog.cancel()
        self.process.kill()
        self.process.communicate()


class WorkerServer(LoggedProcess):
    """A `rememo serve` of two workers."""

    def __init__(self, file: Path, command: list[str] = COMMAND, **more: Any) -> None:
        super().__init__([*command, "serve", str(file), "--port", "0", "--workers", "2"], **more)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().removeprefix("dashboard: ").strip()

    def stop(self) -> tuple[str, str]:
        """Stop it, and return what it printed and said."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.communicate(timeout=60)


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


def count_of(metrics: str, route: str) -> float:
    """Return how many requests of a route were answered with 200."""
    name = re.escape(f'rememo_http_requests_total{{method="GET",route="{route}",status="200"}} ')
    found = re.search(f"{name}(.+)", metrics)
    assert found is not None
    return float(found[1])


@pytest.mark.requirement("api.rest")
def test_workers_share_a_server_from_start_to_stop(served: WorkerServer, tmp_path: Path):
    first, second = (int(served.wait_for(RUNS)[1]) for _ in range(2))
    with httpx.Client(base_url=served.address, timeout=30, trust_env=False) as web:
        web.post("/v1/messages", params={"user": "ana"}, json={"role": "user", "content": "I live in Lisbon."})
        for _ in range(6):  # each on a connection of its own, so that either worker may answer
            listed = httpx.get(f"{served.address}/v1/messages", timeout=30, trust_env=False).json()
            assert [message["content"] for message in listed["items"]] == ["I live in Lisbon."]
        assert count_of(web.get("/metrics").text, "/v1/messages") == 6.0

    os.kill(first, signal.SIGKILL)
    served.wait_for(re.compile("worker 0 ended with status -9"))
    replaced = int(served.wait_for(RUNS)[1])

    def reload() -> None:
        served.process.send_signal(signal.SIGHUP)
        served.wait_for(REPLACED)

    statuses = ask_while(served.address, reload)
    assert set(statuses) == {200}
    for ended in (second, replaced):
        with pytest.raises(ProcessLookupError):
            os.kill(ended, 0)
    # What they counted is not gone with them.
    metrics = httpx.get(f"{served.address}/metrics", timeout=30, trust_env=False).text
    assert count_of(metrics, "/v1/records") == len(statuses)

    for pid in served.pids[-2:]:
        os.kill(pid, signal.SIGHUP)  # is for the supervisor: a worker does not mind it
    out, err = served.stop()
    assert (served.process.returncode, "stopped; everything is stored" in out) == (0, True), err
    assert "ended with status -1" not in err
    assert not (tmp_path / "a.db-wal").exists()


def test_no_worker_and_no_folder_outlives_a_supervisor(tmp_path: Path):
    (temporary := tmp_path / "temporary").mkdir()
    with closing(WorkerServer(tmp_path / "a.db", env={**os.environ, "TMPDIR": str(temporary)})) as served:
        served.wait_for(RUNS)
        httpx.get(f"{served.address}/healthz", timeout=30, trust_env=False).raise_for_status()
        served.process.kill()
        assert served.process.stderr is not None
        served.process.stderr.read()  # ends when the last worker, which writes there too, has ended
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{served.address}/healthz", timeout=30, trust_env=False)
        assert list(temporary.iterdir()) == []


def test_workers_start_wherever_they_are_started_from(tmp_path: Path):
    """A long path to temporary files, a strange module beside them, packages and keys that only the environment names."""
    long = tmp_path / ("t" * 100)
    packages, folder = tmp_path / "packages", tmp_path / "folder"
    for made in (long, packages, folder):
        made.mkdir()
    (folder / "uvicorn.py").write_text("raise SystemExit('this is not uvicorn')")
    # As an instrumentation does it: the first process is instrumented and hides how from those it starts.
    (packages / "sitecustomize.py").write_text(
        "import os, sys\nos.environ.pop('PYTHONPATH')\nprint('instrumented', os.getpid(), file=sys.stderr)"
    )
    source = str(Path(__file__).parents[2] / "src")
    environment = {
        **os.environ, "TMPDIR": str(long), "PYTHONPATH": os.pathsep.join([str(packages), source]),
        "REMEMO_MASTER_KEY": "ab" * 32, "REMEMO_MAX_TEXT_BYTES": "100",
    }  # fmt: skip
    command = [sys.executable, "-P", *COMMAND[1:]]
    with closing(WorkerServer(tmp_path / "a.db", command, env=environment, cwd=folder)) as served:
        instrumented = {int(served.wait_for(re.compile(r"^instrumented (\d+)"))[1]) for _ in range(3)}
        assert instrumented > {served.process.pid}
        with httpx.Client(base_url=served.address, timeout=30, trust_env=False) as web:
            assert web.post("/v1/records", json={"text": "the ship sails"}).status_code == 201
            assert web.post("/v1/records", json={"text": "x" * 101}).status_code == 400
            assert web.get("/metrics").status_code == 200
        _, err = served.stop()
        assert served.process.returncode == 0, err
    assert b"ship" not in (tmp_path / "a.db").read_bytes()


def test_what_is_bounded_is_bounded_over_all_workers(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file) as memory:
        memory.add("the ship sails")
    # Imports that are killed leave their files behind.
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with closing(WorkerServer(file, env=environment)) as served, ExitStack() as stack:
        host, _, port = served.address.removeprefix("http://").partition(":")
        head = (
            f"POST /v1/import HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-ndjson\r\n"
            "Content-Length: 1000\r\n\r\n{"
        )
        uploads = [stack.enter_context(socket.create_connection((host, int(port)), timeout=30)) for _ in range(8)]
        for upload in uploads:
            upload.sendall(head.encode())
        # One key brings in one export at a time, whichever workers are asked: the others are answered.
        answers: dict[socket.socket, bytes] = {}
        while len(answers) < len(uploads) - 1:
            waiting = [upload for upload in uploads if upload not in answers]
            ready, _, _ = select.select(waiting, [], [], 30)
            assert ready, f"{len(waiting)} have a place"
            answers |= {upload: upload.recv(12) for upload in ready}
        assert set(answers.values()) == {b"HTTP/1.1 429"}
        # Whoever is killed gives its places back.
        pids = [int(served.wait_for(RUNS)[1]) for _ in range(2)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        for _ in pids:
            served.wait_for(RUNS)
        with httpx.Client(base_url=served.address, timeout=60, trust_env=False) as web:
            export = web.get("/v1/export").content
            brought = web.post("/v1/import", content=export, headers={"Content-Type": "application/x-ndjson"})
            assert brought.status_code == 200, brought.text


@pytest.mark.parametrize("arguments", [(":memory:", "--workers", "2"), ("a.db", "--workers", "0")])
def test_workers_that_cannot_be_are_refused(arguments: tuple[str, ...]):
    refused = rememo("serve", *arguments)
    assert refused.returncode != 0
    assert "workers" in refused.stderr


@pytest.mark.parametrize(("quota", "count"), [("max 100000", 3), ("150000 100000", 2), ("10000 100000", 1), ("", 3)])
def test_there_are_as_many_workers_as_processors_may_be_used(
    quota: str, count: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    (tmp_path / "cpu.max").write_text(quota)
    monkeypatch.setattr(serve, "_CPU_QUOTA", tmp_path / "cpu.max")

    def processors(_: int) -> set[int]:
        return {0, 1, 2}

    monkeypatch.setattr(os, "sched_getaffinity", processors, raising=False)
    command: Any = serve
    assert command._count_workers(None, "a.db") == count


def test_a_rate_is_shared_by_all_who_map_its_buckets():
    descriptor = make_shared_file(streams=8, transfers=8)
    size = os.fstat(descriptor).st_size
    now = [100.0]
    limits = [RateLimit(1, lambda: now[0], SharedLimits(descriptor).buckets) for _ in range(2)]

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
    assert os.fstat(descriptor).st_size == size
    os.close(descriptor)


def test_places_and_connections_are_shared_by_all_who_map_them(monkeypatch: pytest.MonkeyPatch):
    descriptor = make_shared_file(streams=4, transfers=4)
    shared = [SharedLimits(descriptor) for _ in range(3)]
    limits = [ConcurrencyLimit("streams", 4, of_key=1, of_tenant=2, places=one.streams) for one in shared]
    connections = [ConnectionLimit(10, one.connections) for one in shared]
    process = os.getpid()

    def act_as(worker: int) -> None:
        monkeypatch.setattr(os, "getpid", lambda: process + worker)

    with ExitStack() as stack:
        for worker, tenant, key in ((0, "acme", "a"), (1, "acme", "b"), (0, "beta", "c"), (1, "gamma", "d")):
            act_as(worker)
            if worker:
                for error, refused in ((RateLimited, ("acme", "a")),):
                    with pytest.raises(error), limits[1].place(Requester(*refused)):
                        pass
            stack.enter_context(limits[worker].place(Requester(tenant, key)))
        with pytest.raises(Unavailable), limits[2].place(Requester("delta", "e")):
            pass
        act_as(0)
        assert connections[0].count(6)
        act_as(1)
        assert connections[1].count(4)
        assert not connections[1].count(5)
        # The supervisor frees what a worker held that was killed.
        shared[2].forget(process + 1)
        with limits[2].place(Requester("delta", "e")), limits[2].place(Requester("gamma", "d")):
            pass
        assert connections[1].count(4)
    with limits[0].place(Requester("acme", "a")):
        pass
    os.close(descriptor)


def test_workers_sign_forms_alike_where_the_store_cannot_be_written(memory: Memory, monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise ReadOnlyStore("the store is read-only")

    monkeypatch.setattr(view_of(memory).engine.kv, "set", refuse)
    descriptor = make_shared_file(streams=4, transfers=4)
    workers = [Service(memory, ServerOptions(), SharedLimits(descriptor)) for _ in range(2)]
    first, second = (FlashSigner(memory, worker.secret) for worker in workers)
    assert first.token() == second.token()
    # Another server has another secret.
    assert first.token() != FlashSigner(memory, Service(memory, ServerOptions()).secret).token()
    os.close(descriptor)


def test_workers_of_another_version_do_not_share_a_file(tmp_path: Path):
    descriptor = os.open(tmp_path / "shared", os.O_RDWR | os.O_CREAT)
    os.write(descriptor, bytes(4_096))
    with pytest.raises(InvalidInput, match="restart"):
        SharedLimits(descriptor)
    os.close(descriptor)


@pytest.mark.parametrize("known", ["kept-alive", "new", "waiting to be accepted"])
def test_a_request_on_its_way_is_answered_when_the_server_stops(
    memory: Memory, known: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(http_protocol, "_LINGER_SECONDS", 30.0)
    request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    stopping = threading.Event()
    places: list[tuple[str, int]] = []
    clients: list[socket.socket] = []

    def connect() -> socket.socket:
        clients.append(socket.create_connection(places[0], timeout=30))
        return clients[-1]

    class StoppingServer(Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            if known == "waiting to be accepted":  # the loop does not turn until it stops accepting
                connect().sendall(request)
            asyncio.get_running_loop().call_soon(stopping.set)
            await super().shutdown(sockets)

    server = StoppingServer(create_app(memory))
    with ExitStack() as stack, listening(server) as address:
        stack.callback(lambda: [client.close() for client in clients])
        host, _, port = address.removeprefix("http://").partition(":")
        places.append((host, int(port)))
        if known != "waiting to be accepted":
            connect()
            # Another is answered, so that the server has accepted both.
            httpx.get(f"{address}/healthz", timeout=30, trust_env=False).raise_for_status()
        if known == "kept-alive":
            clients[0].sendall(request)
            assert clients[0].recv(12) == b"HTTP/1.1 200"
            while b"ok" not in clients[0].recv(4_096):
                pass
        server.stop()
        assert stopping.wait(30)
        if known != "waiting to be accepted":
            clients[0].sendall(request)
        answer = b"".join(iter(lambda: clients[0].recv(4_096), b""))  # it is closed after that
        assert answer.startswith(b"HTTP/1.1 200")
        assert b"connection: close" in answer


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


def test_what_a_worker_counted_stays_in_the_sum_after_its_end(tmp_path: Path):
    def exposition(count: int) -> bytes:
        return (
            f"# HELP rememo_asked_total Calls.\n# TYPE rememo_asked_total counter\nrememo_asked_total {count}\n"
            "# HELP rememo_http_under_way Requests.\n# TYPE rememo_http_under_way gauge\nrememo_http_under_way 1\n"
        ).encode()

    first, second, third = (WorkerMetrics(tmp_path, name) for name in ("1", "2", "3"))

    async def ask() -> None:
        async def total() -> list[str]:
            lines = (await asyncio.to_thread(first.render, exposition(1))).decode().splitlines()
            return [line.rpartition(" ")[2] for line in lines if not line.startswith("#")]

        async with first.answering(lambda: exposition(1)):
            for worker, count in ((second, 10), (third, 100)):
                async with worker.answering(lambda count=count: exposition(count)):
                    ...
            assert await total() == ["111.0", "1.0"]
            async with second.answering(lambda: exposition(1_000)):
                assert await total() == ["1111.0", "2.0"]
        # The socket of one that was killed is removed by who finds it.
        with socket.socket(socket.AF_UNIX) as killed:
            killed.bind(str(tmp_path / "4.sock"))
        assert await total() == ["1112.0", "1.0"]

    asyncio.run(ask())
    assert [path.name for path in tmp_path.iterdir()] == ["ended"]


_INTERRUPTED = """
import os, signal
from rememo.serve.server import Server
from rememo.serve.service import ServerOptions, Service
run = Server.run
def run_late(self, **arguments):
    os.kill(os.getpid(), signal.SIGHUP)  # means nothing to a single process
    os.kill(os.getpid(), signal.SIGTERM)
    run(self, **arguments)
Server.run = run_late
from rememo.cli import main
main()
"""


def test_a_signal_in_the_moment_of_the_start_stops_a_server(tmp_path: Path):
    command = [sys.executable, "-c", _INTERRUPTED, "serve", str(tmp_path / "a.db"), "--port", "0", "--workers", "1"]
    with closing(LoggedProcess(command)) as server:
        assert server.process.wait(LONGEST) == 0
