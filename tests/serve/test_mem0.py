"""The published clients of mem0, unchanged, on a memory of ours: its package and its command line."""

import json
import os
import runpy
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.imports import import_from
from rememo.jobs.worker import Worker
from rememo.safety.guard import IncomingRecord
from rememo.serve.auth import ApiKeys
from rememo.serve.mem0 import NOT_SUPPORTED, ROUTES
from rememo.testing import ManualClock

HERE = Path(__file__).parent
KINDS = ("MemoryClient", "AsyncMemoryClient")
SAID = [
    {"role": "user", "content": "I moved to Lisbon in May. My cat is called Miso."},
    {"role": "assistant", "content": "Lovely!"},
]
FIELDS = {
    "id", "memory", "hash", "user_id", "agent_id", "app_id", "run_id", "metadata", "categories", "created_at",
    "updated_at", "expiration_date",
}  # fmt: skip

UNSAID: list[tuple[Any, str]] = [
    ({"user_id": {"ne": "ana"}}, "user_id cannot be excluded here"),
    ({"NOT": {"user_id": "ana"}}, "user_id cannot be excluded here"),
    ({"keywords": {"icontains": "x"}}, "keywords cannot be filtered by here"),
    ({"updated_at": {"gte": "2026-01-01"}}, "updated_at cannot be filtered by here"),
    ({"metadata": {"a": {"icontains": "x"}}}, "operator 'icontains'"),
    ({"NOT": {"metadata": {"a": {"gt": 1}}}}, "cannot be negated here"),
    ({"categories": {"in": ["food"]}}, "there is no category 'food' here"),
    ({"created_at": {"gte": "soon"}}, "created_at is not a time: 'soon'"),
    ({"created_at": {"gte": "9999-12-31", "lte": "9999-12-31"}}, "is out of range"),
    ({"topic": "x"}, "there is no field 'topic' to filter by"),
    ({"AND": {"user_id": "ana"}}, "AND takes a list"),
    ({"AND": ["ana"]}, "a filter is an object"),
    ({"AND": [{}]}, "a filter is empty"),
    ({"user_id": ["ana"]}, "user_id must be text"),
    ({"user_id": {"in": [f"u{number}" for number in range(50)]}}, "more than 32 alternatives"),
]

WRONG: list[tuple[str, list[Any], dict[str, Any], str, str]] = [
    ("get", ["nobody"], {}, "MemoryNotFoundError", "there is no memory 'nobody'"),
    ("update", ["nobody"], {"text": "x"}, "MemoryNotFoundError", "there is no memory 'nobody'"),
    ("delete", ["nobody"], {}, "MemoryNotFoundError", "there is no memory 'nobody'"),
    ("history", ["nobody"], {}, "MemoryNotFoundError", "there is no record 'nobody'"),
    ("get", ["a/../b\u00e9 %2F"], {}, "MemoryNotFoundError", "there is no memory 'a/../b\u00e9 %2F'"),
    ("add", ["hello"], {}, "ValidationError", "a memory needs an owner"),
    ("add", ["hello"], {"user_id": "*"}, "ValidationError", "a memory needs an owner"),
    ("add", [""], {"user_id": "ana"}, "ValidationError", "content is empty"),
    ("add", [[{"role": "wizard", "content": "x"}]], {"user_id": "ana"}, "ValidationError", "no role 'wizard'"),
    (
        "add",
        ["x"],
        {"user_id": "ana", "custom_instructions": "y"},
        "ValidationError",
        "custom_instructions is not supported",
    ),
    ("add", ["x"], {"user_id": "ana", "immutable": True}, "ValidationError", "immutable is not supported"),
    ("add", ["x"], {"user_id": 7}, "ValidationError", "user_id must be text"),
    ("search", ["x"], {"top_k": 0}, "ValidationError", "top_k must be a whole number from 1 to 1,000, not 0"),
    ("search", ["x"], {"threshold": 2}, "ValidationError", "threshold must be a number from 0 to 1"),
    ("search", ["x"], {"show_expired": True}, "ValidationError", "show_expired is not supported"),
    ("get_all", [], {"page": 0}, "ValidationError", "page must be"),
    ("delete_all", [], {}, "ValidationError", "say whose memories to delete"),
    ("batch_delete", [[{"memory_id": "nobody"}]], {}, "MemoryNotFoundError", "there is no memory 'nobody'"),
    ("batch_update", [[]], {}, "ValidationError", "memories"),
    ("project.get", [], {}, "MemoryError", "there are no projects and members here"),
    ("get_webhooks", ["p"], {}, "MemoryError", "there are no webhooks here"),
    ("create_memory_export", ["{}"], {}, "MemoryError", "GET /v1/export streams everything"),
    ("get_summary", [], {}, "MemoryError", "GET /v1/summaries lists them"),
    ("feedback", ["x", "POSITIVE"], {}, "MemoryError", "feedback is not taken here"),
    ("get_profile", ["ana"], {}, "MemoryError", "profiles that a model writes"),
]


