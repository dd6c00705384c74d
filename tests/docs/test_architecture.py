"""ARCHITECTURE.md is true: the files and packages that it names exist, and it names every package."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PACKAGES = {path.name for path in (ROOT / "src/rememo").iterdir() if (path / "__init__.py").exists()}


def test_every_file_that_the_architecture_names_exists():
    named = re.findall(r"`((?:src|tests|docs|tools)/[\w./]+)`", TEXT) + re.findall(r"\]\(([\w./-]+)\)", TEXT)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_package_is_in_the_picture_of_the_architecture():
    picture = TEXT.split("```")[1]
    assert PACKAGES - set(re.findall(r"(\w+)/", picture)) <= {"bench", "testing", "imports", "observe"}


def test_every_class_and_method_that_the_architecture_names_exists():
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "src/rememo").rglob("*.py"))
    for owner, method in re.findall(r"`([A-Z]\w+)\.(\w+)`", TEXT):
        assert f"class {owner}" in sources, owner
        assert f"def {method}(" in sources, method


def test_the_import_contract_has_every_package_once_and_no_group_that_may_import_each_other():
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
    listed = re.findall(r"rememo\.(\w+)", " ".join(contract["layers"]))
    assert len(listed) == len(set(listed))
    assert set(listed) >= PACKAGES
    assert not any(":" in layer for layer in contract["layers"])
