import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import pages  # noqa: E402 - a tool, not a package


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
