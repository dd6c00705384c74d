"""Where nothing is relevant nothing is said, and what is answered is: through Python, REST and MCP, with the usual embedder."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from rememo import Client, Memory
from rememo.testing import ManualClock

HANDFUL = [
    "I live in Lisbon.", "My cat is called Miso.", "I work at Acme as a designer.", "The invoice for March is paid.",
    "We went hiking near Sintra.", "I am allergic to peanuts.", "My sister Eva visits in June.",
]  # fmt: skip
FOREIGN = ["favourite pizza", "What is my favourite pizza?", "Who won the world cup?"]
ANSWERED = [
    ("Where do I live?", "Lisbon"),
    ("what is the cat's name?", "Miso"),
    ("where did we hike?", "Sintra"),
    ("what am I allergic to?", "peanuts"),
    ("what did I say yesterday?", "Eva"),
    ("what do you know about me?", "peanuts"),
]

Ask = Callable[[str], str]


@pytest.fixture(scope="module")
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(scope="module")
def memory(clock: ManualClock) -> Iterator[Memory]:
    """Give a handful of messages of one user, one a day."""
    with Memory(":memory:", clock=clock) as memory:
        chat = memory.scope(user="ana", room="r1")
        for number, text in enumerate(HANDFUL):
            chat.messages.add("user", text, at=clock() - timedelta(days=len(HANDFUL) - number)).wait()
        yield memory


@pytest.fixture(scope="module")
def elsewhere(memory: Memory, running: Any) -> Iterator[str]:
    with running(memory) as address:
        yield address


@pytest.fixture(params=["python context", "REST context", "MCP recall", "MCP context"])
def ask(request: pytest.FixtureRequest, memory: Memory, elsewhere: str, assistant: Callable[..., Any]) -> Iterator[Ask]:
    """Ask in another conversation, so that nothing is there but what is recalled."""
    match request.param:
        case "python context":
            yield lambda question: memory.scope(user="ana", room="new").context(question).text
        case "REST context":
            with Client(elsewhere) as client:
                yield lambda question: client.scope(user="ana", room="new").context(question).text
        case "MCP recall":
            helper = assistant(url=f"{elsewhere}/mcp")
            yield lambda question: "\n".join(
                " ".join([item["text"], *item.get("sources", ())])
                for item in helper.got("recall", query=question, user="ana").get("items", [])
            )
        case _:
            helper = assistant(url=f"{elsewhere}/mcp")
            yield lambda question: helper.got("context", query=question, user="ana", room="new")["text"]


@pytest.mark.parametrize("question", FOREIGN)
def test_what_nothing_is_known_of_is_met_with_silence(ask: Ask, question: str):
    assert ask(question) == ""


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
def test_what_is_known_is_said(ask: Ask, question: str, answer: str):
    assert answer in ask(question)


def test_the_conversation_the_profile_and_open_plans_stay(memory: Memory):
    view = memory.scope(user="ana", room="r1")
    assert "My sister Eva visits in June." in view.context("favourite pizza").text
    elsewhere = memory.scope(user="ben", room="r2")
    memory.scope(user="ben").profiles.update("ben", language="Danish")
    elsewhere.tasks.add("Water the plants")
    elsewhere.messages.add("user", "The ferry leaves at nine.").wait()
    said = memory.scope(user="ben", room="r3").context("favourite pizza").text
    assert "Danish" in said
    assert "Water the plants" in said
    assert "ferry" not in said


def test_without_a_question_what_is_known_is_shown(memory: Memory):
    assert "Lisbon" in memory.scope(user="ana", room="new").context("").text


def test_whoever_wants_the_best_of_what_there_is_says_so(memory: Memory):
    view = memory.scope(user="ana", room="new")
    assert view.context("favourite pizza", threshold=0.0).text
    assert memory.scope(user="ana").search("favourite pizza")
