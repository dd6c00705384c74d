"""Search with a model's help: hits ordered anew, questions rewritten, and searches that go on when that fails."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import pytest

from rememo import Memory, Settings
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.openai import OpenAICompatible
from rememo.recall.rerank.cross_encoder import CrossEncoderReranker
from rememo.recall.rerank.endpoint import EndpointReranker
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import ChatReply, ErrorReply, RawReply, ScriptedEndpoint

QUIET = Settings(worker=False, durability="fast")
TEXTS = ["the red boat is in the harbour", "a boat trip costs ten euros", "red wine is in the cellar"]


class Longest:
    """Prefers what is said at length."""

    name = "longest"

    def __init__(self, score: Callable[[str], float] = len) -> None:
        self.asked: list[tuple[str, list[str]]] = []
        self._score = score

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        self.asked.append((query, list(texts)))
        return [self._score(text) / 100 for text in texts]


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as served:
        yield served


@pytest.fixture
def asked(endpoint: ScriptedEndpoint) -> Iterator[Memory]:
    with (
        OpenAICompatible(endpoint.url, "judge", retries=0) as llm,
        Memory(":memory:", llm=llm, settings=QUIET, clock=ManualClock()) as memory,
    ):
        memory.add_many(TEXTS)
        yield memory


def test_a_reranker_orders_more_than_are_wanted_and_gives_the_best():
    reranker = Longest()
    with Memory(":memory:", reranker=reranker, settings=QUIET) as memory:
        memory.add_many([" ".join(["boat", *(f"deck{number}of{k}" for k in range(number))]) for number in range(12)])
        hits = memory.search("boat", limit=3, rerank=True, explain=True)
        assert [hit.text.count("deck") for hit in hits] == [11, 10, 9]
        assert [hit.reasons for hit in hits] == [{"rerank": hit.score} for hit in hits]
        [(query, texts)] = reranker.asked
        assert (query, len(texts)) == ("boat", 12)
        assert memory.search("boat", rerank=True, threshold=0.5)[-1].score >= 0.5
        assert memory.search("", kind="note", rerank=True)
        assert len(reranker.asked) == 2
        assert memory.search("nothing of the kind at all, xyzzy", mode="words", rerank=True) == []


def broken(text: str) -> float:
    raise RuntimeError(f"no memory for {text}")


def nonsense(text: str) -> float:
    return float("nan") if text else 0.0


@pytest.mark.parametrize("score", [broken, nonsense])
def test_a_reranker_that_fails_leaves_the_order_as_it_was(score: Callable[[str], float]):
    with Memory(":memory:", reranker=Longest(score), settings=QUIET) as memory:
        memory.add_many(TEXTS)
        assert memory.search("red boat", rerank=True) == memory.search("red boat")


def test_scores_of_any_size_become_numbers_from_0_to_1():
    with Memory(
        ":memory:", reranker=Longest(lambda text: -900.0 if "wine" in text else 400.0), settings=QUIET
    ) as memory:
        memory.add_many(TEXTS)
        hits = memory.search("red boat", rerank=True)
        assert all(0 <= hit.score <= 1 for hit in hits)
        assert hits[-1].text == "red wine is in the cellar"


def test_the_model_orders_where_there_is_no_reranker(asked: Memory, endpoint: ScriptedEndpoint):
    def judge(body: dict[str, Any]) -> ChatReply:
        passages = json.loads(body["messages"][-1]["content"])["passages"]
        return ChatReply(
            {"scores": [{"n": passage["n"], "score": 9 if "trip" in passage["text"] else 2} for passage in passages]}
        )

    endpoint.default = judge
    hits = asked.search("what does the boat cost?", rerank=True)
    assert hits[0].text == "a boat trip costs ten euros"
    assert hits[0].score == pytest.approx(0.9)
    assert [entry.operation for entry in asked.spending().entries] == ["rerank"]
    endpoint.default = ErrorReply(500)
    assert asked.search("red boat", rerank=True) == asked.search("red boat")


def test_the_model_rewrites_a_question_by_what_was_said_before(asked: Memory, endpoint: ScriptedEndpoint):
    room = asked.scope(user="ana", room="r1")
    room.messages.add("user", "I think of buying the red boat.")
    room.messages.add("user", "Miso the cat sleeps on the sofa.")
    endpoint.default = ChatReply({"queries": ["where does Miso sleep", " ", "where does Miso sleep"]})
    hits = room.search("and where does she do that?", rewrite=True)
    assert hits[0].text == "Miso the cat sleeps on the sofa."
    [request] = endpoint.requests
    assert "I think of buying the red boat." in request.prompt
    assert [entry.operation for entry in asked.spending().entries] == ["rewrite"]
    endpoint.default = ChatReply("nonsense")
    assert room.search("red boat", rewrite=True) == room.search("red boat")


def test_asking_for_help_that_is_not_there_is_an_error():
    with Memory(":memory:", settings=QUIET) as memory:
        memory.add("a boat")
        with pytest.raises(InvalidInput, match="reranker=… or llm="):
            memory.search("boat", rerank=True)
        with pytest.raises(InvalidInput, match="llm="):
            memory.search("boat", rewrite=True)


def test_an_endpoint_of_rerankers_is_asked_and_read(endpoint: ScriptedEndpoint):
    path = "/rerank"
    with EndpointReranker(endpoint.url, "cross") as reranker:
        results = b'{"results": [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": -2.5}]}'
        endpoint.default = RawReply(results)
        assert reranker.rerank("boat", ["wine", "boat"]) == [-2.5, 0.9]
        assert endpoint.requests_to(path)[0].body == {
            "model": "cross",
            "query": "boat",
            "documents": ["wine", "boat"],
            "top_n": 2,
        }
        endpoint.default = RawReply(b'{"results": [{"index": 0}]}')
        with pytest.raises(ModelFailed, match="did not answer with 2 scores"):
            reranker.rerank("boat", ["wine", "boat"])


def test_a_cross_encoder_is_asked_for_pairs(monkeypatch: pytest.MonkeyPatch):
    class CrossEncoder:
        def __init__(self, name: str, device: str | None) -> None:
            self.made_of = (name, device)

        def predict(self, pairs: list[tuple[str, str]], *, show_progress_bar: bool) -> list[float]:
            assert not show_progress_bar
            return [float(len(set(text) & set(other))) for text, other in pairs]

    fake = ModuleType("sentence_transformers")
    vars(fake)["CrossEncoder"] = CrossEncoder
    monkeypatch.setitem(sys.modules, "sentence_transformers", fake)
    reranker = CrossEncoderReranker("tiny")
    assert reranker.rerank("boat", ["boa", "xyz"]) == [3.0, 0.0]
    assert reranker.name == "tiny"
