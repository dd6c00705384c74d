"""What the README says is so: its code runs twice, its commands exist, and its numbers are printed by them."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from rememo.cli.app import cli
from rememo.testing.endpoint import ScriptedEndpoint

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import badges  # noqa: E402 - a tool, not a package

README = (ROOT / "README.md").read_text()
CODE = re.compile(r"^```python\n(?P<code>.*?)^```(?:\n\n```text\n(?P<prints>.*?)^```)?", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"`((?:rememo|make) [^`]+)`")
LINKED = re.compile(r"\]\((docs/[^)#]+\.md)")
NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?!\w)")
LONGEST = 200


def section(title: str) -> str:
    return README.split(f"\n## {title}\n")[1].split("\n## ")[0]


def run(folder: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=os.environ | environment, capture_output=True, text=True,
        check=False, timeout=LONGEST,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def rememo(folder: Path, *arguments: str) -> str:
    return run(folder, "-c", "from rememo.cli import main; main()", *arguments)


def test_its_code_runs_twice_and_prints_what_stands_below_it(tmp_path: Path):
    with ScriptedEndpoint() as endpoint:
        for _ in range(2):
            for block in CODE.finditer(README):
                printed = run(tmp_path, "-c", block["code"], OPENAI_BASE_URL=endpoint.url, OPENAI_API_KEY="scripted")
                assert printed == (block["prints"] or "")
        asked = [str(request.body["messages"]) for request in endpoint.requests_to()]
    assert len(asked) == 2
    assert all("Miso" in messages for messages in asked)  # said in another room, recalled for the model
    assert "What should I buy for my cat?" in asked[1].rpartition("What should I buy")[0]  # the pair was kept


def test_its_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    shell = [line.partition("#")[0].strip() for block in SHELL.findall(README) for line in block.splitlines()]
    commands = COMMAND.findall(README) + [line for line in shell if not line.startswith("pip install")]
    assert len(commands) > 10
    for command in commands:
        program, *words = command.split()
        if program == "make":
            assert f"\n{words[0]}:" in makefile, command
            continue
        group: Any = get_command(cli)
        for word in words:
            if not hasattr(group, "commands"):
                assert word.startswith("--") or (ROOT / word).exists(), command
                continue
            group = group.commands[word]


def test_the_demonstration_runs_twice(tmp_path: Path):
    assert rememo(tmp_path, "demo")
    assert rememo(tmp_path, "demo")


def test_every_reason_has_a_number_that_a_named_command_prints():
    reasons = section("Why").strip().split("\n- ")
    assert len(reasons) == 5
    for reason in reasons:
        assert COMMAND.search(reason), reason
        assert NUMBER.search(reason), reason


@pytest.mark.parametrize("title", ["Why", "Beside the others"])
def test_every_number_stands_beside_its_command_in_the_guides(title: str):
    for part in section(title).split("\n- "):
        pages = "".join((ROOT / page).read_text() for page in LINKED.findall(part))
        numbers = NUMBER.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", part))
        assert [number for number in numbers if not re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", pages)] == []


@pytest.mark.parametrize("bench", ["lives", "silence"])
def test_the_numbers_of_the_data_in_this_repository_are_printed(bench: str):
    [command] = [command for command in COMMAND.findall(section("Why")) if command.startswith(f"rememo bench {bench} ")]
    [reason] = [part for part in section("Why").split("\n- ") if command in part]
    printed = rememo(ROOT, *command.split()[1:])
    shares = re.findall(r"(\d+\.\d) %", reason)
    assert len([share for share in shares if f"{share} %" in printed]) >= 2, printed


def test_the_badges_are_made_from_what_the_project_says():
    assert badges.TARGET.read_text() == badges.draw()
    requirements = dict(badges.badges())["requirements"].split(",")[0]
    assert f"{requirements} requirements" in README
