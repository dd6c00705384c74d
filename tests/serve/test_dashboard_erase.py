"""Erasing somebody from the dashboard: what goes is shown, the name is typed, and the receipt can be kept."""

import json
from collections.abc import Callable

import httpx
import pytest
from tests.serve.pages import HOSTILE, Page, checked, post

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.testing import ManualClock


def words(page: Page) -> str:
    return " ".join(page.text.split())


def test_somebody_is_chosen_weighed_typed_and_gone(
    web: httpx.Client, board: Callable[..., Page], memory: Memory, clock: ManualClock
):
    for user in ("ana", "bo"):
        chat = memory.scope(user=user, room="chat")
        chat.messages.add("user", f"I am {user} and I live in Lisbon.").wait()
        chat.kv.set("step", 3)
    clock.advance(1)
    memory.scope(user="ana").update(memory.scope(user="ana").list(kind="message")[0].id, pinned=True).wait()
    page = board("/erase")
    assert any(link.get("href") == "/erase?user=ana" for link in page.all("a"))
    page = board("/erase", user="ana")
    weighed = memory.erase(user="ana", dry_run=True).counts
    assert f"{weighed['records']} records" in words(page)
    assert f"{weighed['versions']} versions" in words(page)
    assert "1 keys of working state" in words(page)
    form = page.form("/change/erase")
    for wrong in ("", "bo", "Ana", "an"):
        assert "nothing was erased" in checked(post(web, "/change/erase", form, typed=wrong), 400).text
    assert post(web, "/change/erase", form | {"csrf": "guess"}, typed="ana").status_code == 403
    assert memory.scope(user="ana").count() > 0
    done = checked(post(web, "/change/erase", form, typed=" ana "))
    assert "Nothing of it is left in this store." in done.text
    assert {form["action"] for form in done.all("form") if form["method"] == "get"} == {"/erase"}
    assert memory.scope(user="ana").count() == 0
    assert memory.scope(user="bo").count(kind="message") == 1
    kept = post(web, "/change/receipt", done.form("/change/receipt"))
    assert kept.headers["content-type"] == "application/json"
    assert kept.headers["content-disposition"].startswith('attachment; filename="erasure-')
    assert "sandbox" in kept.headers["content-security-policy"]
    receipt = kept.json()
    assert receipt["target"] == {"user": "ana"}
    assert receipt["counts"]["records"] == weighed["records"]
    assert receipt["ok"] is True
    noted = [entry for entry in memory.audit.list() if entry.operation == "erase"][-1]
    assert noted.detail["receipt"] == receipt["digest"], "the trail can prove it"
    for wrong in ("", "[]", "{}", '{"digest": "../x"}', "[" * 10_000, json.dumps({"digest": "é"})):
        assert post(web, "/change/receipt", done.form("/change/receipt") | {"receipt": wrong}).status_code == 400
    assert "Nothing here belongs to ana" in words(board("/erase", user="ana"))
    assert "There was nothing." in checked(post(web, "/change/erase", form, typed="ana")).text


def test_only_an_operator_of_the_tenant_erases_and_never_in_the_past(
    web: httpx.Client, memory: Memory, keys: ApiKeys, clock: ManualClock
):
    memory.scope(user="ana").add("mine")
    memory.scope(tenant="other", user="ana").add("theirs")
    moment = clock().isoformat()
    clock.advance(1)
    for rights, user in ((["read", "write"], None), (["read", "write", "admin"], "ana")):
        web.post("/login", data={"key": keys.add(rights=rights, user=user)[1]})
        page = checked(web.get("/"))
        assert not [link for link in page.all("a") if link.get("href") == "/erase"]
        assert checked(web.get("/erase?user=ana"), 403).text
        fields = page.form("/logout") | {"user": "ana", "typed": "ana", "receipt": '{"digest": "a"}'}
        assert post(web, "/change/erase", fields).status_code == 403
        assert post(web, "/change/receipt", fields).status_code == 403
    web.post("/login", data={"key": keys.add(rights=["read", "admin"])[1]})
    past = checked(web.get("/erase", params={"user": "ana", "known_at": moment}))
    assert "nothing can be erased" in past.text
    fields = checked(web.get("/erase?user=ana")).form("/change/erase")
    assert web.post("/change/erase", params={"known_at": moment}, data=fields | {"typed": "ana"}).status_code == 409
    assert web.post("/change/erase", params={"tenant": "other"}, data=fields | {"typed": "ana"}).status_code == 403
    done = checked(web.post("/change/erase", params={"room": "elsewhere"}, data=fields | {"typed": "ana"}))
    assert "1 records" in words(done), "of somebody everything goes, whatever the page was narrowed to"
    assert memory.count() == 0
    assert memory.scope(tenant="other").count() == 1


@pytest.mark.parametrize("place", range(len(HOSTILE)))
def test_hostile_names_are_erased_by_what_can_be_typed(
    web: httpx.Client, board: Callable[..., Page], memory: Memory, place: int
):
    name = HOSTILE[place].replace("\x00", "")
    memory.scope(user=name).add("a secret")
    board("/erase")
    page = board("/erase", user=name)
    shown = page.text.partition("as it is written:")[2].strip().partition("\n")[0]
    assert "Nothing of it is left" in checked(post(web, "/change/erase", page.form("/change/erase"), typed=shown)).text
    assert memory.count() == 0


def test_many_users_are_bounded(board: Callable[..., Page], memory: Memory):
    for place in range(130):
        memory.scope(user=f"user {place:03}").add("x")
    page = board("/erase")
    assert "30 more are not listed" in page.text
    assert "user 099" in page.text
