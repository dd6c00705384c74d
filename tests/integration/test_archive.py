"""Archives on a real S3 server on loopback, and what happens when it fails."""

import http.client
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from moto.server import ThreadedMotoServer

from rememo import Memory, Settings
from rememo.errors import ArchiveError, InvalidInput, MissingExtra, NotFound
from rememo.keep.archive import label_digest, zstd
from rememo.keep.keyring import Keyring
from rememo.store import archive as places
from rememo.testing.clock import ManualClock

DAY = 86_400


@dataclass
class Proxy:
    """Stands before the server and fails as told: "500", "cut", "hang", or not at all."""

    address: str
    fault: str | None = None
    after: int = 0
    """How many requests pass before it fails."""
    writes: int = 0
    failed: int = 0


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    moto = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    moto.start()
    host, port = moto.get_host_and_port()
    yield f"{host}:{port}"
    moto.stop()


@pytest.fixture
def proxy(server: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    urllib.request.urlopen(urllib.request.Request(f"http://{server}/moto-api/reset", method="POST")).close()
    urllib.request.urlopen(urllib.request.Request(f"http://{server}/bucket", method="PUT")).close()
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.command == "PUT":
                held.writes += 1
            if held.fault is not None and held.after <= 0:
                held.failed += 1
                self.close_connection = True
                if held.fault == "hang":
                    released.wait(20)
                elif held.fault == "500":
                    self.send_response(500)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                else:  # cut in the middle of an answer
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf of")
                return
            held.after -= 1
            upstream = http.client.HTTPConnection(server, timeout=20)
            upstream.request(self.command, self.path, body, dict(self.headers))
            answer = upstream.getresponse()
            content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                    self.send_header(name, value)
            length = answer.getheader("Content-Length", "0") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length)
            self.end_headers()
            self.wfile.write(content)
            upstream.close()

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = pass_on  # noqa: N815 - as the standard library calls them

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    held = Proxy(f"http://127.0.0.1:{listening.server_address[1]}")
    thread = threading.Thread(target=listening.serve_forever)
    thread.start()
    yield held
    released.set()
    listening.shutdown()
    thread.join()
    listening.server_close()


def opened(path: Path, archive: str, clock: ManualClock, **more: Any) -> Memory:
    given = Settings(durability="fast", worker=False, learn=False, archive=archive, archive_timeout=1.0)
    return Memory(path, settings=given, clock=clock, **more)


def filled(path: Path, archive: str, **more: Any) -> tuple[Memory, ManualClock]:
    clock = ManualClock()
    memory = opened(path, archive, clock, **more)
    for user in ("ana", "bo"):
        room = memory.scope(user=user, room=f"r-{user}")
        for place in range(20):
            room.add(f"{user} said number{place}", kind="post", importance=0.9 if place == 3 else None)
    memory.update(memory.list(limit=1)[0].id, text="bo corrected himself")
    clock.advance(40 * DAY)
    memory.add("stays")
    return memory, clock


@pytest.mark.requirement("store.archive-object-storage")
def test_what_a_policy_removes_is_archived_and_comes_back(tmp_path: Path, proxy: Proxy):
    memory, clock = filled(tmp_path / "memory.db", f"s3://bucket/some/where?endpoint={proxy.address}&region=us-east-1")
    with memory:
        before = {
            record.id: (record.text, record.scope, record.created_at) for record in memory.list(kind="post", limit=100)
        }
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        assert memory.maintain(dry_run=True).runs[0].archives == ()
        report = memory.maintain()
        (entry,) = memory.archive.list()
        assert report.runs[0].archives == (entry.name,)
        assert (entry.records, entry.versions, entry.policy, entry.sealed) == (40, 41, "old posts", False)
        assert memory.count() == 1
        (hit,) = memory.archive.search("number7", limit=1)
        assert (hit.archive, hit.score) == (entry.name, 1.0)
        assert {hit.record.scope.user for hit in memory.scope(user="bo").archive.search("number7 said")} == {"bo"}
        assert memory.archive.list(user="ana") == [entry]
        assert memory.archive.list(user="carl") == []
        assert label_digest("default", "user", "ana") in entry.holds
        restored = memory.archive.restore(entry.name)
        assert (restored.records, restored.versions, restored.present) == (40, 0, 0)
        assert {
            record.id: (record.text, record.scope, record.created_at) for record in memory.list(kind="post", limit=100)
        } == before
        again = memory.archive.restore(entry.name)
        assert (again.records, again.versions, again.present) == (0, 0, 40)
        # Gone for good here, and yet not lost.
        memory.maintain()
        clock.advance(10 * DAY)
        memory.add("newer")
        memory.retention.use("versions", forget="1d")
        memory.maintain()
        assert memory.stats().versions == 2
        anew = memory.archive.restore(entry.name)
        assert (anew.records, anew.versions, anew.present) == (40, 41, 0)
        assert {
            record.id: (record.text, record.scope, record.created_at) for record in memory.list(kind="post", limit=100)
        } == before
        assert memory.search("number7 bo", limit=1)[0].record.text == "bo said number7"
        assert memory.verify().ok


