"""The HTTP embedder against a real server."""

import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from rememo.errors import EmbeddingFailed, EmbeddingMismatch, InvalidInput, MissingExtra
from rememo.recall.embed.extras import require
from rememo.recall.embed.openai import OpenAIEmbedder


class Endpoint:
    """An embeddings server that answers as told."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []
        self.answers: list[tuple[int, dict[str, str], Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.requests.append(body)
                endpoint.authorization.append(self.headers.get("authorization"))
                status, headers, answer = endpoint.answers.pop(0) if endpoint.answers else (200, {}, None)
                content = json.dumps(endpoint.embeddings(body["input"]) if answer is None else answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: ARG002 - silent
                return

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self.thread.start()

    @staticmethod
    def embeddings(texts: list[str]) -> dict[str, Any]:
        rows = [{"index": place, "embedding": [float(len(text)), 1.0, 0.0]} for place, text in enumerate(texts)]
        return {"data": rows[::-1], "usage": {"total_tokens": 7}}  # out of order, as is allowed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1/"

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    served = Endpoint()
    yield served
    served.close()


@pytest.fixture
def pauses() -> list[float]:
    return []


def noting(pauses: list[float]) -> Callable[[float], Awaitable[object]]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    return sleep


@pytest.fixture
def embedder(endpoint: Endpoint, pauses: list[float]) -> Iterator[OpenAIEmbedder]:
    with OpenAIEmbedder(
        "tiny", 3, base_url=endpoint.url, api_key="secret", batch_size=2, retries=2, sleep=noting(pauses)
    ) as opened:
        yield opened


@pytest.mark.requirement("record.embed-one-and-batch")
def test_texts_go_in_batches_and_come_back_in_order(embedder: OpenAIEmbedder, endpoint: Endpoint):
    texts = ["a", "bbbb", "", "cc", "dddddd", "   "]
    vectors = embedder.embed(texts)
    assert sorted(request["input"] for request in endpoint.requests) == [["a", "bbbb"], ["cc", "dddddd"]]
    assert endpoint.authorization == ["Bearer secret", "Bearer secret"]
    assert [vector is None for vector in vectors] == [False, False, True, False, False, True]
    for text, vector in zip(texts, vectors, strict=True):
        if vector is not None:
            expected = np.array([len(text), 1, 0]) / np.hypot(len(text), 1)
            np.testing.assert_allclose(vector, expected, rtol=1e-5)


def test_what_was_spent_is_told(embedder: OpenAIEmbedder):
    assert embedder.attempt(["a", "b", "c"]).tokens == 14


def test_nothing_is_asked_for_blank_texts(embedder: OpenAIEmbedder, endpoint: Endpoint):
    assert embedder.embed(["", " "]) == [None, None]
    assert embedder.embed([]) == []
    assert endpoint.requests == []


def test_a_busy_endpoint_is_asked_again_when_it_says(embedder: OpenAIEmbedder, endpoint: Endpoint, pauses: list[float]):
    endpoint.answers = [(429, {"retry-after": "7"}, {"error": "slow down"}), (503, {}, {"error": "starting"})]
    assert embedder.embed(["a"])[0] is not None
    assert pauses[0] == pytest.approx(7, abs=0.1)
    assert len(pauses) == len(endpoint.requests) - 1 == 2


def test_an_endpoint_that_stays_busy_is_a_failure_with_its_words(embedder: OpenAIEmbedder, endpoint: Endpoint):
    endpoint.answers = [(503, {}, {"error": "no capacity"})] * 3
    with pytest.raises(EmbeddingFailed, match="no capacity"):
        embedder.embed(["a"])
    assert len(endpoint.requests) == 3


def test_a_refusal_is_not_repeated(embedder: OpenAIEmbedder, endpoint: Endpoint, pauses: list[float]):
    endpoint.answers = [(401, {}, {"error": "bad key"})]
    with pytest.raises(EmbeddingFailed, match="401"):
        embedder.embed(["a"])
    assert pauses == []


@pytest.mark.parametrize("answer", [{}, {"data": []}, [], {"data": [{"index": 5, "embedding": [1, 2, 3]}]}])
def test_an_answer_of_another_shape_is_a_failure(embedder: OpenAIEmbedder, endpoint: Endpoint, answer: Any):
    endpoint.answers = [(200, {}, answer)]
    with pytest.raises(EmbeddingFailed):
        embedder.embed(["a"])


@pytest.mark.parametrize("row", [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [float("nan"), 0.0, 0.0]])
def test_a_vector_of_another_length_or_not_finite_is_refused(
    embedder: OpenAIEmbedder, endpoint: Endpoint, row: list[float]
):
    endpoint.answers = [(200, {}, {"data": [{"index": 0, "embedding": row}]})]
    with pytest.raises(EmbeddingMismatch):
        embedder.embed(["a"])


def test_an_endpoint_that_is_not_there_is_a_failure(pauses: list[float]):
    with (
        OpenAIEmbedder("tiny", 3, base_url="http://127.0.0.1:9/v1", retries=1, sleep=noting(pauses)) as unreachable,
        pytest.raises(EmbeddingFailed, match="cannot be reached"),
    ):
        unreachable.embed(["a"])
    assert len(pauses) == 1


def test_a_shortened_model_is_told_its_length_and_named_by_it(endpoint: Endpoint):
    with OpenAIEmbedder("tiny", 3, base_url=endpoint.url, shorten=True) as shortened:
        shortened.embed(["a"])
        with OpenAIEmbedder("tiny", 3, base_url=endpoint.url) as whole:
            assert shortened.name != whole.name
    assert endpoint.requests[0]["dimensions"] == 3


@pytest.mark.parametrize(
    "given",
    [
        {"dimension": 0},
        {"batch_size": 0},
        {"max_chars": 0},
        {"concurrency": 0},
        {"retries": -1},
        {"timeout": 0.0},
        {"question_timeout": 0.0},
        {"shorten": True},
        {"base_url": "nowhere"},
    ],
)
def test_what_cannot_be_meant_is_refused(given: dict[str, Any]):
    with pytest.raises(InvalidInput):
        OpenAIEmbedder(**given)


def test_a_text_that_is_too_long_is_embedded_by_its_beginning(endpoint: Endpoint):
    with OpenAIEmbedder("tiny", 3, base_url=endpoint.url, max_chars=5) as short:
        short.embed(["a long text"])
        assert short.name == "openai/tiny~5"
    assert endpoint.requests[0]["input"] == ["a lon"]


def test_how_long_vectors_are_is_known_told_or_asked(endpoint: Endpoint):
    with OpenAIEmbedder(base_url=endpoint.url) as known, OpenAIEmbedder("tiny", base_url=endpoint.url) as asked:
        assert known.dimension == 1536
        assert endpoint.requests == []
        assert asked.dimension == asked.dimension == 3
        assert len(endpoint.requests) == 1


def test_a_missing_package_names_the_command_that_installs_it():
    with pytest.raises(MissingExtra, match=r'pip install "rememo\[fastembed\]"'):
        require("no_such_package_for_sure", extra="fastembed")
