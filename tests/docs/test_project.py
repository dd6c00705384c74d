"""The files by which others join: workflows and forms are what GitHub reads, and commands that they name exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"
FORMS = sorted(path for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml")
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


@pytest.mark.parametrize(
    ("schema", "files"),
    [
        ("github-workflows", WORKFLOWS),
        ("github-issue-forms", FORMS),
        ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
    ],
)
def test_github_reads_workflows_and_forms(schema: str, files: list[Path]):
    command = [Path(sys.executable).parent / "check-jsonschema", "--builtin-schema", f"vendor.{schema}", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_workflows_run_what_is_run_here():
    workflows = [path.read_text() for path in WORKFLOWS]
    assert all("run: .ci/run" in workflow for workflow in workflows)
    assert (ROOT / ".ci" / "run").stat().st_mode & 0o100
    makefile = (ROOT / "Makefile").read_text()
    pages = [ROOT / "CONTRIBUTING.md", ROOT / ".pre-commit-config.yaml", ROOT / ".ci" / "run", *WORKFLOWS]
    for page in pages:
        for target in re.findall(r"(?:`|run: |entry: )make ([a-z]+)", page.read_text()):
            assert f"\n{target}:" in makefile, (page.name, target)


def test_the_changelog_begins_with_the_version():
    version = re.findall(r'__version__ = "(.+)"', (ROOT / "src" / "rememo" / "_version.py").read_text())[0]
    first = re.findall(r"^## (.*)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert first.startswith(("[Unreleased]", f"[{version}] - "))
