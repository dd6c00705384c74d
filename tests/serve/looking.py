"""What the browser looks at: every page of the dashboard, over memories of several sizes and of text that means harm."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page
from tests.serve.pages import HIDDEN, HOSTILE, ORDER

from rememo import Memory
from rememo.engine.view import view_of
from rememo.llm.protocol import Usage
from rememo.llm.spending import Ledger
from rememo.serve.auth import ApiKeys
from rememo.serve.dashboard.routes import PAGES
from rememo.testing import ManualClock

SCREENS = Path(__file__).parents[2] / "screens"
"""Where screenshots are kept; it is no part of the repository."""
MEGABYTE = "x" * 999_000
CONTRAST = """() => {
  const light = (rgb) => {
    const [r, g, b] = rgb.map((part) => part / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const found = numbers(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found.slice(0, 3);
    }
    return [255, 255, 255];
  };
  const weak = [];
  for (const one of document.querySelectorAll("body *")) {
    const said = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!said || !one.checkVisibility() || one.closest("svg, select")) continue;
    const [a, b] = [light(numbers(getComputedStyle(one).color).slice(0, 3)), light(behind(one))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${one.tagName} ${one.className} ${ratio.toFixed(2)}`);
  }
  return weak;
}"""
"""Returns what cannot be read against what stands behind it; axe does the same at ten times the cost."""
NAMELESS = """() => [...document.querySelectorAll("a, button, input:not([type=hidden]), select, textarea, summary")]
  .filter((one) => !(one.textContent.trim() || one.ariaLabel || one.labels?.[0]?.textContent.trim()))
  .map((one) => one.outerHTML)"""
"""Returns what can be used and has no name."""
_ASKED = {
    "/search": "?q=ferry",
    "/room": "?room=chat",
    "/record": "?id=m",
    "/facts": "?all=yes",
    "/context": "?q=ferry",
    "/graph": "?entity=ana",
    "/jobs": "?state=waiting",
}


_MORE = (
    "/search?kind=fact",
    "/jobs?state=dead",
    "/audit?check=yes",
    "/erase?user=ana",
    "/versions?since=here",
    "/versions?back=here",
)
"""Further faces of pages."""


def addresses() -> dict[str, str]:
    """Return an address for every page there is, by its path."""
    return {path: path + _ASKED.get(path, "") for path in PAGES if path not in HIDDEN}


def faces() -> dict[str, str]:
    """Return those, and more of pages that have several faces."""
    return addresses() | {address.replace("?", "-").replace("=", "-"): address for address in _MORE}


def fill(memory: Memory, clock: ManualClock, count: int) -> None:
    """Write so many records, five or far more, and some of all that the pages show."""
    memory.snapshot("here")
    clock.advance(1)
    few = min(count // 5, 60)
    memory.facts.policy("favourite_colour", "ask")
    chat = memory.scope(user="ana", room="chat", agent="helper")
    chat.messages.add("user", "The ferry to the Azores leaves in July.", id="m")
    bulk = count - 5 * few
    chat.add_many(
        {"text": f"message {place} about the ferry", "kind": "message", "data": {"role": "user"}}
        | {"occurred_at": clock() - timedelta(minutes=place)}
        for place in range(bulk // 2)
    )
    memory.add_many({"text": f"note {place} of many"} for place in range(bulk // 2))
    many(memory, few, "number")
    clock.advance(60)


def many(memory: Memory, count: int, words: str) -> None:
    """Write some of all that is not plain records, each with these words."""
    for place in range(count):
        named = f"{place} {words}"
        view = memory.scope(user="ana", room=f"room {named}"[:100])
        for colour in ("green", "blue"):
            view.facts.add(f"person {named}", "favourite_colour", f"{colour} {words}")
        view.relationships.add("ana", named, "knows")
        view.messages.add("tool", f"{ORDER} {named}", trust=0.1, learn=False, source=named[:100])
        view.messages.add("assistant", named, reply_to=None, name=named[:100])
        memory.flow(named, steps=[named[:100]]).start(f"user {named}", data={named: words})
        with memory.acting(actor=named, session=named, address=named):
            memory.kv.set(named, words)
        Ledger(view_of(memory).engine).reserve("default", named, Usage(1_000, 100))


def harm(memory: Memory, clock: ManualClock) -> str:
    """Write text that tries to break out of every page, and return a key that sees it all."""
    memory.facts.policy("favourite_colour", "ask")
    chat = memory.scope(user="ana", room="chat")
    chat.messages.add("user", "The ferry to the Azores leaves in July. " + MEGABYTE, id="m", learn=False)
    chat.messages.add("tool", ORDER + MEGABYTE, trust=0.1, learn=False)
    memory.snapshot("here")
    clock.advance(1)
    keys, store = ApiKeys(memory), view_of(memory).engine.store
    for said in (text.replace("\x00", "") for text in [*HOSTILE, "w" * 300, "\u0651" * 100 + "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚"]):
        inner = memory.scope(user=said, room="chat", agent=said)
        inner.messages.add("user", f"ferry {said}", name=said, metadata={said: said}, source=said)
        chat.messages.add("user", said, reply_to="m")
        inner.messages.add(
            "assistant", "", tool_calls=[{"id": "1", "type": "function", "function": {"name": said, "arguments": said}}]
        )
        chat.facts.add("ana", "favourite_colour", said, wording=said)
        chat.facts.add(said, "likes", said)
        many(memory, 1, said)
        job = store.lease(["learn"], 60, clock())
        assert job is not None
        store.settle(job, state="dead", error=said * 500, due_at=None)
        memory.snapshot(said)
        keys.add(name=said, user=said)
        clock.advance(1)
    clock.advance(60)
    return keys.add(tenant="*", rights=["read", "write", "admin"], name=HOSTILE[0])[1]


class Visitor:
    """One page in a browser, and what went wrong on it."""

    def __init__(
        self, browser: Browser, address: str, key: str = "", *, width: int = 1_000, scripts: Sequence[str] = ()
    ) -> None:
        self.width = width
        context = browser.new_context(base_url=address, viewport={"width": width, "height": 800})
        for script in scripts:
            context.add_init_script(path=script)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(15_000)
        self.wrong: list[str] = []
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"a dialog: {dialog.message}"))
        if key:
            self.page.goto("/login")
            self.page.get_by_label("Key").fill(key)
            self.page.get_by_role("button", name="Log in").click()

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.wrong.append(f"{self.page.url}: {message.text}")

    def open(self, address: str, status: int = 200) -> Page:
        """Go there; it must answer so."""
        answer = self.page.goto(address)
        assert answer is not None
        assert answer.status == status, f"{address}: {answer.status}"
        return self.page

    def unfold(self) -> None:
        """Open all that is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")

    def fits(self) -> bool:
        """Whether nothing stands beside the window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth")) <= self.width

    def keep(self, name: str) -> None:
        """Keep a screenshot."""
        SCREENS.mkdir(exist_ok=True)
        self.page.screenshot(path=SCREENS / f"{name}.png")

    def close(self) -> None:
        """Leave; nothing may have gone wrong that was not looked at."""
        self.page.context.close()
        assert self.wrong == []


def name_of(path: str) -> str:
    """Return what a page is called in a file's name."""
    return path.strip("/").replace("/", "-") or "overview"


def axe(page: Page) -> list[str]:
    """Return what axe finds wrong, with where."""
    options = {"resultTypes": ["violations"], "iframes": False, "preload": False}
    found: dict[str, Any] = page.evaluate("(options) => axe.run(document, options)", options)
    return [
        f"{violation['id']}: {violation['help']}: {violation['nodes'][0]['html'][:200]}"
        for violation in found["violations"]
    ]
