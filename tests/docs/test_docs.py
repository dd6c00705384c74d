"""Docs that cannot lie: every Python block of a guide runs, every command, setting and dependency is named."""

import re
import tomllib
from dataclasses import fields
from inspect import stack
from pathlib import Path

import pytest
from typer.main import get_command

from rememo import Settings
from rememo.cli.app import cli
from rememo.testing.endpoint import ScriptedEndpoint

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
RUN = [page for page in PAGES[1:] if page.parent.name != "frameworks"]  # those run beside their frameworks
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^ *print\(.*\)  # ([\[({'\d].*?|True|False|None)(?:; |: (?=[a-z])|$)")
"""What a line is said to print, where that is a value and not a word about it."""


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def commands(group: object, prefix: str = "rememo") -> list[str]:
    found: list[str] = []
    for word, command in getattr(group, "commands", {}).items():
        found += commands(command, f"{prefix} {word}") if hasattr(command, "commands") else [f"{prefix} {word}"]
    return found


@pytest.mark.parametrize("page", RUN, ids=name)
def test_code_runs_as_it_stands_and_prints_what_is_beside_it(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with ScriptedEndpoint() as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "scripted")
        run_page(page)
    requests = [request.body["messages"] for request in endpoint.requests_to()]
    recipes = page.read_text().count("\n## ") if page.stem == "recipes" else 0
    assert len(requests) >= recipes  # each of them asks a model
    assert bool(requests) == bool(recipes)
    for *before, question in requests:
        assert question["role"] == "user"
        assert question["content"] not in str(before), "the question goes to the model once"


def run_page(page: Path) -> None:
    """Run the code of a page, and compare what it prints with what stands beside it."""
    lines = page.read_text().split("\n")
    printed: dict[str, str] = {}

    def show(*values: object, **_: object) -> None:
        printed.setdefault(lines[stack(0)[1].lineno - 1], " ".join(map(str, values)))

    names: dict[str, object] = {"print": show}
    for block in BLOCK.finditer(page.read_text()):
        line = page.read_text()[: block.start()].count("\n") + 1
        exec(compile("\n" * line + block[1], name(page), "exec"), names)  # noqa: S102 - that is the test
    for line, said in printed.items():
        if beside := PRINTED.search(line):
            assert said.startswith(beside[1]), line
    for value in names.values():
        if hasattr(value, "close") and not isinstance(value, type):
            value.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - just seen


def test_every_command_is_documented():
    text = (ROOT / "docs" / "cli.md").read_text()
    missing = [
        command for command in commands(get_command(cli)) if f"`{command} " not in text and f"`{command}`" not in text
    ]
    assert not missing


def test_every_setting_is_documented():
    text = "".join(page.read_text() for page in PAGES)
    assert not [field.name for field in fields(Settings) if f"`{field.name}`" not in text]


def test_every_dependency_is_named_with_its_reason():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    [together] = extras["all"]
    named = (ROOT / "docs" / "install.md").read_text().lower()
    wanted = [*project["dependencies"]]
    for extra in re.findall(r"[\w-]+", together.partition("[")[2]):
        assert f"`{extra}`" in named
        wanted += extras[extra]
    packages = {re.split(r"[^\w.-]", dependency)[0].lower().replace(".", "-") for dependency in wanted}
    assert sorted(package for package in packages if f"`{package}`" not in named) == []
