import re
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import unescape

from rememo.bench.datasets import load
from rememo.bench.lives.data import load_lives

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import cast as picture  # noqa: E402 - a tool, not a package
import pages  # noqa: E402 - likewise


def test_every_page_is_in_a_chapter_of_the_site():
    docs = ROOT / "docs"
    placed = {docs / "README.md"}
    for patterns in pages.CHAPTERS.values():
        for pattern in patterns:
            placed |= set(docs.glob(f"{pattern}.md"))
    assert sorted(str(page.relative_to(docs)) for page in set(docs.rglob("*.md")) - placed) == []


def test_the_moving_picture_shows_what_happens():
    shown = unescape((ROOT / "docs" / "images" / "session.svg").read_text())
    said = [line for _, line in picture.run() if "recalled-" not in line]  # the marks are different each time
    assert [line for line in said if line not in shown] == []


def test_the_shape_of_data_for_the_bench_is_one_that_it_reads(tmp_path: Path):
    shown = re.findall(r"^```json\n(.*?)^```", (ROOT / "docs" / "recall.md").read_text(), re.MULTILINE | re.DOTALL)
    data, lives = shown
    (tmp_path / "data.jsonl").write_text(data)
    (scope,) = load("jsonl", tmp_path / "data.jsonl")
    assert [scope.messages[place].text for question in scope.questions for place in question.evidence] == [
        "I moved to Lisbon."
    ]
    (tmp_path / "lives.jsonl").write_text(lives)
    (life,) = load_lives(tmp_path / "lives.jsonl")
    assert [(asked.text, asked.holds) for asked in life.questions] == [("Where do I live?", ("Porto",))]


def test_the_context_that_is_shown_is_what_its_code_gives():
    page = (ROOT / "docs" / "context.md").read_text()
    names: dict[str, Any] = {}
    exec(page.split("```python\n")[1].split("```")[0], names)  # noqa: S102 - that is the test
    names["memory"].close()
    dates = re.compile(r"\w+day \d+ \w+( \d{4})?(, \d\d:\d\d UTC)?|recalled-\w+|\[\d+\]")
    given, shown = names["context"].text, page.split("```text\n")[1].split("```")[0]
    assert sorted(dates.sub("", given).split("\n")) == sorted(dates.sub("", shown.strip()).split("\n"))
