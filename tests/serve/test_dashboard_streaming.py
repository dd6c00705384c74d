"""Pages that take a while: their top comes at once, and what goes wrong later is told in them."""

import threading
from collections.abc import Iterator, Sequence
from typing import Any

import httpx
import pytest
from tests.serve.pages import Page, checked

from rememo import Memory, Settings
from rememo.recall.embed.protocol import Vector
from rememo.testing import WordEmbedder


class Held(WordEmbedder):
    """Words as vectors, when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go_on = threading.Event()
        self.fault: Exception | None = None

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        self.asked.set()
        assert self.go_on.wait(60)
        if self.fault is not None:
            raise self.fault
        return super().embed(texts)


@pytest.fixture
def held() -> Held:
    return Held()


@pytest.fixture
def memory(held: Held) -> Iterator[Memory]:
    held.go_on.set()
    with Memory(":memory:", embedder=held, settings=Settings(worker=False, learn=False)) as memory:
        memory.scope(room="chat").messages.add("user", "The ferry leaves in July.", id="m")
        held.go_on.clear()
        held.asked.clear()
        yield memory
        held.go_on.set()


def halves(web: httpx.Client, held: Held, path: str) -> tuple[str, str]:
    """Return what came of a page before it was ready, and the whole of it."""
    with web.stream("GET", path) as answer:
        assert answer.status_code == 200
        parts = answer.iter_text()
        top = next(parts)
        held.go_on.set()
        return top, top + "".join(parts)


@pytest.mark.parametrize("path", ["/search?q=ferry", "/context?q=ferry"])
def test_the_top_of_a_slow_page_comes_before_the_rest(web: httpx.Client, held: Held, path: str):
    top, whole = halves(web, held, path)
    assert "Scope and time" in top
    assert "ferry leaves" not in top
    assert "ferry leaves" in Page(whole).text
    assert Page(whole).text.split() == checked(web.get(path)).text.split(), "and it is the page that a quick one is"


def test_what_goes_wrong_late_is_told_in_the_page(web: httpx.Client, held: Held):
    held.fault = RuntimeError("a secret of the machine")
    _, whole = halves(web, held, "/search?q=ferry")
    page = Page(whole)
    assert "That did not work" in page.text
    assert "secret" not in page.text
    held.fault = None
    assert "ferry leaves" in checked(web.get("/search?q=ferry")).text


def test_what_is_wrong_with_a_question_has_its_status(web: httpx.Client, held: Held):
    for path in (
        "/search?q=a&kind=nonsense",
        "/search?q=a&valid_at=never",
        "/context?q=a&max_tokens=1",
        "/?known_at=x",
    ):
        assert checked(web.get(path), 400).text
    assert not held.asked.is_set()


def test_somebody_who_leaves_keeps_nobody_waiting(web: httpx.Client, held: Held):
    with web.stream("GET", "/search?q=ferry") as answer:
        assert next(answer.iter_text())
    assert web.get("/search").status_code == 200
    held.go_on.set()


def test_a_server_reads_what_searches_need_before_anybody_asks(serve: Any, held: Held):
    held.go_on.set()
    serve(warm=True)
    assert held.asked.wait(30)
