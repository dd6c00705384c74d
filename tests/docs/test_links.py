"""Every link in the repository's pages leads to a file that is there and to a heading in it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = sorted(DOCS.rglob("*.md"))
PAGES = [
    *sorted(ROOT.glob("*.md")),
    *sorted((ROOT / ".github").rglob("*.md")),
    *sorted(ROOT.glob("examples/*.md")),
    *GUIDES,
]
BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?P<file>[^)#:\s]*)(?:#(?P<heading>[^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def links(page: Path) -> list[tuple[Path, str | None]]:
    """Return what a page links to: files, with the heading where one is named."""
    text = BLOCK.sub("", page.read_text())
    return [((page.parent / link["file"]) if link["file"] else page, link["heading"]) for link in LINK.finditer(text)]


def anchors(page: Path) -> set[str]:
    """Return the names by which a page's headings are linked to, as GitHub and the site make them."""
    return {
        re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
        for heading in HEADING.findall(BLOCK.sub("", page.read_text()))
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path):
    for target, heading in links(page):
        assert target.exists(), target
        if heading is not None:
            assert heading in anchors(target), f"{target}#{heading}"


def test_the_contents_lead_to_every_guide():
    contents = [page for page in GUIDES if page.name == "README.md"]
    linked = {target.resolve() for page in contents for target, _ in links(page)}
    assert [page for page in GUIDES if page not in linked | {DOCS / "README.md"}] == []
    assert (DOCS / "README.md") in {target.resolve() for target, _ in links(ROOT / "README.md")}
