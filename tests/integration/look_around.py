"""Reads, searches and serves a memory, and tries to write it; what came of it as JSON values."""

import threading
from collections.abc import Callable
from typing import Any

import httpx
from typer.testing import CliRunner

from rememo import Memory
from rememo.cli.app import cli
from rememo.errors import RememoError
from rememo.serve.app import create_app
from rememo.serve.listen import listen
from rememo.serve.maintenance import MaintenanceThread
from rememo.serve.server import Server


def look_around(path: str) -> dict[str, Any]:
    """Do all that, over every way in."""
    seen: dict[str, Any] = {}
    with Memory(path) as memory:
        kim = memory.scope(user="kim", room="one")
        seen["count"] = memory.count()
        seen["found"] = memory.search("which colour has the kettle?")[0].text
        seen["facts"] = [fact.object for fact in kim.facts.list(predicate="lives in")]
        seen["context"] = "Lisbon" in kim.context("where does kim live?", max_tokens=500).text
        seen["history"] = len(kim.messages.history())
        seen["kv"] = memory.kv.get("a")
        seen["past"] = memory.as_of("monday").count()
        seen["faults"] = memory.verify().faults
        seen["writes"] = [
            _refusal(act)
            for act in (
                lambda: memory.add("new"),
                lambda: kim.messages.add("user", "I moved to Porto."),
                lambda: memory.kv.set("a", 2),
                lambda: memory.snapshot("tuesday"),
                lambda: memory.erase(user="kim"),
                memory.maintain,
            )
        ]
        with listen("127.0.0.1", 0) as line, MaintenanceThread(memory, "1h") as upkeep:
            server = Server(create_app(memory))
            serving = threading.Thread(target=server.run, kwargs={"sockets": [line]})
            serving.start()
            address = f"http://127.0.0.1:{line.getsockname()[1]}"
            with httpx.Client(base_url=address, trust_env=False, timeout=60) as web:
                answer = web.post("/v1/search", json={"query": "which colour has the kettle?"})
                seen["served"] = answer.json()["items"][0]["record"]["text"]
                seen["pages"] = [web.get(page).status_code for page in ("/", "/readyz", "/metrics")]
                refused = web.post("/v1/records", json={"text": "new"})
                seen["refused"] = [refused.status_code, refused.json().get("error", {}).get("code")]
            seen["maintained"] = upkeep.running
            server.should_exit = True
            serving.join()
    done = CliRunner().invoke(cli, ["search", path, "kettle", "--json"])
    seen["command"] = [done.exit_code, "the kettle is red" in done.stdout]
    seen["doctor"] = "can only be read" in CliRunner().invoke(cli, ["doctor", path]).stdout
    return seen


def _refusal(act: Callable[[], object]) -> str:
    try:
        act()
    except RememoError as error:
        return f"{error.code}: {error}"
    return ""
