"""The graph of the dashboard: what is drawn, what is left out and said so, and at which moment."""

from datetime import timedelta
from typing import Any

import httpx
from hypothesis import given
from hypothesis import strategies as st
from tests.serve.pages import HOSTILE, Page, checked

from rememo import Memory
from rememo.serve.dashboard.graph_layout import layout_nodes, view_box
from rememo.testing import ManualClock


def drawn(page: Page) -> list[str]:
    """Return the names that stand in the drawing."""
    return [str(names["aria-label"]) for tag, names in page.tags if tag == "a" and "aria-label" in names]


def listed(page: Page) -> str:
    return " ".join(page.text.split())


def test_a_graph_is_drawn_around_whoever_is_asked_for(board: Any, memory: Memory):
    memory.relationships.add("Ana", "Bo", "sister", strength=0.9)
    memory.relationships.add("Ana", "Bo", "works_with", strength=0.2)
    memory.relationships.add("Bo", "Cy", "friend", strength=0.5)
    memory.relationships.add("Cy", "Dee", "friend", strength=0.1)
    page = board("/graph", entity=" ana ")
    assert drawn(page) == ["Ana", "Bo", "Cy"]
    widths = {names["stroke-width"] for names in page.all("line")}
    assert widths == {"5.5", "3.5"}, "two that are connected twice have one line"
    assert "Ana sister Bo 0.90" in listed(page)
    assert "sister, works with" in page.text
    here = next(names for names in page.all("a") if names.get("aria-label") == "Cy")
    assert str(here["href"]) == "/graph?entity=Cy"
    assert drawn(board("/graph", entity="Cy")) == ["Cy", "Bo", "Ana", "Dee"]
    assert drawn(board("/graph")) == ["Bo", "Ana", "Cy", "Dee"], "the most connected, where nobody is asked for"
    assert "connected with nobody" in board("/graph", entity="Zoe").text
    assert "Nothing is connected" in board("/graph", user="nobody").text
    assert drawn(board("/graph", entity="Ana", user="nobody")) == []


def test_many_connections_are_bounded_and_it_says_what_is_left_out(board: Any, web: httpx.Client, memory: Memory):
    with memory.batch() as batch:
        batch.add_many(
            {
                "text": "x", "kind": "relationship",
                "data": {"entity": "Hub", "target": f"Person {layout_nodes}", "type": "knows", "strength": layout_nodes / 1_000,
                         "own": {"strength": 0.5}, "match": {"entity": "hub", "target": f"person {layout_nodes}", "type": "knows"}},
            }
            for layout_nodes in range(600)
        )  # fmt: skip
    page = board("/graph", entity="hub")
    assert len(drawn(page)) == 25
    assert "Person 599" in drawn(page)
    assert "476 more are connected with Hub and not drawn" in listed(page)
    assert "the latest alone were looked at" in listed(page)
    assert len(web.get("/graph").content) < 100_000
    assert drawn(board("/graph", entity="Person 3")) == ["Person 3", "Hub", *drawn(page)[1:24], "Person 576"][:26]


def test_hostile_names_are_drawn_and_do_nothing(board: Any, memory: Memory):
    for text in HOSTILE:
        name = text.replace("\x00", "") * 3
        memory.relationships.add("ana", name, "knows")
        memory.relationships.add(name, "bo", "likes")
        board("/graph", entity=name)
    page = board("/graph", entity="ana")
    assert len(drawn(page)) == len(HOSTILE) + 2
    memory.add("broken", kind="relationship", data={"entity": 1, "match": 2, "own": 3})
    memory.add(
        "broken", kind="relationship", data={"entity": "a", "target": "b", "type": "c", "strength": 7, "match": {}}
    )
    board("/graph")


def test_a_graph_is_of_its_moment(board: Any, memory: Memory, clock: ManualClock):
    chat = memory.scope(user="ana")
    chat.facts.add(
        "ana", "works_at", "CERN", valid_from=clock() - timedelta(days=100), valid_to=clock() - timedelta(days=50)
    )
    chat.facts.add("ana", "works_at", "ESA", valid_from=clock() - timedelta(days=50))
    clock.advance(1)
    early = clock()
    clock.advance(86_400)
    chat.relationships.add("ana", "Rui", "brother")
    assert "Rui" in drawn(board("/graph", entity="ana"))
    past = board("/graph", entity="ana", known_at=early.isoformat())
    assert "Rui" not in drawn(past)
    assert "ESA" in drawn(past)
    at = {days: f"{early - timedelta(days=days):%Y-%m-%dT%H:%M:%S}" for days in (10, 75, 200)}
    assert {"ESA", "Rui"} <= set(drawn(board("/graph", entity="ana", valid_at=at[10])))
    assert "ana" in drawn(board("/graph", entity="ESA", valid_at=at[10]))
    assert "CERN" not in drawn(board("/graph", entity="ana", valid_at=at[10]))
    then = drawn(board("/graph", entity="ana", valid_at=at[75]))
    assert "CERN" in then
    assert "ESA" not in then
    assert not {"CERN", "ESA"} & set(drawn(board("/graph", entity="ana", valid_at=at[200])))
    assert "slide" in {names.get("id") for names in board("/graph").all("label")}


def test_a_key_sees_the_relationships_of_its_scope(web: httpx.Client, memory: Memory, keys: Any):
    memory.scope(user="ana").relationships.add("ana", "Rui", "brother")
    memory.scope(user="bo").relationships.add("ana", "Secret", "knows")
    web.post("/login", data={"key": keys.add(user="ana", rights=["read"])[1]})
    assert drawn(checked(web.get("/graph?entity=Ana"))) == ["ana", "Rui"]
    assert checked(web.get("/graph?entity=Ana&user=bo"), 403).text


@given(st.lists(st.integers(0, 5), max_size=24))
def test_every_node_stands_alone_and_within_the_frame(hanging: list[int]):
    inner = [f"inner {layout_nodes}" for layout_nodes in range(len(hanging))]
    outer = {
        name: [f"{name}.{layout_nodes}" for layout_nodes in range(count)]
        for name, count in zip(inner, hanging, strict=True)
    }
    spots = layout_nodes("centre", inner, outer)
    assert [spot.name for spot in spots if spot.ring == 1] == inner
    assert len(spots) == 1 + len(inner) + sum(hanging)
    assert spots == layout_nodes("centre", inner, outer), "always the same"
    left, top, wide, high = view_box(spots)
    assert all(left + 50 < spot.x < left + wide - 50 and top + 50 < spot.y < top + high - 50 for spot in spots)
    if len(spots) <= 49:
        spread = sorted((spot.x, spot.y) for spot in spots)
        assert len(set(spread)) == len(spread)
