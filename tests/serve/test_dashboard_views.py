"""Every page in a real browser: empty, small and large, with hostile text, by keys, on a phone, and as axe sees it."""

import re
import runpy
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright
from tests.serve.looking import CONTRAST, Visitor, addresses, axe, faces, fill, harm, name_of

from rememo import Memory, Settings
from rememo.serve.dashboard.navigation import GROUPS
from rememo.testing import ManualClock, WordEmbedder

SETTINGS = Settings(durability="fast", audit=True, worker=False)
Served = Callable[[str], tuple[str, str]]
PHONE = 360
GONE = {"/record": 404, "/versions-since-here": 400, "/versions-back-here": 400}
"""Pages about something that an empty memory does not have, and how they answer then."""
FACES = faces()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = runpy.run_path(str(Path(__file__).parents[2] / "tools" / "browser.py"))["browser"]()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file of 10,000 records, to be copied."""
    path, clock = tmp_path_factory.mktemp("prepared") / "large.db", ManualClock()
    with Memory(path, embedder=WordEmbedder(), settings=SETTINGS, clock=clock) as memory:
        fill(memory, clock, 10_000)
        assert 10_000 <= memory.stats().records < 10_400
    return path


@pytest.fixture(scope="module")
def served(running: Any, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Return where memories are served, and a key for each: `empty`, `small`, `large` and `harm`, made when asked for."""
    made: dict[str, tuple[str, str]] = {}
    with ExitStack() as stack:

        def address(name: str) -> tuple[str, str]:
            if name not in made:
                path, clock, key = tmp_path_factory.mktemp(name) / "m.db", ManualClock(), ""
                clock.advance(3_600)
                if name == "large":
                    shutil.copy(request.getfixturevalue("prepared"), path)
                memory = stack.enter_context(Memory(path, embedder=WordEmbedder(), settings=SETTINGS, clock=clock))
                if name == "small":
                    fill(memory, clock, 5)
                if name == "harm":
                    key = harm(memory, clock)
                made[name] = stack.enter_context(running(memory)), key
            return made[name]

        yield address


@pytest.mark.parametrize("size", ["empty", "small", "large"])
def test_every_page_over_no_few_and_many_records(browser: Browser, served: Served, size: str):
    visitor = Visitor(browser, *served(size), width=PHONE)
    for path, address in FACES.items():
        status = GONE.get(path, 200) if size == "empty" else 200
        page = visitor.open(address, status)
        visitor.unfold()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        assert visitor.fits(), address
        if size == "large":
            visitor.keep(f"phone-{name_of(path)}")
        visitor.wrong = [message for message in visitor.wrong if status == 200 or f"status of {status}" not in message]
    visitor.close()


_BROKEN = """() => [
  ...[...document.querySelectorAll("script")].filter((one) => !one.src.endsWith("/static/dashboard.js")),
  ...document.querySelectorAll("iframe, object, embed, style, [onerror], [onload], [style], main h1 ~ h1"),
].map((one) => one.outerHTML.slice(0, 200))"""


def test_text_that_means_harm_is_shown_on_every_page_and_does_nothing(browser: Browser, served: Served):
    visitor = Visitor(browser, *served("harm"), width=PHONE)
    for address in FACES.values():
        page = visitor.open(address)
        visitor.unfold()
        assert page.evaluate(_BROKEN) == [], address
        assert visitor.fits(), address
        assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\ufeff]", page.locator("body").inner_text()), address
    visitor.close()


@pytest.fixture(scope="session")
def axe_script(script: Callable[[str, str], list[str]]) -> str:
    return script("axe-core", "axe.min.js")[-1]