class Refused(Exception):
    """What a client of theirs raised."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class Driver:
    """A process in their environment."""

    def __init__(self, programs: Path, home: Path) -> None:
        self.programs = programs
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "HOME": str(home), "MEM0_TELEMETRY": "false", "MEM0_DIR": str(home / ".mem0"), "NO_COLOR": "1",
            "COLUMNS": "200",
        }  # fmt: skip
        for name in ("PYTHONPATH", "MEM0_API_KEY", "MEM0_BASE_URL"):
            self.environment.pop(name, None)
        self._process = subprocess.Popen(
            [str(programs / "python"), str(HERE / "mem0_driver.py")], env=self.environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def ask(self, **told: Any) -> Any:
        """Have a client do something."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(told) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise Refused(answer["error"], answer["message"])
        return answer["result"]

    def close(self) -> None:
        """End it."""
        self._process.communicate(timeout=30)


class Client:
    """One of their clients, as far as the test is concerned."""

    def __init__(self, driver: Driver, kind: str, host: str, key: str) -> None:
        self._told = {"kind": kind, "host": host, "key": key}
        self._driver = driver
        self.kind = kind

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            return self._driver.ask(**self._told, method=method, arguments=arguments, named=named)

        return call

    def with_options(self, method: str, *arguments: Any, options: tuple[str, dict[str, Any]]) -> Any:
        """Call a method with an object of options."""
        return self._driver.ask(**self._told, method=method, arguments=arguments, named={}, options=options)

    def refused(self, method: str, *arguments: Any, **named: Any) -> tuple[str, str]:
        """Call what must fail, and return which error that is and what it says."""
        with pytest.raises(Refused) as error:
            getattr(self, method)(*arguments, **named)
        return error.value.kind, str(error.value)


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driver]:
    """Start a process in their environment; what is not there yet is installed."""
    programs = runpy.run_path(str(HERE.parents[1] / "tools" / "peers.py"))["programs"]("mem0")
    driver = Driver(programs, tmp_path_factory.mktemp("home"))
    yield driver
    driver.close()


@pytest.fixture
def host(serve: Any) -> str:
    return serve()


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest, driver: Driver, host: str, keys: ApiKeys) -> Client:
    """Give each of their clients, with a key for the whole tenant."""
    return Client(driver, request.param, host, keys.add()[1])


@pytest.fixture
def sync(driver: Driver, host: str, keys: ApiKeys) -> Client:
    return Client(driver, "MemoryClient", host, keys.add()[1])


def idle(memory: Memory) -> Memory:
    """Return the memory once nothing is left to be learned."""
    Worker(view_of(memory).engine).run_until_idle()  # as a worker elsewhere
    return memory


def is_odd(suspect: IncomingRecord) -> bool:
    return "odd" in suspect.text


def texts(answer: Any) -> list[str]:
    return [result["memory"] for result in answer["results"]]


