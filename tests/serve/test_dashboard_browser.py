"""The dashboard in a real browser: what it runs, what it looks like, and that it can be used by keys alone."""

import runpy
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright
from tests.serve.looking import CONTRAST, NAMELESS
from tests.serve.test_dashboard_conversation import DOT, url

from rememo import Memory
from rememo.serve.auth import ApiKeys
from rememo.testing import ManualClock

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>\u202etxt שלום 👩‍👩‍👧 " + "long" * 300


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "browser.py"))["browser"]()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def address(serve: Any, memory: Memory, clock: ManualClock) -> str:
    memory.facts.policy("favourite_colour", "ask")
    chat = memory.scope(user="ana", room="chat")
    chat.messages.add("user", "The ferry to the Azores leaves in July.", id="m", learn=False)
    chat.messages.add("assistant", HOSTILE, reply_to="m", name=HOSTILE[:100], learn=False)
    chat.facts.add("ana", "lives_in", "Lisbon", valid_from=clock() - timedelta(days=400), valid_to=clock())
    call = {"id": "1", "type": "function", "function": {"name": "ferry", "arguments": '{"to":"Azores"}'}}
    chat.messages.add("assistant", "", tool_calls=[call], learn=False)
    chat.messages.add("tool", '{"leaves":"July"}', tool_call_id="1", images=[url(DOT)], learn=False)
    chat.messages.add("user", "My sister Eva works at CERN.").wait()
    for place in ("green", "blue", HOSTILE):
        chat.facts.add("ana", "favourite_colour", place)
    for other in ("Rui", "Eva", HOSTILE[:100]):
        chat.relationships.add("ana", other, "knows")
    return serve()


def opened(browser: Browser, address: str, width: int = 1_000, scheme: Any = "light") -> tuple[Page, list[str]]:
    """Return a page, and what went wrong on it."""
    page = browser.new_context(
        base_url=address, viewport={"width": width, "height": 800}, color_scheme=scheme
    ).new_page()  # fmt: skip
    wrong: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            wrong.append(message.text)

    page.on("console", hear)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.set_default_timeout(15_000)
    return page, wrong


def test_hits_come_while_one_types_and_the_address_follows(browser: Browser, address: str):
    page, wrong = opened(browser, address)
    page.goto("/search")
    page.get_by_label("Question").press_sequentially("ferry azores")
    expect(page.locator(".hits > li").first).to_contain_text("leaves in July")
    expect(page).to_have_url(f"{address}/search?q=ferry+azores")
    page.locator("summary", has_text="Why").first.click()
    expect(page.get_by_text("has words of the question").first).to_be_visible()
    page.get_by_role("link", name="In the conversation of hit 1").click()
    expect(page.locator("li.around")).to_contain_text("leaves in July")
    page.go_back()
    expect(page.get_by_label("Question")).to_have_value("ferry azores")
    expect(page.locator(".hits > li").first).to_be_visible()
    page.get_by_label("Kind").select_option("fact")
    expect(page.locator(".hits > li").first).to_contain_text("fact")
    assert wrong == []
    page.context.close()


def test_the_keyboard_is_enough(browser: Browser, address: str):
    page, wrong = opened(browser, address)
    page.goto("/facts")
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    slider = page.get_by_role("slider")
    slider.focus()
    page.keyboard.press("Home")
    page.wait_for_url("**valid_at=2*")
    expect(page.locator("table.facts")).to_contain_text("Lisbon")
    assert wrong == []
    page.context.close()


def test_a_graph_is_walked_by_the_keyboard(browser: Browser, address: str):
    page, wrong = opened(browser, address)
    page.goto("/graph?entity=ana")
    drawing = page.get_by_role("group", name="What is connected with ana")
    drawing.get_by_role("link", name="Rui").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/graph?entity=Rui")
    expect(page.get_by_role("heading", name="Graph around Rui")).to_be_visible()
    page.get_by_role("table").get_by_role("link", name="ana").first.click()
    page.wait_for_url("**/graph?entity=ana")
    page.go_back()
    expect(page.get_by_role("heading", name="Graph around Rui")).to_be_visible()
    assert wrong == []
    page.context.close()


def test_an_image_is_loaded_from_the_server_itself(browser: Browser, address: str):
    page, wrong = opened(browser, address)
    page.goto("/room?room=chat")
    image = page.get_by_role("img", name="Image 1 of this message")
    image.scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('.images img').naturalWidth === 1")
    expect(page.get_by_role("complementary", name="Learned from this message")).to_contain_text("CERN")
    assert wrong == []
    page.context.close()


def test_somebody_is_erased_and_the_receipt_saved(browser: Browser, address: str, memory: Memory, tmp_path: Path):
    page, wrong = opened(browser, address)
    page.goto("/erase")
    page.get_by_label("User to erase").fill("ana")
    page.get_by_role("button", name="Show what would be erased").click()
    page.get_by_label("The name, typed again").fill("ana")
    page.get_by_role("button", name="Erase for good").click()
    expect(page.get_by_text("Nothing of it is left in this store.")).to_be_visible()
    assert page.evaluate(NAMELESS) == page.evaluate(CONTRAST) == []
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save the receipt").click()
    saving.value.save_as(tmp_path / "receipt.json")
    assert '"user": "ana"' in (tmp_path / "receipt.json").read_text()
    assert memory.count() == 0
    assert wrong == []
    page.context.close()


def test_somebody_logs_in_deletes_and_undoes(
    browser: Browser, address: str, keys: ApiKeys, memory: Memory, clock: ManualClock
):  # fmt: skip
    key, text = keys.add()
    page, wrong = opened(browser, address)
    page.goto("/room?room=chat")
    page.get_by_label("Key").fill(text)
    page.get_by_role("button", name="Log in").click()
    expect(page).to_have_url(f"{address}/room?room=chat")
    clock.advance(1)
    page.locator("#m-m").get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Deleted.")).to_be_visible()
    assert memory.count(kind="message") == 4
    clock.advance(1)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#m-m")).to_be_visible()
    page.goto("/search")
    keys.revoke(key.id)
    page.get_by_label("Question").fill("ferry")
    expect(page.get_by_role("heading", name="Log in")).to_be_visible()
    assert [message for message in wrong if "401" not in message] == []
    page.context.close()
