"""The bench of recall quality, on small made-up data of each shape."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from rememo.bench.datasets import BenchQuestion, BenchScope, Dataset, load
from rememo.bench.quality import ALL, Method, Search, measure, session_measures, turn_measures
from rememo.errors import InvalidInput

LONGMEMEVAL: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which instrument do I play?",
        "question_date": "2023/05/30 (Tue) 22:42",
        "answer_session_ids": ["answer_1"],
        "haystack_session_ids": ["other_1", "answer_1"],
        "haystack_dates": ["2023/05/20 (Sat) 07:46", "2023/05/21 (Sun) 02:06"],
        "haystack_sessions": [
            [{"role": "user", "content": "How do I boil rice?"}, {"role": "assistant", "content": "With water."}],
            [{"role": "user", "content": "I play the instrument cello", "has_answer": True}],
        ],
    },
    {"question_id": "q2_abs"},
]

LOCOMO: list[dict[str, Any]] = [
    {
        "conversation": {
            "speaker_a": "Ida",
            "speaker_b": "Max",
            "session_2_date_time": "1:10 pm on 9 May, 2023",
            "session_2": [{"speaker": "Max", "dia_id": "D2:1", "text": "The train was late"}],
            "session_1_date_time": "1:56 am on 8 May, 2023",
            "session_1": [
                {"speaker": "Ida", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a lighthouse"},
                {"speaker": "Max", "dia_id": "D1:2", "text": "Beautiful"},
            ],
        },
        "qa": [
            {"question": "What did Ida show?", "evidence": ["D1:1; D2:1", "D9:9"], "category": 1},
            {"question": "Nothing known?", "evidence": [], "category": 3},
        ],
    }
]

JSONL: list[dict[str, Any]] = [
    {
        "messages": [
            {"id": "m1", "text": "I moved to Lisbon", "speaker": "ida", "room": "r1"},
            {"id": "m2", "text": "My cello is old", "speaker": "ida", "room": "r2", "time": "2024-05-02T10:00:00Z"},
            {"id": "m3", "text": "Rice needs water", "speaker": "max", "room": "r3"},
        ],
        "questions": [
            {"question": "Where did I move to?", "evidence": ["m1"], "asker": "ida", "category": "home"},
            {"question": "How old is the cello?", "evidence": ["m2"], "at": "2024-06-01T00:00:00+00:00"},
        ],
    }
]


def written(folder: Path, dataset: Dataset, *, compressed: bool = False) -> Path:
    content = {"longmemeval": LONGMEMEVAL, "locomo": LOCOMO, "jsonl": JSONL}[dataset]
    text = "\n".join(json.dumps(line) for line in content) if dataset == "jsonl" else json.dumps(content)
    path = folder / f"{dataset}.json"
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    return path


def test_longmemeval_turns_are_messages_in_the_room_of_their_session(tmp_path: Path):
    (scope,) = load("longmemeval", written(tmp_path, "longmemeval", compressed=True))
    assert [message.text for message in scope.messages][-1] == "I play the instrument cello"
    assert len({message.room for message in scope.messages}) == 2
    assert scope.messages[0].time == datetime(2023, 5, 20, 7, 46, tzinfo=UTC)
    (question,) = scope.questions
    assert question.evidence == {2}
    assert question.sessions == {scope.messages[2].session}
    assert question.at == datetime(2023, 5, 30, 22, 42, tzinfo=UTC)
    assert "answer" not in " ".join(message.room + message.session for message in scope.messages)


def test_locomo_sessions_are_in_order_and_joined_evidence_is_split(tmp_path: Path):
    (scope,) = load("locomo", written(tmp_path, "locomo"))
    assert [message.speaker for message in scope.messages] == ["Ida", "Max", "Max"]
    assert "lighthouse" in scope.messages[0].text
    assert scope.messages[0].time < scope.messages[1].time < scope.messages[2].time
    (question,) = scope.questions
    assert question.evidence == {0, 2}
    assert question.category == "multi-hop"


def test_lines_of_json_need_only_texts_questions_and_evidence(tmp_path: Path):
    path = tmp_path / "own.jsonl"
    line = {"messages": [{"text": "one"}, {"text": "two"}], "questions": [{"question": "?", "evidence": [1]}]}
    path.write_text(json.dumps(line) + "\n\n")
    (scope,) = load("jsonl", path)
    assert scope.questions[0].evidence == {1}
    assert scope.messages[0].time < scope.messages[1].time


@pytest.mark.parametrize("content", ["", "[1]", "{", '[{"question_id": "x"}]'])
def test_a_file_of_another_shape_is_refused(tmp_path: Path, content: str):
    path = tmp_path / "wrong.json"
    path.write_text(content)
    with pytest.raises(InvalidInput, match=r"wrong\.json"):
        list(load("longmemeval", path))


def test_a_file_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="cannot read"):
        list(load("locomo", tmp_path / "absent.json"))


@pytest.mark.parametrize("dataset", ["longmemeval", "locomo", "jsonl"])
def test_all_methods_are_measured_on_all_questions(tmp_path: Path, dataset: Dataset):
    steps: list[int] = []
    report = measure(dataset, written(tmp_path, dataset), progress=steps.append)
    assert [method.name for method in report.methods] == ["rememo", "words", "vectors"]
    assert steps == list(range(1, report.methods[0].questions[ALL] + 1))
    for method in report.methods:
        for measures in method.measures.values():
            assert all(0 <= value <= 1 for value in measures.values())
    words = next(method for method in report.methods if method.name == "words")
    assert words.measures[ALL]["recall@5"] == 1  # it ranks every message, and there are no more than five
    assert report.methods[0].measures[ALL]["any@5"] == 1
    assert "rememo" in report.table()
    json.dumps(report.to_dict())


def test_measures_are_by_category_and_in_all(tmp_path: Path):
    def first_message(_: BenchQuestion) -> list[int]:
        return [0]

    def first_message_always(_: BenchScope) -> Search:
        return first_message

    methods: dict[str, Method] = {"first": first_message_always}
    (result,) = measure("jsonl", written(tmp_path, "jsonl"), methods=methods).methods
    assert result.measures["home"]["any@1"] == 1
    assert result.measures["all"]["any@1"] == pytest.approx(0.5)


def test_the_measures_themselves(tmp_path: Path):
    (loaded,) = load("jsonl", written(tmp_path, "jsonl"))
    messages = loaded.messages
    scope = BenchScope(messages=messages, questions=())
    question = BenchQuestion(
        text="?",
        at=messages[0].time,
        category="c",
        evidence=frozenset({1, 2}),
        sessions=frozenset({messages[1].session, messages[2].session}),
    )
    found = [0, 0, 0, 0, 1, 2]
    assert turn_measures(question, found)["recall@5"] == pytest.approx(0.5)
    assert turn_measures(question, found)["recall@10"] == pytest.approx(1)
    sessions = session_measures(scope, question, found)
    assert sessions["any@1"] == 0
    assert sessions["any@5"] == sessions["all@5"] == 1
    assert 0 < sessions["nDCG@10"] < 1
    assert session_measures(scope, question, [1, 2, 0])["nDCG@10"] == pytest.approx(1)
