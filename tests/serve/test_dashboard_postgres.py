"""The dashboard on PostgreSQL: the same pages, and the same changes, undone and gone."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from tests.serve.pages import VIEWS, Page, checked, post

from rememo import Memory, Settings
from rememo.serve.demo import load_demo
from rememo.testing import ManualClock, WordEmbedder
from rememo.testing.postgres import DatabasePool


@pytest.fixture
def memory(clock: ManualClock, databases: DatabasePool) -> Iterator[Memory]:
    name = databases.lend()
    settings = Settings(
        durability="fast", audit=True, worker=False
    )  # who learned meanwhile would change what a form was made for
    with Memory(databases.url(name), embedder=WordEmbedder(), settings=settings, clock=clock) as memory:
        yield memory
    databases.take_back(name)


def test_the_dashboard_on_a_server(
    web: httpx.Client, board: Callable[..., Page], memory: Memory, clock: ManualClock
):  # fmt: skip
    load_demo(memory, ask=True)
    clock.advance(1)
    memory.snapshot("told")
    clock.advance(1)
    for path in VIEWS:
        board(path)
    assert "Learned from it" in board("/room", room="demo").text
    assert "Eva" in board("/graph", entity="ana").text
    assert "Lisbon" in board("/facts", all="yes").text
    assert "hits, best first" in board("/search", q="ferry").text
    message = memory.list(kind="message", limit=1)[0]
    done = post(web, "/change/delete", board("/record", id=message.id).form("/change/pin"))
    clock.advance(1)
    page = checked(web.get(done.headers["location"]))
    assert post(web, "/change/undo", page.form("/change/undo")).status_code == 303
    assert memory.get(message.id).text == message.text
    clock.advance(1)
    memory.update(message.id, text="something else")
    clock.advance(1)
    form = board("/versions", back="told").form("/change/rollback")
    page = checked(web.get(post(web, "/change/rollback", form).headers["location"]))
    assert memory.get(message.id).text == message.text
    clock.advance(1)
    assert post(web, "/change/undo", page.form("/change/undo")).status_code == 303
    assert memory.get(message.id).text == "something else"
    form = board("/erase", user="ana").form("/change/erase")
    assert "Save the receipt" in checked(post(web, "/change/erase", form, typed="ana")).text
    assert memory.scope(user="ana").count() == 0