@pytest.mark.requirement("cleanup.archive-important")
def test_what_is_important_is_archived_before_it_is_removed(tmp_path: Path):
    memory, _ = filled(tmp_path / "memory.db", str(tmp_path / "archive"))
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="important")
        assert memory.maintain().done == 40
        (entry,) = memory.archive.list()
        assert entry.records == 2
        assert sorted(hit.record.text for hit in memory.archive.search("said")) == [
            "ana said number3", "bo said number3",
        ]  # fmt: skip
        assert memory.archive.restore(entry.name).records == 2
        assert sorted(record.text for record in memory.list()) == ["ana said number3", "bo said number3", "stays"]
    assert len(list((tmp_path / "archive" / "tenant-default").iterdir())) == 2


@pytest.mark.parametrize("fault", ["500", "cut", "hang"])
@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_failing_server_removes_nothing(tmp_path: Path, proxy: Proxy, fault: str, after: int):
    memory, _ = filled(
        tmp_path / "memory.db", f"s3://bucket/x?endpoint={proxy.address}&region=us-east-1", embedder=None
    )
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        proxy.fault, proxy.after = fault, after
        began = time.monotonic()
        (run,) = memory.maintain().runs
        assert "nothing was removed" in (run.failed or "")
        assert time.monotonic() - began < 60
        assert proxy.failed >= 3, "it was tried again"
        assert memory.count() == 41
        proxy.fault = None
        assert memory.maintain().done == 40
        assert memory.archive.list()[-1].records == 40


def test_other_policies_go_on_where_one_cannot_archive(tmp_path: Path, proxy: Proxy, caplog: pytest.LogCaptureFixture):
    memory, _ = filled(
        tmp_path / "memory.db", f"s3://bucket/x?endpoint={proxy.address}&region=us-east-1", embedder=None
    )
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        memory.retention.use("duplicates")
        memory.add_many(["said twice", "said twice"])
        proxy.fault = "500"
        report = memory.maintain()
        removed, copies = report.runs
        assert (removed.does, removed.done, copies.does, copies.done, report.ok) == (
            "remove",
            0,
            "duplicates",
            1,
            False,
        )
        assert "nothing was removed" in (removed.failed or "")
        assert copies.failed is None
        assert "old posts" in caplog.text
        # The report has all that was done, to be taken back.
        assert memory.retention.undo(report).restored == 1
        assert memory.count() == 43
        proxy.fault = None
        again = memory.maintain()
        assert (again.done, again.ok) == (41, True)


def test_a_short_failure_is_got_over(tmp_path: Path, proxy: Proxy):
    memory, _ = filled(
        tmp_path / "memory.db", f"s3://bucket/x?endpoint={proxy.address}&region=us-east-1", embedder=None
    )
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        proxy.fault = "500"
        threading.Timer(0.15, lambda: setattr(proxy, "fault", None)).start()
        assert memory.maintain().done == 40
        assert proxy.failed


