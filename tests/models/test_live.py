"""The whole way with a real model. What such a small one answers is not judged, only that the pipeline holds."""

import pytest
from pydantic import BaseModel

from rememo import Memory, Settings
from rememo.llm.openai import OpenAICompatible
from rememo.llm.protocol import LLM, ChatMessage, Streaming
from rememo.llm.structured import ask_structured

pytestmark = pytest.mark.models
TEXT = "I live in Lisbon. Ana mentors me, and Kimi snores at night."


class Short(LLM):
    """What `conftest.py` lends."""

    llm: OpenAICompatible


class Place(BaseModel):
    city: str
    sure: bool


def test_an_answer_streams(live: Short):
    pieces = live.llm.stream([ChatMessage("user", "Say hello to Ana in five words.")])
    answer_pieces = list(pieces)
    assert len(answer_pieces) > 1
    assert "".join(answer_pieces).strip()
    assert isinstance(pieces, Streaming)
    assert pieces.usage is not None
    assert pieces.usage.completion >= len(answer_pieces) - 1


def test_an_answer_is_held_to_a_shape(live: Short):
    messages = [ChatMessage("user", "Where does Ana live? She says: I live in Lisbon.")]
    place = ask_structured(live, messages, Place)
    assert isinstance(place.value, Place)
    assert place.usage.prompt > 0
    assert place.usage.completion > 0


def test_messages_are_learned_from_and_booked(live: Short):
    with Memory(":memory:", llm=live, settings=Settings(durability="fast")) as memory:
        chat = memory.scope(user="eva", room="one")
        receipt = chat.messages.add("user", TEXT)
        assert receipt.wait(400).status == "done"
        assert [fact.object for fact in chat.facts.list(predicate="lives_in")] == ["Lisbon"], "rules found that already"
        for fact in chat.facts.list(limit=100):
            assert all(source.id == receipt.id for source in fact.sources)
            assert (fact.wording or "") in TEXT, "whatever the model told, it was said"
        [entry] = memory.spending().entries
        assert entry.operation == "extract"
        assert entry.prompt > 300
        assert entry.completion > 0


def test_a_room_is_summarised(live: Short):
    with Memory(":memory:", llm=live, settings=Settings(durability="fast", learn=False)) as memory:
        chat = memory.scope(user="eva", room="one")
        ids = [chat.messages.add("user", f"In week {number} I ran {number + 3} km.").id for number in range(5)]
        chat.summaries.update(keep=1)
        [summary] = chat.summaries.list()
        assert list(summary.sources) == ids[:4]
        assert summary.text.startswith("Summary of 4 messages")
        assert summary.writer.startswith(live.name) or summary.fallback, "a model's own, or why it is not"
        [entry] = memory.spending().entries
        assert entry.operation == "summarise"
        assert entry.completion > 0


def test_a_question_is_answered_from_memory(live: Short):
    with Memory(":memory:", llm=live, settings=Settings(durability="fast", learn=False)) as memory:
        chat = memory.scope(user="eva", room="one")
        id = chat.messages.add("user", TEXT).id
        answer = chat.ask("Where do I live?", max_tokens=200)
        assert answer.text
        assert set(answer.citations) <= {id}
        assert answer.writer == live.name or answer.fallback, "a model's own, or why it is not"
        [entry] = memory.spending().entries
        assert entry.operation == "ask"
        assert entry.completion > 0
