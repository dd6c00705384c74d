"""What the tests of importing share: files as other systems wrote them, made of what is written down in tests/data."""

import json
import sqlite3
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory, Settings

DATA = Path(__file__).parents[2] / "data" / "imports"
Rebuild = Callable[[str, str], Path]
Pack = Callable[[str, dict[str, Any]], Path]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", settings=Settings(worker=False)) as memory:
        yield memory


@pytest.fixture
def rebuild(tmp_path: Path) -> Rebuild:
    """Makes the file of SQLite again that a dump was taken of."""

    def made(dump: str, path: str) -> Path:
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(target)
        connection.executescript((DATA / dump).read_text())
        connection.close()
        return target

    return made


@pytest.fixture
def pack(tmp_path: Path) -> Pack:
    """Makes an archive of files: JSON values, or bytes as they are."""

    def made(name: str, files: dict[str, Any]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for path, content in files.items():
                archive.writestr(path, content if isinstance(content, bytes) else json.dumps(content))
        return tmp_path / name

    return made