def test_a_damaged_archive_restores_nothing(tmp_path: Path):
    memory, _ = filled(tmp_path / "memory.db", str(tmp_path / "archive"), embedder=None)
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        memory.maintain()
        (entry,) = memory.archive.list()
        held = next((tmp_path / "archive").rglob("*.zst"))
        whole = held.read_bytes()
        for damaged in (whole[:-1], whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:], b""):
            held.write_bytes(damaged)
            with pytest.raises(ArchiveError, match="damaged: its checksum"):
                memory.archive.restore(entry.name)
            with pytest.raises(ArchiveError, match="checksum"):
                memory.archive.search("said")
            assert memory.count() == 1
        held.write_bytes(whole)
        assert memory.archive.restore(entry.name).records == 40
        held.with_name(f"{entry.name}.json").write_text("{}")
        with pytest.raises(ArchiveError, match="manifest"):
            memory.archive.list()
        with pytest.raises(NotFound, match="no-such"):
            memory.archive.restore("no-such")


def test_an_encrypted_memory_archives_sealed_lines(tmp_path: Path):
    ring = Keyring(Keyring.new_key())
    memory, _ = filled(tmp_path / "memory.db", str(tmp_path / "archive"), embedder=None, encryption=ring)
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        memory.maintain()
        (entry,) = memory.archive.list()
        assert entry.sealed
        packed = next((tmp_path / "archive").rglob("*.zst")).read_bytes()
        assert b"number7" not in zstd.decompress(packed)
        assert "number7" in memory.archive.search("number7")[0].record.text
        assert memory.archive.restore(entry.name).records == 40


def test_what_cannot_be_used_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    clock = ManualClock()
    with opened(tmp_path / "a.db", "", clock, embedder=None) as memory:
        with pytest.raises(InvalidInput, match="REMEMO_ARCHIVE"):
            memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        with pytest.raises(InvalidInput, match="no archive is set"):
            memory.archive.list()
    with (
        opened(tmp_path / "a.db", "ftp://somewhere", clock, embedder=None) as memory,
        pytest.raises(InvalidInput, match="s3, gs, az"),
    ):
        memory.archive.list()
    with opened(tmp_path / "a.db", str(tmp_path / "archive"), clock, embedder=None) as memory:
        assert memory.archive.list() == []
        with pytest.raises(InvalidInput, match='"important" or "all"'):
            memory.retention.set("old posts", kind="post", older_than="30d", archive="some")  # pyright: ignore[reportArgumentType] - that is the point
        with pytest.raises(InvalidInput, match="as a whole"):
            memory.scope(user="ana").archive.restore("x")

        def missing(name: str) -> None:
            raise ImportError(f"No module named {name!r}")

        monkeypatch.setattr(places, "import_module", missing)
        with pytest.raises(MissingExtra, match=r'pip install "rememo\[s3\]"'):
            memory.archive.list()


@pytest.mark.parametrize("now", ["", "a file", "ftp://somewhere"])
def test_other_policies_go_on_where_this_process_has_no_archive(tmp_path: Path, now: str):
    memory, clock = filled(tmp_path / "memory.db", str(tmp_path / "archive"), embedder=None)
    with memory:
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        memory.retention.use("duplicates")
        memory.add_many(["said twice", "said twice"])
    (tmp_path / "a file").touch()
    address = str(tmp_path / now) if now == "a file" else now
    with opened(tmp_path / "memory.db", address, clock, embedder=None) as memory:
        removed, copies = memory.maintain().runs
        assert (removed.done, copies.done) == (0, 1)
        assert "archive" in (removed.failed or "")


@pytest.mark.requirement("erase.proof")
def test_an_erasure_names_the_archives_that_still_hold_it(tmp_path: Path):
    archive = tmp_path / "archive"
    memory, clock = filled(tmp_path / "memory.db", str(archive))
    with memory:
        for user in ("ana", "ben"):
            memory.scope(user=user).add(f"{user} wrote a post about lighthouses", kind="post", id=f"of-{user}")
        clock.advance(40 * DAY)
        memory.retention.set("old posts", kind="post", older_than="30d", archive="all")
        [name] = memory.maintain().runs[0].archives
        # Its record has left the memory, but not the archive.
        assert memory.erase(user="ana").archives == (name,)
        assert memory.erase(ids=["of-ben"]).archives == (name,)
        assert memory.erase(ids=["of-nobody"]).archives == ()
        assert memory.erase(user="nobody").archives == ()
        assert memory.erase(tenant=memory.bound.tenant).archives == (name,)
        for place in archive.rglob("*.json"):
            place.write_text("damaged")
        receipt = memory.erase(user="ana")
        assert receipt.archives == ()
        assert "could not be asked" in receipt.leftovers[0]
