"""Known gaps are written down with their reasons, and the end of a run counts them."""

import os
import tomllib
from collections import Counter
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from warnings import catch_warnings

import pytest

# No framework tells its makers of these runs.
os.environ |= {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "OTEL_SDK_DISABLED": "true",
}

# A test's module is named after its folder: the framework of that name must have it first.
with suppress(ImportError), catch_warnings(action="ignore"):
    import_module("crewai")

GAPS: dict[str, str] = tomllib.loads((Path(__file__).parent / "gaps.toml").read_text())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if reason := GAPS.get(gap(item.nodeid)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    passed = Counter(framework(report.nodeid) for report in terminalreporter.getreports("passed"))
    gaps = Counter(framework(report.nodeid) for report in terminalreporter.getreports("xfailed"))
    terminalreporter.section("frameworks: passed / known gaps with reasons")
    for name in sorted(passed | gaps):
        terminalreporter.line(f"{name}: {passed[name]} passed / {gaps[name]} known gaps")
    for report in terminalreporter.getreports("xfailed"):
        terminalreporter.line(f"  {gap(report.nodeid)}: {report.wasxfail}")


def gap(node: str) -> str:
    """Return how a test is named in gaps.toml: its node id without the folders, which a parameter may also name."""
    path, bracket, parameters = node.partition("[")
    return path.rpartition("/")[2] + bracket + parameters


def framework(node: str) -> str:
    """Return the framework that a test is about: its file's name says so."""
    return gap(node).partition(".py")[0].removeprefix("test_")
