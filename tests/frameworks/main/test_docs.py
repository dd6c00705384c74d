"""The examples on the pages of docs/frameworks run as they stand."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = sorted(page for page in (ROOT / "docs" / "frameworks").glob("*.md") if page.stem not in {"README", "crewai"})
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_code_runs_as_it_stands(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    blocks = list(BLOCK.finditer(page.read_text()))
    assert blocks
    for block in blocks:
        line = page.read_text()[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], str(page), "exec"), names)  # noqa: S102 - that is the test