@pytest.mark.requirement("api.rest")
def test_a_memory_lives_its_life(client: Client, memory: Memory):
    added = client.add(SAID, user_id="ana", agent_id="helper", run_id="r1", metadata={"topic": "home"})
    assert added["status"] == "SUCCEEDED"
    assert {result["memory"] for result in added["results"]} >= {"ana lives in Lisbon", "Miso is a cat"}
    assert {
        (result["event"], result["user_id"], result["agent_id"], result["run_id"]) for result in added["results"]
    } == {("ADD", "ana", "helper", "r1")}
    assert all(result["metadata"] == {"topic": "home"} for result in added["results"])
    # What was said is kept as it was said.
    said = [message.content for message in memory.scope(user="ana", agent="helper", room="r1").messages.history()]
    assert said == [message["content"] for message in SAID]

    found = client.search("where does ana live?", filters={"user_id": "ana"}, top_k=3)["results"]
    assert found[0]["memory"] == "ana lives in Lisbon"
    assert set(found[0]) == FIELDS | {"score", "status", "superseded_by", "sources"}
    assert (found[0]["status"], found[0]["superseded_by"]) == ("current", None)
    assert [source["memory"] for source in found[0]["sources"]] == [SAID[0]["content"]]
    assert 1 < len(found) <= 3
    assert 0 < found[-1]["score"] <= found[0]["score"] <= 1

    home = found[0]["id"]
    assert set(client.get(home)) == FIELDS | {"status", "superseded_by"}
    changed = client.update(home, text="ana lives in Porto", metadata={"topic": "move"})
    assert (changed["memory"], changed["categories"], changed["metadata"]) == (
        "ana lives in Porto", ["fact"], {"topic": "move"},
    )  # fmt: skip
    assert client.get(home)["memory"] == "ana lives in Porto"
    assert [fact.object for fact in memory.facts.list(subject="ana", predicate="lives_in")] == ["Porto"]
    # What says something else of something else becomes a note; the old id leads to it.
    assert client.update(home, text="She looks at the sea every morning")["categories"] == ["note"]
    assert client.get(home)["memory"] == "She looks at the sea every morning"
    # Nor does what was changed come back, once what is learned is in line again.
    assert idle(memory).facts.list(subject="ana", predicate="lives_in") == []
    assert client.delete(home) == {"message": "Memory deleted successfully!"}
    assert client.refused("get", home)[0] == "MemoryNotFoundError"

    assert client.delete_all(user_id="ana")["count"] > 0
    assert client.get_all(filters={"user_id": "ana"})["results"] == []


def test_without_infer_each_message_is_a_memory(client: Client, clock: ManualClock):
    added = client.add([*SAID, {"role": "user", "content": "Plain."}], user_id="ana", infer=False, app_id="app")
    assert texts(added) == [SAID[0]["content"], "Lovely!", "Plain."]
    [note] = [result["id"] for result in added["results"] if result["memory"] == "Plain."]
    clock.advance(60)
    client.update(note, text="Plain words.")
    client.update(note, metadata={"a": 1})
    known = client.get_all(filters={"user_id": "ana"})["results"]
    assert {result["memory"] for result in known} == {SAID[0]["content"], "Lovely!", "Plain words."}, (
        "nothing was learned"
    )
    client.delete(note)
    told = client.history(note)
    assert [(change["event"], change["old_memory"], change["new_memory"]) for change in told] == [
        ("ADD", None, "Plain."),
        ("UPDATE", "Plain.", "Plain words."),
        ("DELETE", "Plain words.", None),
    ]
    assert {change["memory_id"] for change in told} == {note}
    assert len({change["id"] for change in told}) == 3
    assert told[0]["updated_at"] < told[1]["updated_at"]


def test_pages_are_newest_first_and_whole(client: Client, clock: ManualClock):
    for number in range(5):
        client.add(f"note {number}", user_id="ana", infer=False)
        clock.advance()
    client.add("other", user_id="bob", infer=False)
    pages = [client.get_all(filters={"user_id": "ana"}, page=page, page_size=2) for page in (1, 2, 3)]
    assert [texts(page) for page in pages] == [["note 4", "note 3"], ["note 2", "note 1"], ["note 0"]]
    assert [page["count"] for page in pages] == [5, 5, 5]
    assert [page["previous"] is None for page in pages] == [True, False, False]
    assert pages[0]["next"].endswith("/v3/memories/?page=2&page_size=2")
    assert pages[2]["next"] is None
    both = client.get_all(filters={"OR": [{"user_id": "ana"}, {"user_id": "bob"}]}, page=1, page_size=2)
    assert (both["count"], texts(both)) == (6, ["other", "note 4"])
    overlapping = {"OR": [{"user_id": "ana"}, {"user_id": {"in": ["ana", "bob"]}}]}
    assert client.get_all(filters=overlapping, page=3, page_size=2)["count"] == 6


