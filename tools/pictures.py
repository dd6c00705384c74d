"""The pictures of the dashboard in the docs: `python tools/pictures.py [view …]` serves the demo and looks at it.

Without a view it takes them all; `--into` says where they go.
"""

import argparse
import runpy
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from urllib.parse import quote

from playwright.sync_api import sync_playwright

from rememo import Memory, Settings
from rememo.serve.app import create_app
from rememo.serve.demo import load
from rememo.serve.listen import listen
from rememo.serve.server import Server

IMAGES: Final = Path(__file__).parents[1] / "docs" / "images"
VIEWS: Final = {
    "overview": "/",
    "search": "/search?q=where+does+Ana+live",
    "conversation": "/room?room=demo",
    "facts": "/facts?all=yes",
    "graph": "/graph?entity=ana",
    "versions": "/versions?back={moved}",
    "context": "/context?q=who+feeds+the+cat",
}


@contextmanager
def served(memory: Memory) -> Generator[str]:
    """Serve a memory on a free port."""
    server = Server(create_app(memory))
    with listen("127.0.0.1", 0) as line:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [line]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{line.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def main() -> None:
    """Take the pictures."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("views", nargs="*", choices=[*VIEWS, []])
    reading.add_argument("--into", type=Path, default=IMAGES)
    asked = reading.parse_args()
    program = runpy.run_path(str(Path(__file__).parent / "browser.py"))["browser"]()
    with (
        Memory(":memory:", settings=Settings(audit=True)) as memory,
        served(memory) as address,
        sync_playwright() as playwright,
    ):
        chat = load(memory, ask=True)
        memory.snapshot("the demo")
        moved = memory.snapshots()["the demo"]
        last = chat.messages.latest()[-1]
        chat.update(last.id, text="My favourite colour is yellow.")
        chat.messages.add("user", "Please forget what I said about the ward.")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(base_url=address, viewport={"width": 960, "height": 680})
        for name in asked.views or VIEWS:
            page.goto(VIEWS[name].format(moved=quote(moved.isoformat())))
            for why in page.locator("main details").all()[:1]:
                why.locator("summary").click()
            page.screenshot(path=asked.into / f"dashboard-{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
