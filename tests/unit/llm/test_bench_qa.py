"""`rememo bench qa`: every answer is written down, a run goes on where it stopped, and shares have intervals."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rememo.bench import qa
from rememo.cli.app import cli
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.openai import OpenAICompatible
from rememo.testing.endpoint import ChatReply, ErrorReply, Reply, ScriptedEndpoint

SCOPE = {
    "messages": [
        {"id": "a", "text": "My cat is called Miso.", "speaker": "ana", "room": "r1", "time": "2026-05-01T09:00:00Z"},
        {"id": "b", "text": "I moved to Lisbon.", "speaker": "ana", "room": "r1", "time": "2026-05-02T09:00:00Z"},
    ],
    "questions": [
        {"question": "What is Ana's cat called?", "evidence": ["a"], "answer": "Miso", "category": "pets"},
        {"question": "Where does Ana live?", "evidence": ["b"], "answer": "Lisbon", "category": "home"},
        {"question": "What is Ana's car called?", "evidence": ["a"], "category": "home"},
    ],
}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text(json.dumps(SCOPE) + "\n")
    return path


def answering(body: dict[str, Any]) -> Reply:
    """Read and judge as a good model would, but for one thing it gets wrong."""
    asked = body["messages"][-1]["content"]
    if "expected" in asked:
        told = json.loads(asked)
        return ChatReply({"correct": told["expected"].rstrip(".") in told["given"], "reason": "compared"})
    if "cat called" in asked:
        return ChatReply("Miso" if "Miso" in asked else "Rex")
    return ChatReply("It is not in memory.") if "car called" in asked else ChatReply("She lives in Porto.")


@pytest.fixture
def reader(endpoint: ScriptedEndpoint) -> OpenAICompatible:
    endpoint.default = answering
    return OpenAICompatible(endpoint.url, "reader", retries=0)


def test_every_way_is_asked_and_everything_is_written_down(data: Path, tmp_path: Path, reader: OpenAICompatible):
    out = tmp_path / "out.jsonl"
    report = qa.measure("jsonl", data, reader=reader, out=out)
    found = {(accuracy.way, accuracy.category): (accuracy.right, accuracy.questions) for accuracy in report.accuracies}
    for way in qa.WAYS:
        assert found[way, "all"] == (2, 3)
        assert found[way, "pets"] == (1, 1)
        assert found[way, "home"] == (1, 2)
    lines = list(qa.answers(out))
    assert len(lines) == 9
    assert all(line["prompt"][0]["content"] and line["answer"] and line["usage"]["prompt"] > 0 for line in lines)
    assert sum(line["usage"]["prompt"] + line["usage"]["completion"] for line in lines) < report.usage.total
    assert "66.7 %" in report.table()
    assert "reader reader, judge reader" in report.table()


def test_a_run_goes_on_where_it_stopped(
    data: Path, tmp_path: Path, reader: OpenAICompatible, endpoint: ScriptedEndpoint
):
    out = tmp_path / "out.jsonl"
    qa.measure("jsonl", data, reader=reader, out=out, limit=1)
    asked = len(endpoint.requests)
    assert asked == 6
    with out.open("a") as file:
        file.write('{"key": "half a li')
    report = qa.measure("jsonl", data, reader=reader, out=out)
    assert len(endpoint.requests) - asked == 12
    assert report.accuracies[0].questions == 3
    qa.measure("jsonl", data, reader=reader, out=out)
    assert len(endpoint.requests) - asked == 12
    with pytest.raises(InvalidInput, match="another run"):
        qa.measure("jsonl", data, reader=reader, out=out, budget=100)


def test_what_failed_is_told_counts_nowhere_and_is_asked_again(
    data: Path, tmp_path: Path, reader: OpenAICompatible, endpoint: ScriptedEndpoint
):
    out = tmp_path / "out.jsonl"
    endpoint.script(ErrorReply(500, "out of luck"))
    report = qa.measure("jsonl", data, reader=reader, out=out, ways=["rememo"], concurrency=1)
    assert (report.failed, report.accuracies[0].questions) == (1, 2)
    assert any("out of luck" in line.get("error", "") for line in qa.answers(out))
    report = qa.measure("jsonl", data, reader=reader, out=out, ways=["rememo"], concurrency=1)
    assert (report.failed, report.accuracies[0].questions) == (0, 3)


def test_an_endpoint_that_is_away_ends_the_run(
    data: Path, tmp_path: Path, reader: OpenAICompatible, endpoint: ScriptedEndpoint
):
    endpoint.default = ErrorReply(503)
    with pytest.raises(ModelFailed, match="goes on where it stopped"):
        qa.measure("jsonl", data, reader=reader, out=tmp_path / "out.jsonl", concurrency=1)
    assert len(endpoint.requests) == 5
    endpoint.default = answering
    assert qa.measure("jsonl", data, reader=reader, out=tmp_path / "out.jsonl").failed == 0


def test_the_whole_conversation_is_cut_at_its_beginning(data: Path, tmp_path: Path, reader: OpenAICompatible):
    out = tmp_path / "out.jsonl"
    qa.measure("jsonl", data, reader=reader, out=out, ways=["full"], full_tokens=40)
    shown = next(qa.answers(out))["prompt"][1]["content"]
    assert "Lisbon" in shown
    assert "Miso" not in shown


@pytest.mark.parametrize(
    ("right", "of", "low", "high"), [(0, 0, 0, 1), (0, 10, 0, 0.278), (10, 10, 0.722, 1), (50, 100, 0.404, 0.596)]
)
def test_intervals_are_those_of_wilson(right: int, of: int, low: float, high: float):
    assert qa.wilson(right, of) == pytest.approx((low, high), abs=0.001)


def test_the_command_prints_the_table(
    data: Path, tmp_path: Path, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("REMEMO_LLM_KEY", "secret-key")
    endpoint.default = answering
    out, figures = tmp_path / "out.jsonl", tmp_path / "figures.json"
    words = ["bench", "qa", str(data), "--dataset", "jsonl", "--url", endpoint.url, "--model", "reader"]
    more = ["--judge-model", "judge", "--out", str(out), "--json", str(figures), "--ways", "rememo,words"]
    run = CliRunner().invoke(cli, [*words, *more])
    assert run.exit_code == 0, run.output
    assert "reader reader, judge judge" in run.output
    assert "secret-key" not in out.read_text()
    assert {accuracy["way"] for accuracy in json.loads(figures.read_text())["accuracies"]} == {"rememo", "words"}
    assert {request.headers["authorization"] for request in endpoint.requests} == {"Bearer secret-key"}
    wrong = CliRunner().invoke(
        cli, ["bench", "qa", str(data), "--ways", "guess", "--url", endpoint.url, "--model", "m"]
    )
    assert wrong.exit_code != 0
