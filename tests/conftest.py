"""Requirements as data: every mark names an id of `requirements.toml`, and every id that is not planned has a test."""

import ast
import os
import runpy
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

# The shipped suites are plain modules: without this their failed asserts would not say what they compared.
pytest.register_assert_rewrite("rememo.testing")

from rememo.testing.postgres import StorePool, lend_databases  # noqa: E402 - after the line above
from rememo.testing.redis import RedisPrefixes, lend_prefixes, servers  # noqa: E402

# The same examples in every automatic run, so that a failure there is one of the change and not of the dice.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

TESTS = Path(__file__).parent
MARKED = (TESTS, TESTS.parent / "src" / "rememo" / "testing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One thing the project must do."""

    id: str
    says: str
    source: str
    planned: bool = False


def load_requirements() -> dict[str, Requirement]:
    """Return the requirements by id; an id that stands twice is an error."""
    tables = tomllib.loads((TESTS / "requirements.toml").read_text(encoding="utf-8"))["requirement"]
    found: dict[str, Requirement] = {}
    for table in tables:
        requirement = Requirement(**table)
        if requirement.id in found:
            raise pytest.UsageError(f"tests/requirements.toml has the id {requirement.id!r} twice")
        found[requirement.id] = requirement
    return found


def marks_in(tree: ast.AST) -> Iterator[str]:
    """Give the ids that `pytest.mark.requirement(…)` names in a source, whether or not it is run."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "requirement"
            and isinstance(node.func.value, ast.Attribute)
            and node.func.value.attr == "mark"
        ):
            yield from (str(arg.value) for arg in node.args if isinstance(arg, ast.Constant))


def find_marks() -> dict[str, list[str]]:
    """Return the files that name each id, over all sources of tests."""
    found: dict[str, list[str]] = {}
    for folder in MARKED:
        for path in sorted(folder.rglob("*.py")):
            for id in marks_in(ast.parse(path.read_text(encoding="utf-8"), str(path))):
                found.setdefault(id, []).append(path.name)
    return found


@pytest.fixture(scope="session")
def databases() -> Iterator[StorePool]:
    """Give clean databases on a PostgreSQL server: one's own, or one that is started with the first test that asks."""
    with lend_databases() as given:
        yield given


@pytest.fixture(scope="session")
def pgbouncer() -> str:
    """Return the program of the pooler, which is installed when it is missing."""
    return runpy.run_path(str(TESTS.parent / "tools" / "servers.py"))["pgbouncer"]()


@pytest.fixture(scope="session")
def debian_postgres() -> str:
    """Return the folder with the programs of the distribution's PostgreSQL, which is installed when it is missing."""
    return runpy.run_path(str(TESTS.parent / "tools" / "servers.py"))["postgres"]()


@pytest.fixture(scope="session")
def requirements() -> Mapping[str, Requirement]:
    return load_requirements()


@pytest.fixture(scope="session")
def marked() -> Mapping[str, list[str]]:
    return find_marks()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    known = load_requirements()
    for item in items:
        for mark in item.iter_markers("requirement"):
            if not mark.args:
                raise pytest.UsageError(f"{item.nodeid}: the requirement mark names no id")
            for id in mark.args:
                if id not in known:
                    raise pytest.UsageError(f"{item.nodeid}: tests/requirements.toml has no id {id!r}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    known = load_requirements()
    planned = sum(requirement.planned for requirement in known.values())
    terminalreporter.write_line(f"requirements: {len(known) - planned} delivered, {planned} remain planned")


@pytest.fixture(scope="session", params=servers())
def places(request: pytest.FixtureRequest) -> Iterator[RedisPrefixes]:
    """Lend addresses on a Redis server that lives as long as the tests: on each kind that there is here."""
    with lend_prefixes(request.param) as found:
        yield found