def test_axe_finds_nothing_on_any_page_in_light_and_dark(
    browser: Browser, served: Served, axe_script: str
):  # fmt: skip
    visitor = Visitor(browser, *served("small"), scripts=[axe_script])
    found: dict[str, Any] = {}
    for path, address in FACES.items():
        page = visitor.open(address)
        visitor.unfold()
        assert visitor.fits(), address
        found[address] = axe(page)
        visitor.keep(f"light-{name_of(path)}")
        page.emulate_media(color_scheme="dark")
        found[address] += page.evaluate(CONTRAST)
        page.emulate_media(color_scheme="light")
    assert {address: wrong for address, wrong in found.items() if wrong} == {}
    visitor.close()


def test_each_view_has_its_address_and_the_way_back_works(browser: Browser, served: Served):
    visitor = Visitor(browser, *served("small"))
    page = visitor.open("/search?q=ferry")
    base = page.url.partition("/search")[0]
    for group, views in GROUPS:
        for path, name in views:
            page.get_by_role("navigation", name=group).get_by_role("link", name=name, exact=True).click()
            expect(page).to_have_url(base + path)
            expect(page.get_by_role("navigation", name=group).locator("[aria-current]")).to_have_text(name)
            page.go_back()
            expect(page.get_by_label("Question")).to_have_value("ferry")
    visitor.close()


_PLACE = """() => {
  const focused = document.activeElement;
  const all = [...document.querySelectorAll("*")];
  const drawn = getComputedStyle(focused);
  const box = focused.getBoundingClientRect();
  const seen = drawn.outlineStyle !== "none" && box.width > 0 && box.height > 0;
  return [all.indexOf(focused), focused.tagName, seen || focused === document.body];
}"""


def test_keys_walk_each_page_in_its_order_and_the_focus_is_seen(browser: Browser, served: Served):
    visitor = Visitor(browser, *served("small"))
    for address in addresses().values():
        page = visitor.open(address)
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        first, _, _ = page.evaluate(_PLACE)
        last = first
        for _ in range(30):
            page.keyboard.press("Tab")
            place, tag, seen = page.evaluate(_PLACE)
            if place == first or tag == "BODY":
                break  # once round
            assert seen, f"{address}: {tag} has the focus and does not show it"
            assert place >= last, f"{address}: {tag} comes out of order"
            last = place
    visitor.close()


def test_somebody_looks_after_a_memory_from_the_first_key_on(
    browser: Browser, running: Any, tmp_path: Path, clock: ManualClock
):
    with Memory(tmp_path / "m.db", embedder=WordEmbedder(), settings=SETTINGS, clock=clock) as memory:
        fill(memory, clock, 5)
        with running(memory) as address:
            visitor = Visitor(browser, address)
            page = visitor.open("/keys")
            page.get_by_label("Name").fill("me")
            page.get_by_role("button", name="Make the key").click()
            text = page.locator("#key").inner_text()
            page.get_by_role("link", name="Log in with it").click()
            page.get_by_label("Key").fill(text)
            page.get_by_role("button", name="Log in").click()
            page.get_by_role("link", name="Quarantine").first.click()
            clock.advance(1)
            page.get_by_role("button", name="Release").click()
            expect(page.get_by_role("status").first).to_contain_text("Released")
            expect(page.get_by_text("Nothing is held back.")).to_be_visible()
            clock.advance(1)
            page.get_by_role("button", name="Undo").click()
            expect(page.get_by_role("button", name="Release")).to_be_visible()
            page.get_by_role("link", name="Flows").click()
            page.get_by_role("button", name="Clear").click()
            expect(page.get_by_text("No flow is active.")).to_be_visible()
            page.get_by_role("link", name="Audit").click()
            page.get_by_role("button", name="Verify").click()
            expect(page.get_by_text("The chain is whole")).to_be_visible()
            page.get_by_role("link", name="Keys").click()
            expect(page.get_by_role("main")).not_to_contain_text(text.rpartition("_")[2])
            page.get_by_text("Revoke").first.click()
            page.get_by_role("button", name="Revoke it").click()
            expect(page.get_by_role("heading", name="Log in")).to_be_visible()
            visitor.close()
