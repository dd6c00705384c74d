"""Builds the documentation as a site: the pages of `docs`, and the references, which are made from the code itself.

`python tools/pages.py [FOLDER]` writes HTML to `build/site` unless told otherwise. A link that leads nowhere, a page that is
in no chapter, a heading that is out of order: all are errors.
"""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import reference
from sphinx.cmd.build import main as build

from rememo import _version

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Start": ("install", "tutorial", "choosing", "concepts", "faq", "recipes", "coming-from", "importing"),
    "Remember": ("records", "messages", "facts", "documents", "tasks-and-actions", "flows-and-typed"),
    "Find and show": ("recall", "context", "models"),
    "Keep it safe": ("backup", "retention", "erasure", "encryption", "audit", "trust"),
    "In production": ("serve", "dashboard", "mcp", "mem0", "postgres", "redis", "scaling", "deploy", "observability"),
    "Frameworks": ("frameworks/*",),
    "Reference": ("reference/*", "cli", "extending", "peers", "architecture"),
}
_LINK: Final = re.compile(r"(?<!!)\[(?P<label>[^\]]*)\]\((?P<target>[^)#:\s]+)(?:#[^)]*)?\)")
"""A link to a file, perhaps to a heading in it."""
CONF: Final = """
project = "Rememo"
version = release = {version!r}
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Rememo"
exclude_patterns = ["_build"]
suppress_warnings = ["misc.highlighting_failure"]
"""


def main() -> None:
    """Build it."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "docs"
        shutil.copytree(DOCS, source)
        # GitHub shows the contents as README.md, the site as its first page.
        (source / "README.md").rename(source / "index.md")
        (source / "architecture.md").write_text((ROOT / "ARCHITECTURE.md").read_text().replace("](docs/", "]("))
        (source / "reference").mkdir()
        for name, text in reference.pages().items():
            (source / "reference" / f"{name}.md").write_text(text)
        with (source / "cli.md").open("a") as commands:
            commands.write("\n## Every argument and option\n\n" + "\n".join(reference.commands()))
        for page in source.rglob("*.md"):
            page.write_text(_within_the_site(page, source))
        with (source / "index.md").open("a") as index:
            index.writelines(_contents(source))
        (source / "conf.py").write_text(CONF.format(version=_version.__version__))
        if build(["-q", "-W", "--keep-going", "-b", "html", str(source), str(target)]):
            sys.exit("the site was not built: see above")
    sys.stdout.write(f"{target / 'index.html'}\n")


# ---- the pages


def _within_the_site(page: Path, source: Path) -> str:
    """Return a page with links to files outside of the site as plain text: they are only in a checkout."""

    def shown(link: re.Match[str]) -> str:
        target = (page.parent / link["target"]).resolve()
        moved = {
            source.resolve() / "README.md": "index.md",
            source.resolve().parent / "ARCHITECTURE.md": "architecture.md",
        }
        if target in moved:
            return link[0].replace(link["target"], os.path.relpath(source / moved[target], page.parent))
        return link[0] if target.is_relative_to(source.resolve()) else link["label"]

    return _LINK.sub(shown, page.read_text())


def _contents(source: Path) -> Iterator[str]:
    placed: set[Path] = {source / "index.md"}
    for chapter, patterns in CHAPTERS.items():
        pages = [page for pattern in patterns for page in _first_the_index(sorted(source.glob(f"{pattern}.md")))]
        placed |= set(pages)
        names = "\n".join(str(page.relative_to(source).with_suffix("")) for page in pages)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{names}\n```\n"
    lost = sorted(str(page.relative_to(source)) for page in set(source.rglob("*.md")) - placed)
    if lost:
        sys.exit(f"in no chapter of tools/pages.py: {', '.join(lost)}")


def _first_the_index(pages: list[Path]) -> list[Path]:
    return sorted(pages, key=lambda page: page.name != "README.md")


if __name__ == "__main__":
    main()
