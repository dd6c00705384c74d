"""Imports with one wrong field: refused by line and field, or harmless; and no job of one tenant stops another's."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import httpx
import psycopg
import pytest
from tests.integration.spoiling import Spoiled, fill, spoiled
from tests.serve.conftest import running

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, RememoError, StorageError
from rememo.jobs.worker import Worker
from rememo.testing import WordEmbedder
from rememo.testing.postgres import DatabasePool

FAST = Settings(durability="fast", worker=False)
Execute = Callable[[str], None]


class Place:
    """A store, and a way past everything that guards it."""

    def __init__(self, memory: Memory, execute: Execute) -> None:
        self.memory = memory
        self.execute = execute
        self.worker = Worker(view_of(memory).engine)


def _file(tmp_path: Path, stack: ExitStack) -> Place:
    path = tmp_path / "memory.db"
    memory = stack.enter_context(Memory(path, embedder=WordEmbedder(), settings=FAST))

    def execute(sql: str) -> None:
        with apsw.Connection(str(path)) as connection:
            connection.execute(sql)  # pyright: ignore[reportUnknownMemberType] - as it is typed there

    return Place(memory, execute)


def _server(databases: DatabasePool, stack: ExitStack) -> Place:
    name = databases.lend()
    stack.callback(databases.take_back, name)
    url = databases.url(name)
    memory = stack.enter_context(Memory(url, embedder=WordEmbedder(), settings=FAST))

    def execute(sql: str) -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(sql.replace("INTO jobs", "INTO rememo.jobs").encode())

    return Place(memory, execute)


@pytest.fixture(params=["file", "server"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        if request.param == "file":
            yield _file(tmp_path, stack)
        else:
            yield _server(request.getfixturevalue("databases"), stack)


def _export(tmp_path: Path) -> Path:
    path = tmp_path / "all.jsonl"
    with Memory(":memory:", embedder=WordEmbedder(), settings=FAST) as memory:
        fill(memory)
        memory.export(path)
    return path


def _look(memory: Memory) -> Iterator[Callable[[], Any]]:
    """Give what reads everything, and what goes on writing."""
    chat, past = memory.scope(user="ana", room="r1", agent="bot"), datetime(2026, 1, 1, tzinfo=UTC)
    for view in (memory, chat):
        yield lambda view=view: [view.history(record.id) for record in view.list(limit=200)]
        yield lambda view=view: view.search("where does ana live, Lisbon tea ships?", explain=True, valid_at=past)
        yield lambda view=view: view.similar([1.0] * 16)
        yield lambda view=view: view.context("where does ana live?", max_tokens=500)
        yield lambda view=view: view.compose("where does ana live?")
        yield lambda view=view: view.ask("where does ana live?")
        for face in ("facts", "goals", "tasks", "actions", "thoughts", "posts", "summaries", "relationships"):
            yield lambda view=view, face=face: getattr(view, face).list()
        yield lambda view=view: [view.documents.text(document.id) for document in view.documents.list()]
        yield lambda view=view: [document.title for document in view.documents.list()]
        yield lambda view=view: view.documents.search("ships")
        yield view.facts.conflicts
        yield view.tasks.due
        yield lambda view=view: view.relationships.graph("ana")
        yield view.actions.success_rate
        yield view.posts.recent_locations
        yield lambda view=view: [view.kv.get(key) for key in view.kv.keys()]  # noqa: SIM118 - a method of ours
        yield lambda view=view: [view.sessions.get(session.name) for session in view.sessions.list()]
        yield view.quarantine.list
    yield lambda: [chat.messages.thread(message.id) for message in chat.messages.latest(50)]
    yield lambda: chat.messages.window(max_tokens=200)
    yield lambda: chat.messages.for_model(system="Be brief.")
    yield chat.summaries.current
    yield chat.working.export
    yield chat.working.stats
    yield memory.typed("config", {"a": 1}).get
    yield chat.flow("order", steps=["a", "b"]).get
    yield memory.stats
    yield memory.spending
    yield memory.jobs.list
    yield lambda: chat.messages.add("user", "I moved to Faro. I like tea.")
    yield lambda: chat.facts.add("ana", "likes", "coffee")
    yield lambda: chat.relationships.touch("ana", "bob", "friend")
    yield lambda: chat.sessions.load("monday")
    yield lambda: chat.profiles.update("ana", {"y": 2})
    yield memory.maintain
    yield lambda: memory.rollback("before")


def _refused(memory: Memory, spoiled_line: Spoiled, path: Path) -> bool:
    try:
        memory.import_(spoiled_line.write(path))
    except InvalidInput as error:
        message = str(error)
        assert f"line {spoiled_line.line}" in message or "line" not in message, (
            spoiled_line.field,
            spoiled_line.wrong,
            message,
        )
        return True
    return False


def _check_harmless(memory: Memory, spoiled_line: Spoiled) -> None:
    for look in _look(memory):
        try:
            look()
        except StorageError:
            raise
        except RememoError:
            pass  # a typed error that a server answers with 4xx
        except Exception as error:
            raise AssertionError(
                f"{spoiled_line.field} = {spoiled_line.wrong!r} in line {spoiled_line.line} was imported"
            ) from error


def test_a_wrong_field_is_refused_or_harmless(place: Place, tmp_path: Path, request: pytest.FixtureRequest):
    # A part of them all, another for each store: the whole takes minutes, and was run by hand.
    every = 67 if "file" in request.node.name else 173
    taken = refused = 0
    for number, spoiled_line in enumerate(spoiled(_export(tmp_path), every=every)):
        tenant = place.memory.scope(tenant=f"tenant-{number}")
        if _refused(tenant, spoiled_line, tmp_path / "spoiled.jsonl"):
            assert tenant.stats().versions == 0
            refused += 1
            continue
        taken += 1
        if taken <= 12:
            _check_harmless(tenant, spoiled_line)
    assert refused > taken > 0
    place.worker.run_until_idle()
    other = place.memory.scope(tenant="other", user="eve")
    other.messages.add("user", "I moved to Faro.")
    place.worker.run_until_idle()
    assert [fact.object for fact in other.facts.list(subject="eve")] == ["Faro"]
    assert not [job for job in other.jobs.list() if job.state != "done"]


_READ_ON_EVERY_SEARCH = ("fact", "revision", "chunk")


def test_wrong_data_of_what_every_search_reads_breaks_no_search(tmp_path: Path):
    whole = _export(tmp_path)
    looked = dict.fromkeys(_READ_ON_EVERY_SEARCH, 0)
    with Memory(":memory:", embedder=WordEmbedder(), settings=FAST) as memory:
        for number, spoiled_line in enumerate(spoiled(whole)):
            if not spoiled_line.field.startswith("record.data.") or spoiled_line.wrong not in ([1], -1, None, {}):
                continue
            kind = spoiled_line.lines[spoiled_line.line - 1]["record"]["kind"]
            if kind not in looked:
                continue
            tenant = memory.scope(tenant=f"tenant-{number}")
            if _refused(tenant, spoiled_line, tmp_path / "spoiled.jsonl"):
                continue
            looked[kind] += 1
            chat = tenant.scope(user="ana", room="r1", agent="bot")
            try:
                for view in (tenant, chat):
                    view.search("where does ana live, Lisbon ships?")
                    view.context("where does ana live, Lisbon ships?", max_tokens=500)
                chat.messages.add("user", "I moved to Faro.").wait()
            except Exception as error:
                raise AssertionError(
                    f"{spoiled_line.field} = {spoiled_line.wrong!r} in line {spoiled_line.line} was imported"
                ) from error
    assert all(looked.values()), looked


def test_a_wrong_field_over_the_wire_is_an_answer_that_names_it(tmp_path: Path):
    whole, headers = _export(tmp_path), {"Content-Type": "application/x-ndjson"}
    with ExitStack() as stack:
        memory = stack.enter_context(Memory(":memory:", embedder=WordEmbedder(), settings=FAST))
        address = stack.enter_context(running(memory))
        web = stack.enter_context(httpx.Client(base_url=address, timeout=30, trust_env=False))
        for number, spoiled_line in enumerate(spoiled(whole, every=211)):
            body = spoiled_line.write(tmp_path / "spoiled.jsonl").read_bytes()
            answer = web.post(f"/v1/import?tenant=tenant-{number}", content=body, headers=headers)
            assert answer.status_code in (200, 400, 422), (spoiled_line.field, spoiled_line.wrong, answer.text)
            assert str(tmp_path) not in answer.text
        poisoned = next(
            spoiled_line
            for spoiled_line in spoiled(whole)
            if spoiled_line.field == "job.attempts" and spoiled_line.wrong == 9223372036854775807
        )
        body = poisoned.write(tmp_path / "spoiled.jsonl").read_bytes()
        answer = web.post("/v1/import?tenant=acme", content=body, headers=headers)
        assert answer.status_code == 400
        assert f"line {poisoned.line}" in answer.text
        assert "job.attempts" in answer.text


# ---- jobs that are in the table already, by whatever way

_COLUMNS = "tenant, id, task, payload, state, attempts, due_at, leased_until, error, created_at"
_POISON = {
    "many attempts": "'acme', '{id}', 'learn', '{{\"record\":\"x\"}}', 'waiting', {most}, 0, NULL, NULL, 0",
    "no attempts": "'acme', '{id}', 'learn', '{{\"record\":7}}', 'waiting', -5, 0, NULL, NULL, 0",
    "a number for a payload": "'acme', '{id}', 'learn', '5', 'waiting', 0, 0, NULL, NULL, 0",
    "no JSON": "'acme', '{id}', 'embed', '{{', 'waiting', 0, 0, NULL, NULL, 0",
    "nothing told": "'acme', '{id}', 'summarise', '{{}}', 'waiting', 0, 0, NULL, NULL, 0",
    "no version": "'acme', '{id}', 'embed', '{{\"record\":\"x\",\"version\":\"1\"}}', 'waiting', 0, 0, NULL, NULL, 0",
    "the end of time": "'acme', '{id}', 'unlearn', '{{\"record\":\"x\"}}', 'running', 0, 0, 1, NULL, 9000000000000000000",
}


def test_a_poisoned_job_is_put_aside_and_stops_no_other(place: Place, tmp_path: Path):
    most = 2**63 - 1 if "sqlite" in type(view_of(place.memory).engine.store).__module__ else 2**31 - 1
    for number, values in enumerate(_POISON.values()):
        place.execute(f"INSERT INTO jobs ({_COLUMNS}) VALUES ({values.format(id=f'poison-{number}', most=most)})")
    acme, other = place.memory.scope(tenant="acme", user="kim"), place.memory.scope(tenant="other", user="eve")
    acme.messages.add("user", "I moved to Lisbon.")
    other.messages.add("user", "I moved to Faro.")
    place.worker.run_until_idle()
    assert [fact.object for fact in other.facts.list(subject="eve")] == ["Faro"]
    assert [fact.object for fact in acme.facts.list(subject="kim")] == ["Lisbon"]
    jobs = {job.id: job for job in acme.jobs.list()}
    for number, name in enumerate(_POISON):
        job = jobs[f"poison-{number}"]
        assert (job.state, bool(job.error)) == ("dead", True), (name, job)
    assert {job.state for job in jobs.values() if not job.id.startswith("poison")} == {"done"}
    whole = place.memory.scope(tenant="acme")
    assert whole.export(tmp_path / "poisoned.jsonl").jobs == len(jobs)
    with pytest.raises(InvalidInput, match=r"line \d+.*job\."):
        place.memory.scope(tenant="copy").import_(tmp_path / "poisoned.jsonl")


def test_jobs_of_a_dropped_key_stop_no_other(tmp_path: Path):
    with Memory(tmp_path / "sealed.db", encryption=Keyring(b"k" * 32), settings=FAST) as memory:
        acme, other = memory.scope(tenant="acme"), memory.scope(tenant="other", user="eve")
        acme.scope(user="kim").messages.add("user", "I moved to Lisbon.")
        other.messages.add("user", "I moved to Faro.")
        acme.drop_key(tenant="acme")
        Worker(view_of(memory).engine).run_until_idle()
        assert [fact.object for fact in other.facts.list(subject="eve")] == ["Faro"]
