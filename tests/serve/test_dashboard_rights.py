"""Who may change what from the dashboard: every changing route there is, whatever it is called, refuses who may only read."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from tests.serve.pages import HIDDEN, ORDER, checked, log_in

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.serve.auth import ApiKeys
from rememo.serve.dashboard.routes import PAGES, add_routes
from rememo.serve.service import ServerOptions, Service
from rememo.testing import ManualClock

FREE = {"/login", "/logout"}
"""What everybody may send: it changes nothing that is stored."""


def changing() -> list[str]:
    """Return every route of the dashboard that is not for looking only."""
    found: list[str] = []
    with Memory(":memory:", embedder=None, settings=Settings(worker=False)) as memory:
        service = Service(memory, ServerOptions())
        add_routes(service, lambda verb, path, _: None if verb == "GET" else found.append(path))
        service.close()
    return sorted(set(found) - FREE)


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    """Return a memory with something to change for everybody."""
    settings = Settings(durability="fast", audit=True, worker=False)
    with Memory(":memory:", embedder=None, settings=settings, clock=clock) as memory:
        chat = memory.scope(user="ana", room="chat")
        chat.messages.add("user", "I live in Lisbon.", id="m")
        memory.messages.add("tool", ORDER, id="held", trust=0.1, learn=False)
        memory.facts.policy("favourite_colour", "ask")
        for colour in ("green", "blue"):
            memory.facts.add("ana", "favourite_colour", colour)
        memory.relationships.add("ana", "knows", "bo")
        memory.flow("sign_up", steps=["name"]).start("ana")
        job = view_of(memory).engine.store.lease(["learn"], 60, clock())
        assert job is not None
        view_of(memory).engine.store.settle(job, state="dead", error="no", due_at=None)
        memory.snapshot("before")
        clock.advance(60)
        yield memory


def state(memory: Memory, keys: ApiKeys) -> tuple[Any, ...]:
    """Return what any change would change; keys are held apart, and what was refused is no change."""
    held = [(key.id, key.rights, key.revoked_at) for key in keys.list()]
    done = [line.number for line in memory.audit.list(limit=1_000) if line.operation != "denied"]
    return done, [(job.id, job.state) for job in memory.jobs.list()], held


@pytest.mark.parametrize("route", changing())
def test_a_key_that_may_only_read_can_call_no_change(route: str, web: httpx.Client, keys: ApiKeys, memory: Memory):
    reader, writer = (keys.add(tenant="*", rights=rights)[1] for rights in (["read"], ["read", "write", "admin"]))
    [fact] = [fact for fact in memory.facts.list() if fact.object == "green"]
    fields = {
        "id": "held" if route in {"/change/release", "/change/discard"} else "m", "pinned": "yes", "text": "x",
        "version": "1", "read": "yes", "keep": fact.id, "facts": fact.id, "back": "/", "user": "ana", "name": "x",
        "snapshot": "before", "to": "before", "confirm": "ana", "typed": "ana",
    }  # fmt: skip
    before = state(memory, keys)
    log_in(web, reader)
    token = checked(web.get("/")).form("/logout")["csrf"]
    for rest in ("", "?user=ana&room=chat", "?tenant=default"):
        refused = web.post(route + rest, data=fields | {"csrf": token})
        assert "lacks the right" in checked(refused, 403).text
    assert state(memory, keys) == before
    log_in(web, writer)
    token = checked(web.get("/")).form("/logout")["csrf"]
    allowed = web.post(route, data=fields | {"csrf": token})
    assert allowed.status_code != 403, "it was the right that was missing, and nothing else"


def test_a_key_that_may_only_read_sees_no_change_anywhere(web: httpx.Client, keys: ApiKeys, memory: Memory):
    asked = {"/record": "?id=m", "/room": "?room=chat", "/search": "?q=lisbon", "/context": "?q=lisbon"}
    pages = [path for path in PAGES if path not in HIDDEN]
    log_in(web, keys.add(tenant="*", rights=["read", "write", "admin"])[1])
    sent = {path: forms(web, path + asked.get(path, "")) for path in pages}
    assert {action for actions in sent.values() for action in actions} > {
        "/change/pin",
        "/change/retry",
        "/change/clear-flow",
    }
    log_in(web, keys.add(tenant="*", rights=["read"])[1])
    for path in pages:
        assert forms(web, path + asked.get(path, "")) <= {"/logout"}, path
    # What is looked at in the past cannot be changed either, by nobody.
    log_in(web, keys.add(tenant="*", rights=["read", "write", "admin"])[1])
    past = view_of(memory).engine.now().isoformat()
    for path in set(pages) - {"/keys", "/settings"}:
        rest = asked.get(path, "?")
        assert forms(web, f"{path}{rest}&known_at={past[:19]}") <= {"/logout"}, path


def forms(web: httpx.Client, address: str) -> set[str]:
    """Return where the forms of a page send changes to; a page that the key may not see has none."""
    answer = web.get(address)
    if answer.status_code == 403:
        return set()
    page = checked(answer)
    return {str(form["action"]).partition("?")[0] for form in page.all("form") if form.get("method") == "post"}
