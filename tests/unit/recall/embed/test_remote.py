"""A memory whose vectors come from an endpoint: nothing waits for it, nothing is paid for twice, nothing is lost without it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from rememo import Memory, Settings
from rememo.engine.engine import Engine
from rememo.engine.remote_embedding import fetch_vectors
from rememo.engine.view import view_of
from rememo.errors import EmbeddingFailed, EmbeddingMismatch, InvalidInput, JobFailed
from rememo.jobs.worker import Worker
from rememo.keep.health_check import check_health
from rememo.keep.keyring import Keyring
from rememo.recall.embed.openai import OpenAIEmbedder
from rememo.recall.embed.static import StaticEmbedder
from rememo.store.kv.protocol import EMBED_CACHE
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import (
    EMBEDDINGS,
    ErrorReply,
    HeldReply,
    RawReply,
    ScriptedEndpoint,
    VectorReply,
    vector_of,
)

DIMENSION = 8


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(dimension=DIMENSION) as served:
        yield served


def embedder(
    endpoint: ScriptedEndpoint, model: str = "tiny", dimension: int | None = DIMENSION, **more: Any
) -> OpenAIEmbedder:
    options: dict[str, Any] = {"retries": 0, "question_timeout": 10.0, **more}
    return OpenAIEmbedder(model, dimension, base_url=endpoint.url, **options)


def nearest(memory: Memory, text: str) -> str:
    return memory.similar(vector_of(text, DIMENSION), limit=1)[0].text


def texts_asked(endpoint: ScriptedEndpoint) -> list[str]:
    return [text for request in endpoint.requests_to(EMBEDDINGS) for text in request.body["input"]]


def worker_of(memory: Memory) -> Worker:
    return cast("Worker", engine_of(memory).runner)


def engine_of(memory: Memory) -> Engine:
    return view_of(memory).engine  # what only a worker sees


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def open_memory(
    path: Path, endpoint: ScriptedEndpoint, clock: ManualClock, *, model: str = "tiny", days: float = 30.0
) -> Memory:
    settings = Settings(worker=False, embed_cache_days=days)
    return Memory(path, embedder=embedder(endpoint, model), settings=settings, clock=clock)


@pytest.mark.requirement("record.embed-one-and-batch")
def test_a_write_does_not_wait_and_a_job_fetches_the_vector(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        asked = len(endpoint.requests)
        said = ("a red boat", "a grey cat", "a red boat", "")
        receipt = memory.add_many([{"text": text, "learn": False} for text in said])
        assert len(endpoint.requests) == asked
        assert len(receipt.jobs) == 3
        assert memory.stats().vectors == 0
        assert [hit.text for hit in memory.search("cat", mode="words")] == ["a grey cat"]
        receipt.wait()
        # All of them in one request, and the same text once.
        [request] = endpoint.requests_to(EMBEDDINGS)[asked:]
        assert sorted(request.body["input"]) == ["a grey cat", "a red boat"]
        assert memory.stats().vectors == 3
        assert nearest(memory, "a grey cat") == "a grey cat"


def test_the_same_text_is_paid_for_once(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        memory.add("a red boat").wait()
        asked = len(texts_asked(endpoint))
        receipt = memory.add("a red boat", metadata={"again": True}).wait()
        assert len(texts_asked(endpoint)) == asked
        vector = np.asarray(vector_of("a red boat", DIMENSION), np.float32)
        [first, second] = memory.similar(vector, limit=2)
        assert receipt.id in {first.id, second.id}
        assert min(first.score, second.score) > 0.999
    # Another tenant pays for itself: what one knows is nothing to the other.
    settings = Settings(worker=False)
    with Memory(tmp_path / "a.db", tenant="b", embedder=embedder(endpoint), settings=settings, clock=clock) as other:
        other.add("a red boat").wait()
        assert len(texts_asked(endpoint)) == asked + 1
        clock.advance(31 * 86_400)
        other.add("a red boat", metadata={"again": True}).wait()
        assert len(texts_asked(endpoint)) == asked + 2


def test_nothing_is_kept_where_the_settings_say_so(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    with open_memory(tmp_path / "a.db", endpoint, clock, days=0) as memory:
        memory.add("a red boat").wait()
        asked = len(texts_asked(endpoint))
        memory.add("a red boat").wait()
        assert len(texts_asked(endpoint)) == asked + 1


def test_what_was_paid_for_is_not_counted_exported_or_spared_by_an_erasure(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        receipt = memory.scope(user="kim").add("kim sails a red boat").wait()
        memory.kv.set("own", 1)
        engine = engine_of(memory)
        assert len(engine.kv.keys("default", EMBED_CACHE, "*", engine.now())) == 1
        assert memory.stats().keys == 1
        assert memory.export(tmp_path / "a.jsonl").keys == 2, "today's page of the ledger moves with the memory"
        assert EMBED_CACHE not in (tmp_path / "a.jsonl").read_text()
        assert memory.verify().ok
        erased = memory.erase(ids=receipt.ids)
        assert erased.ok, erased.leftovers
        assert engine.kv.keys("default", EMBED_CACHE, "*", engine.now()) == []
        assert memory.kv.get("own") == 1


def test_in_a_sealed_memory_it_is_sealed_and_outlives_a_change_of_keys(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    ring = Keyring(bytes(32))
    settings = Settings(worker=False)
    with Memory(
        tmp_path / "a.db", embedder=embedder(endpoint), encryption=ring, settings=settings, clock=clock
    ) as memory:
        memory.add("a red boat").wait()
        asked = len(texts_asked(endpoint))
        memory.rotate_keys().wait()
        memory.add("a red boat").wait()
        assert len(texts_asked(endpoint)) == asked
        assert memory.verify().ok


def test_while_the_endpoint_is_down_everything_goes_on_by_words(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    passing = [0.0]
    remote = embedder(endpoint, clock=lambda: passing[0])
    with Memory(tmp_path / "a.db", embedder=remote, settings=Settings(worker=False), clock=clock) as memory:
        memory.add("a red boat").wait()
        endpoint.down()
        receipt = memory.add("a grey cat")
        assert [hit.text for hit in memory.search("where is the cat?")] == ["a grey cat"]
        with pytest.raises(EmbeddingFailed, match=r"cannot be reached|left alone"):
            memory.search("cat", mode="vector")
        [health] = engine_of(memory).health()
        assert (health.name, health.ok) == ("embedder", False)
        with pytest.raises(JobFailed, match=r"cannot be reached|left alone"):
            receipt.wait(timeout=0.1)
        [job] = memory.jobs.list("waiting")
        assert job.attempts == 1
        # Whoever asks in another process is told too.
        with Memory(tmp_path / "a.db", embedder=None, settings=Settings(worker=False), clock=clock) as other:
            [told] = [check.said for check in check_health(engine_of(other), "default") if check.what == "embedder"]
        assert "1 are owed, and the last try said: EmbeddingFailed" in told
        endpoint.up()
        clock.advance(120)
        passing[0] += 120
        receipt.wait()
        assert memory.stats().vectors == 2
        assert engine_of(memory).health()[0].ok


def test_an_outage_is_waited_out_for_longer_than_other_failures(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    endpoint.script(*[ErrorReply(503, "no capacity")] * 12, path=EMBEDDINGS)
    passing = [0.0]
    remote = embedder(endpoint, clock=lambda: passing[0])
    with Memory(tmp_path / "a.db", embedder=remote, settings=Settings(worker=False), clock=clock) as memory:
        memory.add("a red boat", learn=False)
        runner = worker_of(memory)
        attempts = 0
        while memory.jobs.list("waiting"):
            clock.advance(660)
            passing[0] += 660
            attempts += runner.run_once()
        assert attempts == 12  # the first was the question at the opening
        assert memory.stats().vectors == 1


def test_what_the_endpoint_says_about_waiting_is_obeyed(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        endpoint.script(ErrorReply(429, "slow down", retry_after=120), path=EMBEDDINGS)
        memory.add("a red boat")
        runner = worker_of(memory)
        runner.run_once()
        [job] = memory.jobs.list("waiting")
        assert job.error is not None
        assert "slow down" in job.error
        assert (job.due_at - clock()).total_seconds() >= 120
        asked = len(endpoint.requests)
        memory.search("boat")
        assert len(endpoint.requests) == asked


def test_one_text_that_is_refused_stops_no_others(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    def choosy(body: dict[str, list[str]]) -> ErrorReply | VectorReply:
        if any("too long" in text for text in body["input"]):
            return ErrorReply(400, "this is too long for me")
        return VectorReply([vector_of(text, DIMENSION) for text in body["input"]])

    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        endpoint.script(*[choosy] * 50, path=EMBEDDINGS)
        texts = [f"entry {number}" for number in range(20)]
        memory.add_many([*texts[:7], "too long", *texts[7:]])
        runner = worker_of(memory)
        runner.run_once()
        assert memory.stats().vectors == 20
        assert len(endpoint.requests_to(EMBEDDINGS)) < 15
        for _ in range(4):
            clock.advance(600)
            runner.run_once()
        [dead] = memory.jobs.list("dead")
        assert dead.error is not None
        assert "too long for me" in dead.error
        assert memory.search("too long", limit=1)[0].text == "too long"


def test_a_key_that_is_refused_is_not_tried_for_each_text(endpoint: ScriptedEndpoint):
    endpoint.script(*[ErrorReply(401, "bad key")] * 30, path=EMBEDDINGS)
    with embedder(endpoint) as remote:
        found = fetch_vectors([f"text {number}" for number in range(256)], remote.embed, None)
    assert all(isinstance(vector, EmbeddingFailed) for vector in found)
    assert len(endpoint.requests) <= 20


def test_the_length_of_vectors_is_looked_at_when_a_memory_is_opened(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    with pytest.raises(EmbeddingMismatch, match=r"8 numbers where 16 .*dimension"):
        Memory(tmp_path / "a.db", embedder=embedder(endpoint, dimension=16))
    with Memory(tmp_path / "a.db", embedder=embedder(endpoint, dimension=None), clock=clock) as memory:
        memory.add("a red boat").wait()
    # From then on the file knows it: it opens without the endpoint.
    endpoint.down()
    asked = len(endpoint.requests)
    with Memory(tmp_path / "a.db", embedder=embedder(endpoint, dimension=None), clock=clock) as memory:
        assert memory.search("boat", mode="words")[0].text == "a red boat"
    assert len(endpoint.requests) == asked
    with pytest.raises(EmbeddingMismatch, match=r"openai/tiny.*wordllama.*embedder=.*reembed"):
        Memory(tmp_path / "a.db")
    with pytest.raises(EmbeddingFailed, match="say dimension="):
        Memory(tmp_path / "new.db", embedder=embedder(endpoint, dimension=None))
    with Memory(tmp_path / "new.db", embedder=embedder(endpoint)) as memory:
        assert memory.add("a grey cat").status == "learning"


@pytest.mark.requirement("embed.online-change")
def test_a_memory_can_go_to_an_endpoint_and_back_and_there_again(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    with Memory(tmp_path / "a.db", settings=Settings(worker=False), clock=clock) as memory:
        ids = memory.add_many([f"entry {number}" for number in range(40)]).ids
        memory.update(ids[0], metadata={"seen": True})
        remote = embedder(endpoint)
        assert memory.reembed(remote) == 41
        assert nearest(memory, "entry 7") == "entry 7"
        # Two versions of one text cost as much as one.
        assert sum(text == "entry 0" for text in texts_asked(endpoint)) == 1
        assert memory.reembed(StaticEmbedder()) == 41
        memory.add("written in between")
        other = embedder(endpoint, "other", None)
        assert memory.reembed(other) == 42
        asked = len(texts_asked(endpoint))
        assert memory.reembed(embedder(endpoint)) == 42
        # Only what is new since costs anything.
        assert [text for text in texts_asked(endpoint)[asked:] if text != "dimension"] == ["written in between"]
        assert memory.verify().ok
        assert memory.stats().vectors == 42


@pytest.mark.requirement("embed.online-change")
def test_an_endpoint_that_goes_away_meanwhile_is_gone_on_with_later(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rememo.keep.reembed._REMOTE_CHUNK", 20)
    with Memory(tmp_path / "a.db", settings=Settings(worker=False), clock=clock) as memory:
        memory.add_many([f"entry {number}" for number in range(50)])

        def gone(done: int, of: int) -> None:
            if done == 20:
                endpoint.down()

        with pytest.raises(EmbeddingFailed, match="cannot be reached"):
            memory.reembed(embedder(endpoint), progress=gone)
        assert memory.search("entry 7", mode="vector")
        endpoint.up()
        asked = len(texts_asked(endpoint))
        assert memory.reembed(embedder(endpoint)) == 30
        assert len(texts_asked(endpoint)) - asked == 30
        assert memory.verify().ok


def test_a_text_that_is_refused_in_a_change_of_models_is_told_by_a_dead_job(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    def choosy(body: dict[str, list[str]]) -> ErrorReply | VectorReply:
        if any("too long" in text for text in body["input"]):
            return ErrorReply(400, "this is too long for me")
        return VectorReply([vector_of(text, DIMENSION) for text in body["input"]])

    endpoint.script(*[choosy] * 30, path=EMBEDDINGS)
    with Memory(tmp_path / "a.db", settings=Settings(worker=False), clock=clock) as memory:
        memory.add_many(["one", "two", "too long", "three"])
        assert memory.reembed(embedder(endpoint)) == 4
        assert memory.stats().vectors == 3
        [dead] = memory.jobs.list("dead")
        assert dead.error is not None
        assert "too long for me" in dead.error
        [fault] = memory.verify().missing_vectors
        assert "1 versions have no vector of openai/tiny" in fault


def test_an_import_asks_the_endpoint_later(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    with Memory(tmp_path / "a.db", settings=Settings(worker=False), clock=clock) as memory:
        memory.add_many(["one", "two", "three"])
        memory.export(tmp_path / "a.jsonl")
    with open_memory(tmp_path / "b.db", endpoint, clock) as other:
        asked = len(endpoint.requests)
        assert other.import_(tmp_path / "a.jsonl").versions == 3
        assert len(endpoint.requests) == asked
        assert other.import_(tmp_path / "a.jsonl").versions == 0
        worker_of(other).run_until_idle()
        assert other.stats().vectors == 3


def test_a_question_asked_again_is_not_paid_for_again(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    with open_memory(tmp_path / "a.db", endpoint, clock) as memory:
        memory.add("a red boat").wait()
        memory.search("boat")
        asked = len(endpoint.requests)
        memory.search("boat")
        assert len(endpoint.requests) == asked


def test_a_slow_endpoint_holds_up_one_search_and_no_others(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    remote = embedder(endpoint, question_timeout=0.2)
    with Memory(tmp_path / "a.db", embedder=remote, settings=Settings(worker=False), clock=clock) as memory:
        memory.add("a red boat").wait()
        endpoint.script(HeldReply(RawReply(b"{}")), path=EMBEDDINGS)
        assert memory.search("red boat")[0].text == "a red boat"
        asked = len(endpoint.requests)
        assert memory.search("another boat")[0].text == "a red boat"
        assert len(endpoint.requests) == asked


@pytest.mark.requirement("spend.limit")
def test_vectors_are_booked_and_wait_for_tomorrow_beyond_the_ceiling(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock
):
    settings = Settings(worker=False, spend_daily_tokens=40, spend_embed_price=2.0)
    with Memory(tmp_path / "a.db", embedder=embedder(endpoint), settings=settings, clock=clock) as memory:
        memory.add("a red boat on the river").wait()
        [spent] = memory.spending().entries
        # The endpoint says a token for each word.
        assert (spent.operation, spent.calls, spent.prompt, spent.completion, spent.refused) == ("embed", 1, 6, 0, 0)
        assert spent.cost == pytest.approx(6 * 2.0 / 1_000_000)
        asked = len(endpoint.requests_to(EMBEDDINGS))
        memory.add("a grey cat " * 40)
        worker_of(memory).run_once()
        assert len(endpoint.requests_to(EMBEDDINGS)) == asked
        [waiting] = memory.jobs.list("waiting")
        assert waiting.due_at == clock().replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        assert "of the 40" in (waiting.error or "")
        assert memory.spending().entries[0].refused == 1
        assert "grey cat" in memory.search("grey cat", mode="words")[0].text
    roomy = settings.but(spend_daily_tokens=10_000)
    with Memory(tmp_path / "a.db", embedder=embedder(endpoint), settings=roomy, clock=clock) as memory:
        clock.advance(86_400)
        worker_of(memory).run_once()
        assert memory.stats().vectors == 2
        assert memory.jobs.list("waiting") == []


def test_what_an_endpoint_did_not_do_is_not_booked(tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock):
    remote = embedder(endpoint, clock=lambda: clock().timestamp())
    with Memory(tmp_path / "a.db", embedder=remote, settings=Settings(worker=False), clock=clock) as memory:
        endpoint.script(ErrorReply(503), path=EMBEDDINGS)
        memory.add("a red boat")
        worker_of(memory).run_once()
        assert len(memory.jobs.list("waiting")) == 1
        [spent] = memory.spending().entries
        assert (spent.calls, spent.failed, spent.tokens) == (1, 1, 0)
        endpoint.script(RawReply(b'{"data": []}'), path=EMBEDDINGS)
        clock.advance(3_600)
        worker_of(memory).run_once()
        assert memory.spending().today > 0, "an answer that was of no use may have been paid for"


def test_an_embedder_can_be_named_by_settings(
    tmp_path: Path, endpoint: ScriptedEndpoint, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REMEMO_EMBEDDER", "openai:tiny")
    monkeypatch.setenv("REMEMO_EMBED_URL", endpoint.url)
    monkeypatch.setenv("REMEMO_EMBED_KEY", "very-secret")
    with Memory(tmp_path / "a.db", clock=clock) as memory:
        memory.add("a red boat").wait()
        assert memory.stats().vectors == 1
        assert "very-secret" not in repr(engine_of(memory).settings)
        memory.export(tmp_path / "a.jsonl")
    assert "very-secret" not in (tmp_path / "a.jsonl").read_text()
    assert endpoint.requests[-1].headers["authorization"] == "Bearer very-secret"
    with Memory(tmp_path / "b.db", embedder="static", clock=clock) as memory:
        assert memory.add("a red boat", learn=False).status == "done"
    with Memory(tmp_path / "c.db", embedder="none", clock=clock) as memory:
        assert engine_of(memory).embedder is None
    with pytest.raises(InvalidInput, match="no embedder 'nonsense'"):
        Memory(tmp_path / "d.db", embedder="nonsense")
