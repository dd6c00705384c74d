"""The scenario suite: lives told and asked through every way in, on two small enough to know the result."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rememo.bench.lives.data import load_lives
from rememo.bench.lives.judge import LivesReport, measure
from rememo.bench.lives.merge import merge_lives
from rememo.errors import InvalidInput, MissingExtra

ROOT = Path(__file__).parents[2]


def message(text: str, day: int, **more: Any) -> dict[str, Any]:
    said = {"at": f"2026-03-{day:02}T10:00:00+00:00", "user": "ana", "room": "r1", "agent": None, "role": "user"}
    return {**said, "text": text, **more}


def question(text: str, *holds: str, about: str = "now", outdated: tuple[str, ...] = (), **more: Any) -> dict[str, Any]:
    return {"question": text, "user": "ana", "about": about, "holds": holds, "outdated": outdated, **more}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write two lives: one that is answered rightly, and one that asks for what was never said."""
    path = tmp_path / "lives.jsonl"
    answered = {
        "name": "moved",
        "held_out": False,
        "messages": [message("I live in Lisbon.", 1), message("I moved to Porto.", 20)],
        "questions": [
            question("Where do I live?", "Porto", outdated=("Lisbon",)),
            question("Where did I live before?", "Lisbon", about="past"),
        ],
    }
    unanswered = {
        "name": "silent",
        "held_out": True,
        "messages": [message("The invoice is paid.", 1, user="leo")],
        "questions": [question("Where does Leo live?", "Rome", user=None)],
    }
    path.write_text("\n".join(map(json.dumps, (answered, unanswered))))
    return path


def right(report: LivesReport) -> list[dict[str, tuple[int, int]]]:
    return [{name: (share.right, share.questions) for name, share in door.shares.items()} for door in report.doors]


@pytest.mark.parametrize("door", ["python", "rest", "mcp"])
def test_every_way_in_answers_and_can_fail(file: Path, door: str):
    report = measure(file, doors=[door])
    assert right(report) == [
        {"first now": (1, 2), "first past": (1, 1), "context now": (1, 2), "context past": (1, 1)}
    ]  # fmt: skip
    [miss] = report.doors[0].misses
    assert miss.startswith("silent: Where does Leo live? (now; holds: Rome): first hit and context")
    table = report.table(misses=True)
    assert "2 lives" in table
    assert "1/2 50.0 % (9.5 - 90.5)" in table
    assert miss in table


def test_lives_about_different_matters_are_told_as_one(tmp_path: Path):
    path = tmp_path / "lives.jsonl"
    told = {
        "ana": ("I live in Lisbon.", "I moved to Porto, says Ana.", "Where does ana live?", "Porto", "live in Lisbon"),
        "leo": ("Standup is at 9:00.", "Leo here, standup is at 10:30 now.", "When is standup?", "10:30", "9:00"),
        "eva": ("I moved to Rome.", "Eva is back in Graz.", "Where does eva live?", "Graz", "Rome"),
    }
    path.write_text(
        "\n".join(
            json.dumps(
                {
                    "name": user,
                    "messages": [message(before, 1, user=user), message(after, 20, user=user)],
                    "questions": [question(asked, holds, outdated=(outdated,), user=user)],
                }
            )
            for user, (before, after, asked, holds, outdated) in told.items()
        )
    )
    merged = list(merge_lives(list(load_lives(path)), 2))
    assert len(merged) == 1, "two homes cannot be one person's, and a life that is left over is left out"
    (life,) = merged
    assert len({message.user for message in life.messages}) == 1
    assert [message.at for message in life.messages] == sorted(message.at for message in life.messages)
    assert len({message.room for message in life.messages}) == 2
    names = {name.casefold() for name in told} - {life.messages[0].user}
    assert not any(name in text.casefold() for name in names for text in (asked.text for asked in life.questions))
    report = measure(path, together=2)
    assert right(report)[0]["first now"] == (2, 2)


def test_one_part_is_chosen(file: Path):
    assert right(measure(file, held_out=True))[0]["first now"] == (0, 1)
    assert right(measure(file, held_out=False))[0]["first now"] == (1, 1)


def test_mem0s_own_client_is_a_way_in(file: Path):
    python = ROOT / ".peers" / "mem0" / "bin" / "python"
    [shares] = right(measure(file, doors=["mem0"], environments={"mem0": python}))
    assert shares["first now"] == (1, 2)
    assert shares["context past"][1] == 1


@pytest.mark.parametrize("door", ["mem0", "langgraph"])
def test_a_package_that_is_not_installed_is_told_with_the_command(file: Path, tmp_path: Path, door: str):
    nowhere = {door: tmp_path / "python"}
    with pytest.raises(MissingExtra, match=r"pip install"):
        measure(file, doors=[door], environments=nowhere)
    without = {door: Path(sys.executable)}  # neither package is in this environment
    with pytest.raises(MissingExtra, match=r"No module named.*pip install"):
        measure(file, doors=[door], environments=without)
    report = measure(file, doors=["python", door], environments=nowhere)
    assert f"{door}: not measured" in report.table()
    assert right(report)[0]["first now"] == (1, 2)


def test_what_is_no_file_of_lives_is_refused(tmp_path: Path):
    (tmp_path / "other.jsonl").write_text('{"messages": []}')
    with pytest.raises(InvalidInput, match="not a file of lives"):
        measure(tmp_path / "other.jsonl")
    with pytest.raises(InvalidInput, match="cannot read"):
        measure(tmp_path / "missing.jsonl")
    with pytest.raises(InvalidInput, match="there is no door window; there are python, rest"):
        measure(tmp_path / "missing.jsonl", doors=["window"])


def test_the_lives_of_the_project_can_be_told():
    lives = list(load_lives(ROOT / "tests" / "data" / "lives.jsonl"))
    assert {life.held_out for life in lives} == {True, False}
    assert len({life.name for life in lives}) == len(lives)
    assert all(life.questions for life in lives)


def test_a_question_is_asked_five_days_after_the_end_unless_it_says_when(tmp_path: Path):
    life = {
        "name": "moved",
        "messages": [message("I live in Lisbon.", 1), message("From 15 April I live in Porto.", 20)],
        "questions": [
            question("Where do I live?", "Lisbon"),
            question("Where?", "Porto", at="2026-05-01T00:00:00+00:00"),
        ],
    }
    (tmp_path / "lives.jsonl").write_text(json.dumps(life))
    [read] = load_lives(tmp_path / "lives.jsonl")
    assert [asked.at.isoformat() for asked in read.questions] == [
        "2026-03-25T10:00:00+00:00",
        "2026-05-01T00:00:00+00:00",
    ]