def test_all_that_a_service_has_is_brought_in_as_the_guide_says(sync: Client, tmp_path: Path):
    sync.add("likes tea", user_id="ana", metadata={"topic": "drinks"}, timestamp=1_700_000_000, infer=False)
    sync.add("speaks French", user_id="ana", agent_id="helper", run_id="r1", app_id="shop", infer=False)
    sync.add("answers briefly", agent_id="helper", infer=False)
    everything = {"OR": [{name: "*"} for name in ("user_id", "agent_id", "app_id", "run_id")]}
    pages: list[Any] = []
    while not pages or pages[-1]["next"]:
        pages.append(sync.get_all(filters=everything, page=len(pages) + 1, page_size=2))
    (tmp_path / "memories.json").write_text(json.dumps(pages))
    with Memory(":memory:", embedder=None, settings=Settings(worker=False)) as new:
        assert import_from(new, tmp_path / "memories.json", "mem0").added == {"note": 3}
        found = {record.text: record for record in new.list()}
    assert {(record.text, record.scope.user, record.scope.agent, record.scope.room) for record in found.values()} == {
        ("likes tea", "ana", None, None),
        ("speaks French", "ana", "helper", "r1"),
        ("answers briefly", None, "helper", None),
    }
    assert found["likes tea"].metadata["topic"] == "drinks"
    assert found["likes tea"].at.isoformat() == "2023-11-14T22:13:20+00:00"
    assert found["speaks French"].metadata["app_id"] == "shop"


def test_times_and_ends(sync: Client, clock: ManualClock):
    sync.add("I live in Rome", user_id="ana", timestamp=1_700_000_000, expiration_date="2026-05-03")
    all_of_ana = {"user_id": "ana"}
    [fact] = sync.get_all(filters={**all_of_ana, "categories": {"in": ["fact"]}})["results"]
    assert (fact["created_at"], fact["expiration_date"]) == ("2023-11-14T22:13:20+00:00", "2026-05-03")
    assert sync.get_all(filters={**all_of_ana, "created_at": {"gte": "2024-01-01"}})["count"] == 0
    assert sync.get_all(filters={**all_of_ana, "created_at": {"gte": "2023-11-14", "lte": "2023-11-14"}})["count"] == 2
    assert sync.get_all(start_date="2023-01-01", end_date="2023-12-31")["count"] == 2
    clock.advance(2.4 * 86_400)  # the evening of the 3rd
    assert sync.get_all(filters=all_of_ana)["count"] == 2
    clock.advance(0.2 * 86_400)
    assert sync.get_all(filters=all_of_ana)["count"] == 0
    kind, said = sync.refused("add", "late", user_id="ana", expiration_date="2020-01-01")
    assert (kind, said) == ("ValidationError", "expiration_date 2020-01-01 is in the past")
    note = sync.add("soon gone", user_id="ana", infer=False, expiration_date="2026-05-04")["results"][0]["id"]
    assert sync.update(note, expiration_date=None)["expiration_date"] is None


