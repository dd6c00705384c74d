"""Moments of the past in the dashboard: snapshots, differences, and going back with a look at it before."""

from collections.abc import Callable

import httpx
import pytest
from tests.serve.pages import HOSTILE, Page, checked, post

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.testing import ManualClock


def words(page: Page) -> str:
    return " ".join(page.text.split())


@pytest.fixture
def told(memory: Memory, clock: ManualClock) -> str:
    """Something happens around a snapshot; returns the moment before the last of it."""
    memory.add("stays", id="stays")
    memory.add("goes away", id="goes")
    memory.add("the first words", id="changes")
    memory.scope(user="bo").add("of somebody else", id="other")
    clock.advance(60)
    memory.snapshot("before the import")
    clock.advance(60)
    memory.delete("goes")
    memory.update("changes", text="the later words")
    memory.add("came new", id="new")
    clock.advance(60)
    moment = clock().isoformat()
    clock.advance(60)
    memory.scope(user="bo").update("other", text="of somebody else, later")
    clock.advance(60)
    return moment


def test_a_snapshot_is_made_and_looked_at(web: httpx.Client, board: Callable[..., Page], memory: Memory):
    memory.add("a note")
    page = board("/versions")
    assert "There are none yet" in page.text
    done = post(web, "/change/snapshot", page.form("/change/snapshot"), name="first <b>")
    page = checked(web.get(done.headers["location"]))
    assert list(memory.snapshots()) == ["first <b>"]
    assert "first <b>" in page.text
    look = next(str(link["href"]) for link in page.all("a") if "known_at=" in str(link.get("href")))
    assert "a note" in checked(web.get(look)).text
    again = post(web, "/change/snapshot", page.form("/change/snapshot"), name="first <b>")
    assert checked(again, 409).text
    assert post(web, "/change/snapshot", page.form("/change/snapshot"), name=" ").status_code == 400


def test_two_moments_are_compared(board: Callable[..., Page], told: str):
    page = board("/versions", since="before the import")
    assert "1 added, 2 changed, 1 removed" in words(page)
    for text in ("came new", "goes away", "the first words", "the later words", "somebody else, later"):
        assert text in page.text
    assert "stays" not in page.text
    page = board("/versions", since="before the import", until=told)
    assert "1 added, 1 changed, 1 removed" in words(page)
    back = board("/versions", since=told, until="before the import")
    assert "1 added, 1 changed, 1 removed" in words(back), "the other way round"
    assert "1 added, 1 changed" in words(board("/versions", since="before the import", known_at=told))
    assert "Nothing is different" in board("/versions", since=told, until=told).text
    assert "0 added, 1 changed, 0 removed" in words(board("/versions", since=told, user="bo"))
    for wrong in ("nonsense", "2026-99-01", "x" * 300):
        board("/versions", 400, since=wrong)
        board("/versions", 400, back=wrong)


def test_going_back_is_shown_done_and_undone(
    web: httpx.Client, board: Callable[..., Page], memory: Memory, clock: ManualClock, told: str
):
    page = board("/versions", back="before the import")
    assert "Would go: 1" in page.text
    assert "Would come back: 1" in page.text
    assert "Would be as before: 2" in page.text
    form = page.form("/change/rollback")
    memory.update("stays", pinned=True)
    clock.advance(1)
    assert "have changed since the preview" in checked(post(web, "/change/rollback", form), 409).text
    assert memory.get("changes").text == "the later words"
    form = board("/versions", back="before the import").form("/change/rollback")
    done = post(web, "/change/rollback", form)
    page = checked(web.get(done.headers["location"]))
    assert "Rolled back: 5 records are as then." in page.text
    assert {record.id: record.text for record in memory.list()} == {
        "stays": "stays", "goes": "goes away", "changes": "the first words", "other": "of somebody else",
    }  # fmt: skip
    clock.advance(1)
    assert post(web, "/change/undo", page.form("/change/undo")).status_code == 303
    assert {record.id: record.text for record in memory.list()} == {
        "stays": "stays", "new": "came new", "changes": "the later words", "other": "of somebody else, later",
    }  # fmt: skip
    assert memory.get("stays").pinned
    clock.advance(1)
    assert "nothing to do" in board("/versions", back=clock().isoformat()).text
    for wrong in ({"to": ""}, {"seen": "never"}):
        assert post(web, "/change/rollback", form | wrong).status_code == 400
    refused = web.post("/change/rollback", params={"known_at": told}, data=form)
    assert refused.status_code == 409


