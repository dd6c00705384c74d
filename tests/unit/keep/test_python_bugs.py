"""Faults of Python that `rememo doctor` warns of."""

import re
import sys

import pytest
from typer.testing import CliRunner

from rememo.cli import doctor
from rememo.cli.app import cli
from rememo.keep.python_bugs import PYTHON_BUGS, find_python_bugs


def test_a_fault_belongs_to_the_releases_of_one_series():
    for fault in PYTHON_BUGS:
        assert fault.first[:2] == fault.fixed[:2]
        assert fault in find_python_bugs(fault.first)
        assert fault not in find_python_bugs(fault.fixed)
    assert find_python_bugs((3, 12, 0)) == []


def test_the_table_is_right_about_this_python():
    descriptions = " ".join(fault.description for fault in find_python_bugs(sys.version_info[:3]))
    assert ("106052" in descriptions) == (re.fullmatch("(?:ab?c)*+", "a") is not None)


@pytest.mark.parametrize(("release", "level"), [((3, 11, 2), "note"), ((3, 12, 13), "ok")])
def test_doctor_tells_which_python_runs_and_what_is_wrong_with_it(
    release: tuple[int, int, int], level: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(doctor, "python_release", lambda: release)
    done = CliRunner().invoke(cli, ["doctor", ":memory:"])
    line, *_ = [line for line in done.stdout.splitlines() if "python:" in line]
    assert line.strip().startswith(level)
    assert ".".join(map(str, release)) in line
    assert ("possessive" in done.stdout) == (level == "note")
    assert ("install 3.11.5 or newer" in done.stdout) == (level == "note")
    assert done.exit_code == 0