def test_filters_choose(sync: Client):
    for text, user, more in (
        ("tea", "ana", {"metadata": {"topic": "drink", "stars": 4}}),
        ("bread", "ana", {"metadata": {"topic": "food", "stars": 2}, "run_id": "r1"}),
        ("wine", "bob", {"metadata": {"topic": "drink"}, "app_id": "shop"}),
        ("soup", "cleo", {"agent_id": "cook"}),
    ):
        sync.add(text, user_id=user, infer=False, **more)
    for filters, wanted in (
        ({"user_id": "ana"}, {"tea", "bread"}),
        ({"user_id": {"in": ["ana", "cleo"]}}, {"tea", "bread", "soup"}),
        ({"AND": [{"user_id": "ana"}, {"run_id": "*"}]}, {"tea", "bread"}),
        ({"AND": [{"user_id": "ana"}, {"run_id": "r1"}]}, {"bread"}),
        ({"AND": [{"user_id": "ana"}, {"user_id": "bob"}]}, set[str]()),
        ({"OR": [{"agent_id": "cook"}, {"run_id": "r1"}]}, {"bread", "soup"}),
        ({"app_id": "shop"}, {"wine"}),
        ({"app_id": "*"}, {"wine"}),
        ({"NOT": [{"app_id": "*"}]}, {"tea", "bread", "soup"}),
        ({"metadata": {"topic": "drink"}}, {"tea", "wine"}),
        ({"metadata": {"topic": {"ne": "drink"}}}, {"bread", "soup"}),
        ({"metadata": {"stars": {"gte": 3}}}, {"tea"}),
        ({"metadata": {"topic": {"contains": "oo"}}}, {"bread"}),
        ({"AND": [{"user_id": "ana"}, {"NOT": {"metadata": {"topic": "food"}}}]}, {"tea"}),
        ({"NOT": {"OR": [{"metadata": {"topic": "food"}}, {"metadata": {"topic": "drink"}}]}}, {"soup"}),
        ({"categories": {"ne": "note"}}, set[str]()),
    ):
        assert set(texts(sync.get_all(filters=filters))) == wanted, filters
        found = texts(sync.search("tea bread wine soup", filters=filters))
        assert set(found) == wanted, filters
        assert len(found) == len(wanted)
    ids = [result["id"] for result in sync.get_all(filters={"user_id": "ana"})["results"]]
    assert sync.get_all(filters={"memory_ids": ids[:1]})["count"] == 1
    assert set(sync.search("tea", fields=["memory", "score"])["results"][0]) == {"id", "memory", "score"}
    assert "there is no field 'nonsense'" in sync.refused("search", "tea", fields=["nonsense"])[1]
    assert texts(sync.search("tea", threshold=0.9, filters={"user_id": "bob"})) == []


@pytest.mark.parametrize(
    ("filters", "said"),
    UNSAID,
    ids=str,
)
def test_what_a_filter_cannot_say_is_refused(sync: Client, filters: Any, said: str):
    for method, arguments in (("get_all", ()), ("search", ("x",))):
        kind, message = sync.refused(method, *arguments, filters=filters)
        assert kind == "ValidationError"
        assert said in message


def test_bad_input_is_told(client: Client, driver: Driver, host: str):
    assert client.refused("search", "  ")[0] == "ValueError"  # their client looks itself
    for method, arguments, named, kind, said in WRONG:
        found = client.refused(method, *arguments, **named)
        assert found[0] == kind, (method, named, found)
        assert said in found[1], (method, named)
    wrong = Client(driver, client.kind, host, "rememo_abc_def")
    kind, message = wrong.refused("get_all")
    assert kind == "ValueError"  # they ask at once, when a client is made
    assert "unknown key" in message


def test_two_users_are_kept_apart(client: Client, driver: Driver, host: str, keys: ApiKeys, memory: Memory):
    client.add("I live in Rome", user_id="ana")
    bobs = client.add("I live in Oslo", user_id="bob")["results"][0]["id"]
    assert "Oslo" not in str(client.search("who lives where?", filters={"user_id": "ana"}))
    assert "Oslo" not in str(client.get_all(filters={"user_id": "ana"}))
    before = [record.to_dict() for record in memory.scope(user="bob").list()]
    ana = Client(driver, client.kind, host, keys.add(user="ana")[1])
    assert "Oslo" not in str(ana.get_all()) + str(ana.search("Oslo")) + str(ana.users())
    assert {entity["name"] for entity in ana.users()["results"]} == {"ana"}
    for method, arguments, named, kind in (
        ("get", [bobs], {}, "MemoryNotFoundError"),
        ("history", [bobs], {}, "MemoryNotFoundError"),
        ("update", [bobs], {"text": "x"}, "MemoryNotFoundError"),
        ("delete", [bobs], {}, "MemoryNotFoundError"),
        ("batch_update", [[{"memory_id": bobs, "text": "x"}]], {}, "MemoryNotFoundError"),
        ("batch_delete", [[{"memory_id": bobs}]], {}, "MemoryNotFoundError"),
        ("add", ["x"], {"user_id": "bob"}, "AuthenticationError"),
        ("search", ["Oslo"], {"filters": {"user_id": "bob"}}, "AuthenticationError"),
        ("get_all", [], {"filters": {"OR": [{"user_id": "ana"}, {"user_id": "bob"}]}}, "AuthenticationError"),
        ("delete_all", [], {"user_id": "bob"}, "AuthenticationError"),
        ("delete_users", [], {"user_id": "bob"}, "AuthenticationError"),
    ):
        assert ana.refused(method, *arguments, **named)[0] == kind, (method, named)
    ana.delete_all(user_id="*", agent_id="*", run_id="*", app_id="*")
    assert [record.to_dict() for record in memory.scope(user="bob").list()] == before
    assert client.get_all(filters={"user_id": "ana"})["count"] == 0
    reader = Client(driver, client.kind, host, keys.add(rights=["read"])[1])
    assert reader.get_all()["count"] == len(before)
    assert reader.refused("add", "x", user_id="ana")[0] == "AuthenticationError"