def test_a_key_goes_back_within_its_scope_and_reads_no_names(
    web: httpx.Client, memory: Memory, keys: ApiKeys, clock: ManualClock, told: str
):
    web.post("/login", data={"key": keys.add(user="bo", rights=["read", "write"])[1]})
    page = checked(web.get("/versions"))
    assert "before the import" not in page.text
    assert checked(web.get("/versions", params={"since": "before the import"}), 400).text
    form = checked(web.get("/versions", params={"back": told})).form("/change/rollback")
    assert post(web, "/change/snapshot", form, name="mine").status_code == 403
    assert post(web, "/change/rollback", form).status_code == 303
    assert memory.get("other").text == "of somebody else"
    assert memory.get("changes").text == "the later words"
    web.post("/login", data={"key": keys.add(rights=["read"])[1]})
    page = checked(web.get("/versions", params={"back": "before the import"}))
    assert [form["action"] for form in page.all("form") if form.get("method") == "post"] == ["/logout"]
    assert post(web, "/change/rollback", form | page.form("/logout")).status_code == 403


def test_much_that_changed_is_bounded_and_hostile_text_does_nothing(
    board: Callable[..., Page], memory: Memory, clock: ManualClock
):
    began = clock().isoformat()
    clock.advance(1)
    memory.add_many({"text": f"note {place}"} for place in range(1_200))
    for place, text in enumerate(HOSTILE):
        memory.add(text.replace("\x00", "") * 200, id=f"zz{place}")
        clock.advance(1)
        memory.update(f"zz{place}", text=text.replace("\x00", "") * 100)
        memory.snapshot(text.replace("\x00", ""))
        board("/versions", since=text.replace("\x00", ""))
    page = board("/versions", since=began)
    assert "1,208 records were written" in words(page)
    assert "Roll back up to 1,208 records" in words(board("/versions", back=began))
    board("/versions", since=HOSTILE[0], until=HOSTILE[1])


def test_what_was_learned_anew_keeps_no_roll_back_from_being_undone(
    web: httpx.Client, board: Callable[..., Page], memory: Memory, clock: ManualClock
):
    memory.scope(user="ana").add("I live in Lisbon.", id="said", learn=False)
    memory.facts.add("ana", "lives_in", "Lisbon")
    [fact] = memory.facts.list()
    clock.advance(1)
    memory.snapshot("before")
    clock.advance(1)
    memory.update("said", text="I live in Porto.")
    memory.update(fact.id, importance=0.9)
    clock.advance(1)

    def roll_back() -> Page:
        done = post(web, "/change/rollback", board("/versions", back="before").form("/change/rollback"))
        clock.advance(1)
        return checked(web.get(done.headers["location"]))

    page = roll_back()
    memory.update(fact.id, importance=0.1)  # as learning does when it runs again
    clock.advance(1)
    assert post(web, "/change/undo", page.form("/change/undo")).status_code == 303
    assert (memory.get("said").text, memory.get(fact.id).importance) == ("I live in Porto.", 0.9)
    clock.advance(1)
    page = roll_back()
    memory.update("said", text="I live in Faro.")
    clock.advance(1)
    assert post(web, "/change/undo", page.form("/change/undo")).status_code == 409
    assert memory.get("said").text == "I live in Faro."
