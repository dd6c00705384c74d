"""A store that another package brings opens under the scheme of its addresses."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rememo import Memory
from rememo.errors import InvalidInput

OPENER = """
from rememo.engine.opening import _open_store

def open_store(url, analysis, settings, encryption):
    return _open_store(url.removeprefix("shelf://"), analysis, settings, encryption)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package as an installer leaves it."""
    home = tmp_path / "site"
    told = home / "rememo_shelf-1.dist-info"
    told.mkdir(parents=True)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: rememo-shelf\nVersion: 1\n")
    (told / "entry_points.txt").write_text("[rememo.stores]\nshelf = rememo_shelf:open_store\n")
    (home / "rememo_shelf.py").write_text(OPENER)
    monkeypatch.syspath_prepend(home)  # pyright: ignore[reportUnknownMemberType] - its own signature
    yield home
    sys.modules.pop("rememo_shelf", None)


def test_it_opens_under_its_scheme(package: Path, tmp_path: Path):
    with Memory(f"shelf://{tmp_path}/agent.db") as memory:
        memory.add("The key is under the mat.")
        assert memory.search("where is the key?")[0].text == "The key is under the mat."
    assert (tmp_path / "agent.db").exists()


def test_a_scheme_that_nobody_brings_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="no store for shelf://"):
        Memory(f"shelf://{tmp_path}/agent.db")
