"""The measure of silence, on scopes small enough to know the result."""

import json
from pathlib import Path

import pytest

from rememo.bench.silence import SilenceReport, measure
from rememo.errors import InvalidInput


def scope(text: str, question: str) -> str:
    messages = [{"id": "m1", "text": text, "speaker": "ana"}, {"id": "m2", "text": "Good night.", "speaker": "ana"}]
    return json.dumps({"messages": messages, "questions": [{"question": question, "evidence": ["m1"]}]})


def life(name: str, text: str, question: str, holds: str) -> str:
    said = {"at": "2026-03-01T10:00:00+00:00", "user": "ana", "room": "r1", "agent": None, "role": "user", "text": text}
    asked = {"question": question, "user": "ana", "about": "now", "holds": [holds], "outdated": []}
    return json.dumps({"name": name, "messages": [said], "questions": [asked]})


def test_own_questions_are_told_from_those_of_others(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text(
        f"{scope('The dentist is on Maple Street.', 'Where is the dentist?')}\n"
        f"{scope('My violin teacher plays Brahms.', 'What does the violin teacher play?')}\n"
    )
    report = measure("jsonl", path)
    assert (len(report.own), len(report.foreign)) == (2, 2)
    assert min(report.own) >= report.floor > max(report.foreign)
    assert "floor          0.42       100.0 % (34.2 - 100.0)  0.0 % (0.0 - 65.8)" in report.table()


def test_lives_are_a_shape_too(tmp_path: Path):
    path = tmp_path / "lives.jsonl"
    path.write_text(
        f"{life('home', 'I live in Lisbon.', 'Where do I live?', 'Lisbon')}\n"
        f"{life('car', 'My car is a red Fiat.', 'What colour is my car?', 'red')}\n"
    )
    report = measure("lives", path)
    assert min(report.own) >= report.floor > max(report.foreign)


def test_a_memory_that_speaks_too_much_and_too_little_is_seen():
    report = SilenceReport(dataset="made", own=(0.1, 0.9), foreign=(0.5, 0.0, 0.2, 0.1), floor=0.42)
    [floor] = [line for line in report.table().splitlines() if line.startswith("floor")]
    assert "50.0 %" in floor
    assert "25.0 %" in floor


def test_what_cannot_be_read_is_an_error(tmp_path: Path):
    with pytest.raises(InvalidInput, match="cannot read"):
        measure("locomo", tmp_path / "missing.json")