def test_batches_and_entities(client: Client, memory: Memory):
    ids = [
        client.add(f"note {number}", user_id="ana", run_id=f"r{number}", infer=False)["results"][0]["id"]
        for number in range(3)
    ]
    client.add("agent's own", agent_id="helper", app_id="shop", infer=False)
    changes = [{"memory_id": ids[0], "text": "first"}, {"memory_id": ids[1], "metadata": {"a": 1}}]
    assert client.batch_update(changes) == {"message": "Successfully updated 2 memories"}
    assert (client.get(ids[0])["memory"], client.get(ids[1])["metadata"]) == ("first", {"a": 1})
    # One that is not there, and none is touched.
    assert client.refused("batch_delete", [{"memory_id": ids[0]}, {"memory_id": "no"}])[0] == "MemoryNotFoundError"
    assert client.get(ids[0])["memory"] == "first"
    assert client.batch_delete([{"memory_id": ids[2]}]) == {"message": "Successfully deleted 1 memories"}

    found = {(entity["type"], entity["name"]): entity["total_memories"] for entity in client.users()["results"]}
    assert found == {
        ("user", "ana"): 2, ("agent", "helper"): 1, ("app", "shop"): 1, ("run", "r0"): 1, ("run", "r1"): 1,
    }  # fmt: skip
    client.delete_users(run_id="r0")
    memory.scope(user="ana").tasks.add("water the plants")
    assert client.delete_all(user_id="ana")["count"] == 1
    assert len(memory.scope(user="ana").tasks.list()) == 1  # no memory to them
    assert client.reset()["message"].startswith("Client reset successful")
    assert memory.list() == []


def test_deleting_reaches_no_further_than_asked(sync: Client, memory: Memory):
    def fill() -> None:
        for number, named in enumerate(({"user_id": "ana"}, {"user_id": "bob"}, {"agent_id": "helper"})):
            sync.add(f"note {number}", **named, app_id="shop" if number else "home", infer=False)

    for named, left in (
        ({"user_id": "ana"}, {"note 1", "note 2"}),
        ({"user_id": "*"}, {"note 2"}),
        ({"user_id": "ana", "app_id": "shop"}, {"note 0", "note 1", "note 2"}),
        ({"app_id": "shop"}, {"note 0"}),
        ({"user_id": "*", "agent_id": "*"}, {"note 0", "note 1", "note 2"}),
        ({"user_id": "*", "agent_id": "*", "run_id": "*"}, set[str]()),
        ({"user_id": "*", "agent_id": "*", "run_id": "*", "app_id": "*"}, set[str]()),
    ):
        memory.clear()
        fill()
        sync.delete_all(**named)
        assert {record.text for record in memory.list()} == left, named
    fill()
    sync.with_options("delete_all", options=("DeleteAllMemoryOptions", {"filters": {"user_id": "bob"}}))
    assert {record.text for record in memory.list()} == {"note 0", "note 2"}
    sync.with_options("add", "typed", options=("AddMemoryOptions", {"filters": {"user_id": "cleo"}, "infer": False}))
    assert memory.users() == ["ana", "cleo"]


