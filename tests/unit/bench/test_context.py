"""The measure of contexts, on a conversation small enough to know the result."""

import json
from pathlib import Path

import pytest

from rememo.bench.context import measure
from rememo.errors import InvalidInput

LONG = "This and that was said about the weather and the news. " * 40


def test_the_sentence_that_answers_is_looked_for(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    messages = [
        {"id": "m1", "text": f"{LONG}My passport number is 4417. {LONG}", "speaker": "ana", "room": "r1"},
        {"id": "m2", "text": LONG, "speaker": "helper", "room": "r2"},
    ]
    question = {
        "question": "What is my passport number?",
        "answer": "4417",
        "evidence": ["m1"],
        "asker": "ana",
        "addressee": "helper",
    }
    path.write_text(json.dumps({"messages": messages, "questions": [question]}))
    report = measure("jsonl", path, budgets=(400,))
    assert {way.way: way.sentences for way in report.packed} == {"context (Rememo)": 1.0, "turns, then hits": 0.0}
    assert all(way.tokens <= 400 for way in report.packed)
    assert "1 questions" in report.table()
    assert json.dumps(report.to_dict())


def test_a_file_without_evidence_is_told(tmp_path: Path):
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps({"messages": [{"text": "Hello"}], "questions": [{"question": "Who?", "evidence": []}]}))
    with pytest.raises(InvalidInput, match="nothing to measure"):
        measure("jsonl", path)
