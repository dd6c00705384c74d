"""The server runs retention policies by itself."""

import logging
import threading
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.model.receipt import Change
from rememo.serve.auth import ApiKeys
from rememo.serve.maintenance import MaintenanceThread
from rememo.testing.clock import ManualClock


def opened(path: Path, clock: ManualClock) -> Memory:
    memory = Memory(
        path, clock=clock, settings=Settings(worker=False, learn=False, archive=str(path.parent / "put away"))
    )
    for tenant in ("default", "acme", "unknown"):
        view = memory if tenant == "default" else memory.scope(tenant=tenant)
        view.retention.set("old posts", kind="post", older_than="30d")
        view.add("old", kind="post")
        view.add("a note stays")
    ApiKeys(memory).add(tenant="acme")
    clock.advance(40 * 86_400)
    return memory


@pytest.mark.requirement("cleanup.messages-by-age")
def test_every_tenant_with_a_key_is_maintained(tmp_path: Path):
    with opened(tmp_path / "a.db", ManualClock()) as memory:
        MaintenanceThread(memory, None).once()
        counts = {name: memory.scope(tenant=name).count(kind="post") for name in ("default", "acme", "unknown")}
        assert counts == {"default": 0, "acme": 0, "unknown": 1}
        assert memory.count() == 1


def test_it_runs_by_itself_and_stops_with_the_server(tmp_path: Path):
    with opened(tmp_path / "a.db", ManualClock()) as memory:
        done = threading.Event()

        def seen(_: Change) -> None:
            done.set()

        memory.hooks.on_change(seen)
        with MaintenanceThread(memory, 0.01):
            assert done.wait(60)
        assert "rememo-upkeep" not in [thread.name for thread in threading.enumerate()]


def test_what_fails_for_one_tenant_is_logged_and_does_not_stop_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    with opened(tmp_path / "a.db", ManualClock()) as memory:
        acme = memory.scope(tenant="acme")
        engine = view_of(memory).engine  # what a later release may have written
        newer = '{"name": "x", "does": "remove", "scope": {}, "kinds": [], "of_tomorrow": 1}'
        engine.kv.set("acme", '[null,null,null,"retention"]', "x", newer, engine.now())
        with caplog.at_level(logging.ERROR, "rememo.serve"):
            MaintenanceThread(memory, None).once()
        assert "maintaining tenant acme failed" in caplog.text
        assert (acme.count(kind="post"), memory.count(kind="post")) == (1, 0)


def test_how_often_must_be_a_duration(tmp_path: Path):
    with Memory(tmp_path / "a.db") as memory, pytest.raises(InvalidInput, match="maintain"):
        MaintenanceThread(memory, "sometimes")