def test_what_ends_is_not_shown_unless_asked_for(sync: Client, memory: Memory, clock: ManualClock):
    sync.add("I live in Rome", user_id="ana")
    clock.advance(86_400)
    sync.add("I live in Oslo now", user_id="ana")
    facts = {"user_id": "ana", "categories": "fact"}
    [now] = sync.get_all(filters=facts)["results"]
    assert now["memory"] == "ana lives in Oslo"
    assert set(texts(sync.get_all(filters=facts, latest_only=False))) == {"ana lives in Rome", "ana lives in Oslo"}
    # What it had ended holds again, unless that goes too.
    sync.delete(now["id"])
    idle(memory)
    [before] = sync.get_all(filters=facts)["results"]
    assert before["memory"] == "ana lives in Rome"
    clock.advance(86_400)
    [again] = sync.add("I moved to Oslo", user_id="ana")["results"]
    sync.delete(again["id"], delete_linked=True)
    assert idle(memory).facts.list(subject="ana", current_only=False) == []


def test_what_was_taken_back_is_not_found(sync: Client, memory: Memory, clock: ManualClock):
    sync.add("I live in Rome", user_id="ana")
    facts = {"user_id": "ana", "categories": "fact"}
    ids: list[str] = []
    for town in ("Oslo", "Porto", "Rome", "Kyiv"):
        clock.advance()
        [home] = sync.get_all(filters=facts)["results"]
        sync.update(home["id"], text=f"ana lives in {town}")
        ids.append(home["id"])
        assert {sync.get(id)["memory"] for id in ids} == {f"ana lives in {town}"}
        assert texts(sync.search("where does ana live?", filters=facts)) == [f"ana lives in {town}"]
        assert texts(sync.search("ana lives in Rome", filters=facts, top_k=1)) == [f"ana lives in {town}"]
    assert sync.get_all(filters=facts, latest_only=False)["count"] == 1
    sync.delete(ids[0])
    assert idle(memory).facts.list(subject="ana", predicate="lives_in", current_only=False) == []


def test_what_was_superseded_is_left_out_of_searches_and_marked_elsewhere(
    sync: Client, memory: Memory, clock: ManualClock
):
    question, mine = "where does ana live?", {"user_id": "ana"}
    [lisbon] = sync.add("I live in Lisbon.", user_id="ana")["results"]
    clock.advance(20 * 86_400)
    sync.add("I moved to Porto.", user_id="ana")
    sync.add("I live in Paris.", user_id="bob")
    found = sync.search(question, filters=mine)["results"]
    assert (found[0]["memory"], found[0]["status"]) == ("ana lives in Porto", "current")
    assert not [result for result in found if "Lisbon" in result["memory"]]
    # What held before is found where that is asked for, and with everything else where all of it is.
    assert "Lisbon" in sync.search("where did ana live before Porto?", filters=mine)["results"][0]["memory"]
    everything = sync.search(question, filters={"user_id": "*"}, latest_only=False)["results"]
    assert everything[0]["memory"] == "ana lives in Porto"
    [old] = [result for result in everything if result["memory"] == "I live in Lisbon."]
    assert (old["status"], old["superseded_by"]) == ("superseded", found[0]["id"])
    # Lists and single memories say so too.
    marks = {result["memory"]: result["status"] for result in sync.get_all(filters=mine)["results"]}
    assert marks == {"I live in Lisbon.": "superseded", "I moved to Porto.": "unknown", "ana lives in Porto": "current"}
    assert sync.get(lisbon["id"])["superseded_by"] == found[0]["id"]


def test_what_was_written_elsewhere_is_learned_when_it_is_read(sync: Client, memory: Memory):
    view = memory.scope(user="ana", room="r1")
    for town in ("Lisbon", "Porto", "Faro", "Braga"):
        view.messages.add("user", f"I moved to {town}.")
        found = sync.search("where does ana live?", filters={"user_id": "ana"})["results"]
        assert found[0]["memory"] == f"ana lives in {town}"
        assert texts(sync.get_all(filters={"user_id": "ana", "categories": "fact"})) == [f"ana lives in {town}"]


