"""ARCHITECTURE.md is true: the files, packages, methods and commands that it names exist, and it names every package."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
PROSE = re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)
PACKAGES = {path.name for path in (ROOT / "src/rememo").iterdir() if (path / "__init__.py").exists()}


def test_every_file_that_the_architecture_names_exists():
    named = re.findall(r"`((?:src|tests|docs|tools)/[\w./]+)`", TEXT) + re.findall(r"\]\(([\w./-]+)\)", TEXT)
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_package_is_in_the_picture_in_the_order_of_the_import_contract():
    picture = re.findall(
        r"(\w+)(?:/|\.py)", "".join(line[:40] for line in TEXT.split("```")[1].splitlines(keepends=True))
    )
    assert set(picture) >= PACKAGES
    layers = [re.findall(r"rememo\.(\w+)", layer) for layer in _contract()["layers"]]
    depth = {name: number for number, layer in enumerate(layers) for name in layer}
    assert [depth[name] for name in picture if name in depth] == sorted(
        depth[name] for name in picture if name in depth
    )


def test_every_class_and_method_that_the_architecture_names_exists():
    trees = [ast.parse(path.read_text("utf-8")) for path in (ROOT / "src/rememo").rglob("*.py")]
    classes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    methods = {(owner.name, node.name) for owner in classes for node in owner.body if isinstance(node, ast.FunctionDef)}
    named = re.findall(r"`([A-Z]\w+)\.(\w+)", TEXT)
    assert len(named) >= 4
    assert [name for name in named if name not in methods] == []


def test_every_name_and_command_that_the_architecture_quotes_exists():
    sources = "\n".join(path.read_text("utf-8") for path in (ROOT / "src/rememo").rglob("*.py"))
    commands = (ROOT / "Makefile").read_text("utf-8")
    quoted = [name for name in re.findall(r"`([^`\n]+)`", PROSE) if not re.search(r"[/.(]", name)]
    assert {"known_at", "learn_wait", "NOT_SERVED", "make generate"} <= set(quoted)
    for name in quoted:
        if name.startswith("make "):
            assert f"\n{name.removeprefix('make ')}:" in commands, name
        else:
            assert re.search(rf"\b{re.escape(name)}\b", sources), name


def test_the_architecture_is_two_screens():
    assert len(TEXT.splitlines()) <= 110


def test_the_import_contract_has_every_package_once_and_no_group_that_may_import_each_other():
    contract = _contract()
    listed = re.findall(r"rememo\.(\w+)", " ".join(contract["layers"]))
    assert len(listed) == len(set(listed))
    assert set(listed) >= PACKAGES
    assert not any(":" in layer for layer in contract["layers"])


def _contract() -> dict[str, Any]:
    """Return the import contract."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0]
