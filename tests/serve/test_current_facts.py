"""What holds now comes first through every door, at once and without waiting: Python, REST, MCP, the dashboard, commands.

Ana lives in Lisbon, and weeks later she has moved to Porto; Bob lives in Paris.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rememo import Client, Memory
from rememo.errors import InvalidInput, RememoError
from rememo.testing import ManualClock

LISBON, PORTO, PARIS = "I live in Lisbon.", "I moved to Porto.", "I live in Paris."
QUESTION = "where does ana live?"
pytestmark = pytest.mark.requirement("conflict.policy")


@pytest.fixture
def memory(clock: ManualClock) -> Iterator[Memory]:
    with Memory(":memory:", clock=clock) as memory:
        yield memory


@pytest.fixture
def client(web: httpx.Client) -> Iterator[Client]:
    with Client(str(web.base_url)) as client:
        yield client


@pytest.fixture
def helper(web: httpx.Client, assistant: Callable[..., Any]) -> Any:
    return assistant(url=f"{str(web.base_url).rstrip('/')}/mcp")


@pytest.fixture
def told(memory: Memory, clock: ManualClock) -> Memory:
    """Give a memory that was just told, without waiting."""
    for user, room, text in (("ana", "r1", LISBON), ("ana", "r2", PORTO), ("bob", "r3", PARIS)):
        memory.scope(user=user, room=room).messages.add("user", text)
        clock.advance(20 * 86_400)
    return memory


@pytest.mark.parametrize("door", ["python", "REST"])
def test_search_and_context(told: Memory, client: Client, door: str):
    view: Any = told if door == "python" else client
    hits = view.search(QUESTION)
    assert (hits[0].text, hits[0].status) == ("ana lives in Porto", "current")
    assert [source.text for source in hits[0].sources] == [PORTO]
    places = {hit.text: place for place, hit in enumerate(hits)}
    old = hits[places[LISBON]]
    assert (old.status, old.superseded_by) == ("superseded", hits[0].id)
    assert not [hit for hit in hits[: places[LISBON]] if "Paris" in hit.text]
    shown = view.scope(user="ana").context("where do I live?", max_tokens=500).text
    assert "Porto" in shown
    assert "Lisbon" not in shown
    assert [fact.object for fact in view.facts.list(subject="ana", predicate="lives_in")] == ["Porto"]
    assert "Lisbon" in view.search("where did ana live before Porto?")[0].text


def test_mcp(told: Memory, helper: Any):
    first, *others = helper.got("recall", query=QUESTION)["items"]
    assert (first["text"], first["status"], first["sources"]) == ("ana lives in Porto", "current", [PORTO])
    [old] = [item for item in others if item["text"] == LISBON]
    assert (old["status"], old["superseded_by"]) == ("superseded", first["id"])
    said = helper.said("recall", query=QUESTION)
    assert said.index("ana lives in Porto") < said.index(LISBON)
    assert f"(superseded by [{first['id']}])" in said
    assert "Lisbon" not in helper.said("context", query="where do I live?", user="ana")
    assert [fact["object"] for fact in helper.got("facts", subject="ana")["facts"]] == ["Porto"]
    # The moment of asking is told for questions that count from it.
    assert "soon" in helper.fault("recall", query="where did I live last month?", user="ana", at="soon")


def test_the_dashboard(told: Memory, board: Any):
    page = board("/search", q=QUESTION)
    assert page.text.index("ana lives in Porto") < page.text.index(LISBON) < page.text.index("Paris")
    assert "superseded" in page.text
    [old] = [message for message in told.list(kind="message") if message.text == LISBON]
    record = board("/record", id=old.id).text
    assert "Superseded: a later statement replaced it." in record
    assert "Revised by later statements" in record
    new = next(message for message in told.list(kind="message") if message.text == PORTO)
    assert "Superseded" not in board("/record", id=new.id).text


def test_a_revision_is_decided_on_the_dashboard_and_over_rest(
    memory: Memory, web: httpx.Client, board: Any, client: Client, clock: ManualClock
):
    view = memory.scope(user="ana", room="r1")
    old = view.messages.add("user", "Our daily standup is at 9am.").id
    clock.advance(20 * 86_400)
    new = view.messages.add("user", "Standup moved to 10:30 from now on.").id
    [listed] = client.revisions.list()
    assert (listed.id, listed.by, listed.decision) == (old, new, "open")
    fields = board("/record", id=old).form("/change/confirm-revision")
    done = web.post("/change/reject-revision", data=fields, headers={"Origin": str(web.base_url).rstrip("/")})
    assert done.status_code == 303, done.text
    assert client.revisions.list()[0].decision == "rejected"
    assert client.revisions.confirm(old, new).confidence == 1.0
    with pytest.raises(RememoError, match="is not known to revise"):
        client.revisions.reject(new, old)


def test_commands(tmp_path: Path):
    file = tmp_path / "a.db"

    def rememo(*arguments: str, fails: bool = False) -> str:
        command = [sys.executable, "-c", "from rememo.cli import main; main()", arguments[0], str(file), *arguments[1:]]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode != 0) == fails, done.stderr
        return done.stderr if fails else done.stdout

    for user, text in (("ana", LISBON), ("ana", PORTO), ("bob", PARIS)):
        rememo("add", text, "--user", user)
    first, *others = json.loads(rememo("search", QUESTION, "--json"))
    assert (first["record"]["text"], first["status"]) == ("ana lives in Porto", "current")
    [old] = [item for item in others if item["record"]["text"] == LISBON]
    assert old["superseded_by"] == first["record"]["id"]
    assert "superseded" in rememo("search", QUESTION)
    assert [fact["object"] for fact in json.loads(rememo("facts", "--user", "ana", "--json"))] == ["Porto"]
    earlier = rememo("add", "Our daily standup is at 9am.", "--user", "ana").strip()
    later = rememo("add", "Standup moved to 10:30 from now on.", "--user", "ana").strip()
    found = {(revision["id"], revision["by"]): revision for revision in json.loads(rememo("revisions", "--json"))}
    assert found[earlier, later]["decision"] == "open"
    assert "rejected" in rememo("revisions", "--reject", earlier, later)
    assert "is not known to revise" in rememo("revisions", "--confirm", later, earlier, fails=True)
    assert "Traceback" not in rememo("revisions", "--confirm", "x", "y", fails=True)


# ---- every way in


@pytest.mark.parametrize("door", ["python", "REST", "MCP"])
def test_what_was_said_last_is_known_at_once(
    memory: Memory, client: Client, helper: Any, clock: ManualClock, door: str
):
    view: Any = (memory if door == "python" else client).scope(user="ana")
    for place, town in enumerate(("Lisbon", "Porto", "Faro", "Braga")):
        clock.advance(86_400)
        text = f"I live in {town}." if place == 0 else f"I moved to {town}."
        if door == "MCP":
            helper.got("log_turn", user_said=text, user="ana")
            assert (
                helper.got("recall", query="where do I live?", user="ana")["items"][0]["text"] == f"ana lives in {town}"
            )
            assert [fact["object"] for fact in helper.got("facts", user="ana")["facts"]] == [town]
            shown = helper.said("context", query="where do I live?", user="ana")
        else:
            view.add(text)
            assert [fact.object for fact in view.facts.list(predicate="lives_in")] == [town]
            assert view.search("where do I live?")[0].text == f"ana lives in {town}"
            shown = view.context("where do I live?", max_tokens=500).text
        assert town in shown
        assert place == 0 or "Lisbon" not in shown


@pytest.mark.parametrize("door", ["python", "REST"])
def test_nothing_is_learned_where_that_is_said_and_kinds_are_obeyed(memory: Memory, client: Client, door: str):
    view: Any = (memory if door == "python" else client).scope(user="ana", room="r1")
    view.add(LISBON, learn=False)
    view.add_many([{"text": PARIS, "learn": False}])
    view.messages.add("user", "I work at Acme.", learn=False)
    assert view.facts.list() == []
    view.add("", kind="fact", data={"subject": "ana", "predicate": "likes", "object": "tea"})
    view.add(PORTO, kind="message", data={"role": "user"})
    view.add("The boiler is in the cellar.", kind="document", data={"title": "House"})
    assert {(fact.predicate, fact.object) for fact in view.facts.list()} == {("likes", "tea"), ("lives_in", "Porto")}
    assert view.messages.latest()[0].content == PORTO
    assert [document.title for document in view.documents.list()] == ["House"]
    for kind, data in (
        ("fact", {}),
        ("fact", {"subject": "ana"}),
        ("message", {"role": "wizard"}),
        ("message", {"role": 7}),
    ):
        with pytest.raises(InvalidInput):
            view.add("x", kind=kind, data=data)