def test_images_tools_and_what_is_held_back(sync: Client, memory: Memory):
    parts = [
        {"type": "text", "text": "Look at this"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
    ]
    assert texts(sync.add([{"role": "user", "content": parts}], user_id="ana")) == ["Look at this"]
    assert memory.messages.latest()[0].record.data["images"] == ["https://example.com/a.png"]
    assert sync.refused("add", [{"role": "user", "content": [{"type": "pdf_url"}]}], user_id="ana")[0] == (
        "ValidationError"
    )
    memory.quarantine.rule("odd", trusted=True)(is_odd)
    held = sync.add("something odd", user_id="ana")
    assert [(result["event"], result["reason"]) for result in held["results"]] == [("NOOP", "held back: odd: odd")]


def test_a_server_without_keys_takes_any_of_theirs(driver: Driver, host: str):
    anybody = Client(driver, "MemoryClient", host, "m0-whatever")
    anybody.add("hello", user_id="ana", infer=False)
    assert texts(anybody.get_all()) == ["hello"]


@pytest.mark.requirement("api.rest")
def test_the_command_line(driver: Driver, host: str, keys: ApiKeys, memory: Memory, tmp_path: Path):
    environment = {**driver.environment, "MEM0_BASE_URL": host, "MEM0_API_KEY": keys.add()[1]}

    def run(*arguments: str, fails: bool = False) -> str:
        done = subprocess.run(
            [str(driver.programs / "mem0"), *arguments], env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, timeout=60, cwd=tmp_path,
        )  # fmt: skip
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout + done.stderr

    def data(*arguments: str) -> Any:
        return json.loads(run("--json", *arguments))["data"]

    assert "2 memories extracted" in run("add", "I work at Acme and I love jazz", "-u", "carl")
    assert "carl works at Acme" in run("search", "where does he work?", "-u", "carl")
    [note] = data("add", "Plain", "-u", "carl", "--no-infer")
    assert note["event"] == "ADD"
    assert {result["memory"] for result in data("list", "-u", "carl")} >= {"carl likes jazz", "Plain"}
    assert data("update", note["id"], "Plain words")["memory"] == "Plain words"
    data("delete", note["id"], "--force")
    assert "Resource not found" in run("get", note["id"], fails=True)
    assert "there is no category 'food' here" in run("list", "-u", "carl", "--category", "food", fails=True)
    assert [entity["name"] for entity in data("entity", "list", "users")] == ["carl"]
    run("delete", "--all", "-u", "carl", "--force")
    assert memory.list(kind=["message", "note", "fact"]) == []
    environment["MEM0_API_KEY"] = "wrong"
    assert "Invalid or expired API key" in run("list", fails=True)


def test_every_error_has_both_shapes(serve: Any, keys: ApiKeys):
    _, text = keys.add()
    with httpx.Client(base_url=serve(max_body=1_000), trust_env=False) as web:
        paths = [(verb, path, {401}) for verb, path, *_ in (*ROUTES, *NOT_SUPPORTED)]
        for verb, path, status in paths:
            check(web.request(verb, path), status)
        web.headers["Authorization"] = f"Token {text}"
        for verb, path, _ in NOT_SUPPORTED:
            check(web.request(verb, path), {501})
        for verb, path, _, _ in ROUTES:
            check(web.request(verb, path, params={"wrong": "x"}), {400, 404})
            if verb in ("POST", "PUT"):
                for body in (b"{", b"[]", b"\xff", b'{"messages": 1}', b"[" * 900):
                    answer = web.request(verb, path, content=body, headers={"Content-Type": "application/json"})
                    check(answer, {400, 404})
                check(web.request(verb, path, content=b"x" * 2_000), {413})
                check(web.request(verb, path, content=b"x=1"), {415})
        for query in ("filters=__import__", "filters=" + "[" * 3_000, "user_id=", "user_id=a&user_id=b"):
            check(web.request("DELETE", f"/v1/memories/?{query}"), {400})


def check(answer: httpx.Response, statuses: set[int]) -> None:
    assert answer.status_code in statuses, (answer.request.url, answer.text)
    told = answer.json()
    assert set(told) == {"detail", "error"}
    assert set(told["error"]) == {"code", "message", "detail"}
    assert told["detail"] == told["error"]["message"]
