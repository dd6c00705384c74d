import sys
from pathlib import Path
from typing import Final

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import release  # noqa: E402 - a tool, not a package

FIGURES: Final = pytest.StashKey[list[str]]()


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> list[str]:
    """What is told at the end."""
    return request.config.stash.setdefault(FIGURES, [])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for figure in config.stash.get(FIGURES, list[str]()):
        terminalreporter.write_line(figure)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return release.build(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def python(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with nothing but Rememo and what it needs."""
    return release.install(built[0], tmp_path_factory.mktemp("home") / "environment")
