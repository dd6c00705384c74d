"""`memory.ask`: an answer with the records it rests on, or that it is not in memory; with a model and without."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rememo import Memory, Settings
from rememo.ask.answer import NOT_FOUND
from rememo.cli.app import cli
from rememo.errors import InvalidInput
from rememo.llm.openai import OpenAICompatible
from rememo.llm.prompts import prompt
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import ChatReply, ErrorReply, ScriptedEndpoint

QUIET = Settings(worker=False, durability="fast")


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as served:
        yield served


@pytest.fixture
def asked(endpoint: ScriptedEndpoint) -> Iterator[Memory]:
    with (
        OpenAICompatible(endpoint.url, "reader", retries=0) as llm,
        Memory(":memory:", llm=llm, settings=QUIET, clock=ManualClock()) as memory,
    ):
        yield memory


def fill(memory: Memory) -> Memory:
    chat = memory.scope(user="ana", room="r1")
    chat.messages.add("user", "I moved to Lisbon in May.")
    chat.messages.add("assistant", "How nice! What is your cat called?")
    chat.messages.add("user", "My cat is called Miso and sleeps on the blue sofa.")
    chat.messages.add("user", "The rent is due on the first of every month.")
    return chat


# ---- without a model


@pytest.fixture
def plain() -> Iterator[Memory]:
    with Memory(":memory:", settings=QUIET, clock=ManualClock()) as memory:
        yield memory


def test_without_a_model_the_records_answer_in_their_own_words(plain: Memory):
    chat = fill(plain)
    said = chat.ask("Where does my cat Miso sleep?")
    assert said.found
    assert "sleeps on the blue sofa" in said.text
    assert said.text.startswith("ana: ")
    assert [record.id for record in said.records] == list(said.citations)
    assert chat.get(said.citations[0]).text.startswith("My cat is called Miso")
    assert (said.writer, said.usage.total, said.fallback) == ("extractive", 0, None)


def test_what_was_never_said_is_not_in_memory(plain: Memory):
    chat = fill(plain)
    said = chat.ask("Which university did the professor of astronomy graduate from?")
    assert (said.found, said.text, said.citations) == (False, NOT_FOUND, ())
    assert not plain.scope(user="nobody").ask("Where does Miso sleep?").found


def test_a_question_is_no_answer_to_itself(plain: Memory):
    chat = plain.scope(user="ana", room="r1")
    chat.messages.add("user", "Where did I put the spare key of the garage?")
    assert not chat.ask("Where did I put the spare key of the garage?").found


def test_facts_that_hold_answer_and_those_that_ended_do_not(plain: Memory):
    ana = plain.scope(user="ana")
    ana.facts.add("ana", "lives_in", "Porto")
    ana.facts.add("ana", "lives_in", "Lisbon")
    said = ana.ask("where does ana live?")
    assert said.found
    assert "Lisbon" in said.text
    assert "Porto" not in said.text


def test_what_cannot_be_meant_is_refused(plain: Memory):
    with pytest.raises(InvalidInput, match="empty"):
        plain.ask("  ")
    with pytest.raises(InvalidInput, match="threshold"):
        plain.ask("what?", threshold=2)


def test_a_long_text_is_quoted_by_its_best_sentence(plain: Memory):
    filler = "Nothing of interest happened that day. " * 20
    plain.add(f"{filler}The treasure lies under the old lighthouse of Bugio. It was found by a fisherman. {filler}")
    said = plain.ask("where does the treasure lie, under which lighthouse?")
    assert "under the old lighthouse of Bugio. It was found by a fisherman." in said.text
    assert len(said.text) < 300


# ---- with one


def test_a_model_answers_from_what_it_is_shown_and_its_citations_are_records(asked: Memory, endpoint: ScriptedEndpoint):
    chat = fill(asked)

    def reads(body: dict[str, Any]) -> ChatReply:
        shown = str(body["messages"][-1]["content"])
        [number] = [line.split("]")[0].strip("[ ") for line in shown.splitlines() if "blue sofa" in line]
        return ChatReply({"found": True, "answer": "On the blue sofa.", "citations": [int(number), 99, int(number)]})

    endpoint.default = reads
    said = chat.ask("Where does Miso sleep?")
    assert (said.text, said.found, said.writer) == ("On the blue sofa.", True, "reader")
    assert [record.text for record in said.records] == ["My cat is called Miso and sleeps on the blue sofa."]
    assert said.usage.total > 0
    [request] = endpoint.requests
    assert prompt("answer").text in request.prompt
    assert "<recalled-" in request.prompt
    [spent] = asked.spending().entries
    assert (spent.operation, spent.tokens) == ("ask", said.usage.total)


def test_a_model_may_say_that_it_is_not_in_memory(asked: Memory, endpoint: ScriptedEndpoint):
    chat = fill(asked)
    endpoint.default = ChatReply({"found": False, "answer": "", "citations": []})
    said = chat.ask("Who won the match?")
    assert (said.found, said.text, said.writer) == (False, NOT_FOUND, "reader")
    assert said.usage.total > 0


def test_nothing_is_paid_for_where_there_is_nothing_to_show(asked: Memory, endpoint: ScriptedEndpoint):
    assert not asked.scope(user="nobody").ask("Where does Miso sleep?").found
    assert endpoint.requests == []


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (ChatReply({"found": True, "answer": "On the moon.", "citations": [77]}), "cited nothing"),
        (ChatReply({"found": True, "answer": " ", "citations": [1]}), "said nothing"),
        (ErrorReply(503), "503"),
        (ChatReply("no JSON at all"), "JSON"),
        (ChatReply(None, refusal="I will not"), "refused"),
    ],
)
def test_when_a_model_fails_the_records_answer_and_it_is_told_why(
    asked: Memory, endpoint: ScriptedEndpoint, answer: ChatReply | ErrorReply, why: str
):
    chat = fill(asked)
    endpoint.default = answer
    said = chat.ask("Where does my cat Miso sleep?")
    assert said.found
    assert "blue sofa" in said.text
    assert said.writer == "extractive"
    assert why in (said.fallback or "")


@pytest.mark.requirement("spend.limit")
def test_beyond_the_ceiling_no_model_is_asked(endpoint: ScriptedEndpoint):
    settings = Settings(worker=False, durability="fast", spend_daily_tokens=10)
    with OpenAICompatible(endpoint.url, "reader") as llm, Memory(":memory:", llm=llm, settings=settings) as memory:
        said = fill(memory).ask("Where does my cat Miso sleep?")
        assert "blue sofa" in said.text
        assert (said.fallback or "").startswith("OverBudget")
        assert endpoint.requests == []
        assert memory.spending().entries[0].refused == 1


def test_a_model_can_be_left_out(asked: Memory, endpoint: ScriptedEndpoint):
    said = fill(asked).ask("Where does my cat Miso sleep?", model=False)
    assert (said.writer, said.fallback, endpoint.requests) == ("extractive", None, [])


def test_the_command_answers_and_says_when_it_cannot(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file, settings=QUIET) as memory:
        id = memory.add("Miso sleeps on the blue sofa").id
    run = CliRunner().invoke(cli, ["ask", str(file), "where does miso sleep, on which sofa?"])
    assert run.exit_code == 0, run.output
    assert "Miso sleeps on the blue sofa" in run.output
    assert id[-8:] in run.output
    run = CliRunner().invoke(cli, ["ask", str(file), "who is the king of spain?", "--json"])
    assert run.exit_code == 1
    assert json.loads(run.output)["found"] is False
