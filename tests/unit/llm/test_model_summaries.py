"""Summaries that the memory's model writes; made of sentences where it does not."""

from collections.abc import Iterator

import pytest

from rememo import Memory, Settings, SummaryPolicy
from rememo.llm.openai import OpenAICompatible
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import ChatReply, ErrorReply, ScriptedEndpoint

QUIET = Settings(worker=False, durability="fast", learn=False)


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(default=ChatReply("Ana runs more every week.")) as served:
        yield served


@pytest.fixture
def chat(endpoint: ScriptedEndpoint) -> Iterator[Memory]:
    with (
        OpenAICompatible(endpoint.url, "writer", retries=0) as llm,
        Memory(":memory:", llm=llm, settings=QUIET, clock=ManualClock()) as memory,
    ):
        yield memory.scope(user="ana", room="r1")


def talk(chat: Memory, count: int = 12) -> list[str]:
    return [chat.messages.add("user", f"In week {number} I ran {number + 3} km.").id for number in range(count)]


def test_the_model_writes_and_the_sources_stay(chat: Memory, endpoint: ScriptedEndpoint):
    ids = talk(chat)
    chat.summaries.update(keep=2)
    [summary] = chat.summaries.list()
    assert summary.text.endswith("Ana runs more every week.")
    assert summary.text.startswith("Summary of 10 messages")
    assert list(summary.sources) == ids[:10]
    assert summary.writer == "writer (summarise@1)"
    assert chat.messages.get(ids[0]).content == "In week 0 I ran 3 km."
    [request] = endpoint.requests
    assert "ana: In week 9 I ran 12 km." in request.prompt
    assert [entry.operation for entry in chat.spending().entries] == ["summarise"]


@pytest.mark.parametrize(
    "answer", [ErrorReply(503), ChatReply(""), ChatReply("cut off", finish="length"), ChatReply("word " * 5_000)]
)
def test_sentences_stand_in_where_the_model_fails(
    chat: Memory, endpoint: ScriptedEndpoint, answer: ChatReply | ErrorReply
):
    endpoint.default = answer
    talk(chat)
    chat.summaries.update(keep=2)
    [summary] = chat.summaries.list()
    assert summary.writer == "extractive"
    assert summary.fallback
    assert "km" in summary.text


def test_a_policy_asks_in_its_job_and_never_inside_a_message(chat: Memory, endpoint: ScriptedEndpoint):
    chat.summaries.policy(SummaryPolicy(threshold=10, keep=2))
    talk(chat, 9)
    receipt = chat.messages.add("user", "In week 9 I ran 12 km.")
    assert endpoint.requests == []
    receipt.wait()
    assert chat.summaries.list()[0].writer == "writer (summarise@1)"


def test_a_limit_that_summarises_inside_a_message_asks_no_model(chat: Memory, endpoint: ScriptedEndpoint):
    chat.messages.limit(max_messages=4, evict="summarise")
    talk(chat, 8)
    assert endpoint.requests == []


def test_a_writer_of_ones_own_comes_first(chat: Memory, endpoint: ScriptedEndpoint):
    class Writer:
        def summarise(self, text: str, *, max_tokens: int) -> str:
            return f"My own words, instead of {len(text)} characters, in {max_tokens} tokens."

    chat.summaries.use(Writer())
    talk(chat)
    chat.summaries.update(keep=2)
    assert chat.summaries.list()[0].writer == "Writer"
    assert endpoint.requests == []
