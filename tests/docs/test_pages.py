import sys
from pathlib import Path
from xml.sax.saxutils import unescape

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import cast as picture  # noqa: E402 - a tool, not a package
import pages  # noqa: E402 - likewise


def test_every_page_is_in_a_chapter_of_the_site():
    docs = ROOT / "docs"
    placed = {docs / "index.md"}
    for patterns in pages.CHAPTERS.values():
        for pattern in patterns:
            placed |= set(docs.glob(f"{pattern}.md"))
    assert sorted(str(page.relative_to(docs)) for page in set(docs.rglob("*.md")) - placed) == []


def test_references_are_made_from_the_code():
    made = pages.references()
    assert "`POST /v1/search`" in made["rest"]
    assert "## `recall`" in made["mcp"]
    assert "## `rememo serve`" in made["command-line"]
    assert "| `durability` |" in made["settings"]
    assert "## `add_many`" in made["memory"]


def test_the_moving_picture_shows_what_happens():
    shown = unescape((ROOT / "docs" / "images" / "session.svg").read_text())
    said = [line for _, line in picture.run() if "recalled-" not in line]  # the marks are different each time
    assert [line for line in said if line not in shown] == []
