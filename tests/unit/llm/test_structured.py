"""Answers with a shape: mended, asked for again, or given up."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rememo.errors import ModelFailed
from rememo.llm.openai import OpenAICompatible
from rememo.llm.protocol import ChatMessage, Usage
from rememo.llm.structured import ask_structured, parse_answer
from rememo.testing.endpoint import ChatReply, ErrorReply, ScriptedEndpoint


class Person(BaseModel):
    name: str
    age: int = 0


ASK = [ChatMessage("user", "who?")]


@pytest.mark.parametrize(
    ("text", "mended"),
    [
        ('{"name": "Ana", "age": 3}', False),
        ('```json\n{"name": "Ana", "age": 3}\n```', True),
        ('Sure! Here it is: {"name": "Ana", "age": 3} Hope that helps.', True),
        ("{'name': 'Ana', 'age': 3,}", True),
        ('{"name": "Ana", "age": 3', True),
        ('<think>{"name": "no"}</think>{"name": "Ana", "age": "3"}', False),
        ('{"x": 1} {"name": "Ana", "age": 3}', True),
    ],
)
def test_near_json_is_mended(text: str, mended: bool):
    assert parse_answer(text, Person) == (Person(name="Ana", age=3), mended)


@pytest.mark.parametrize(
    "text", ["", "I am sorry, I cannot.", "[]", "{}", '{"name": 3}', "null", "<think>", "[" * 5000]
)
def test_what_does_not_fit_says_why(text: str):
    with pytest.raises(ModelFailed) as caught:
        parse_answer(text, Person)
    assert caught.value.reason == "malformed"


@given(st.text(max_size=300))
def test_no_text_breaks_the_reader(text: str):
    with suppress(ModelFailed):
        parse_answer(text, Person)


def test_an_answer_that_does_not_fit_is_asked_for_again_with_what_is_wrong(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible
):
    endpoint.script(
        ChatReply({"age": 3}, usage=(10, 2)), ChatReply("", usage=(10, 0)), ChatReply({"name": "Ana"}, usage=(20, 4))
    )
    found = ask_structured(llm, ASK, Person)
    assert (found.value.name, found.attempts, found.usage) == ("Ana", 3, Usage(40, 6))
    second = endpoint.requests_to()[1].prompt
    assert "name: Field required" in second
    assert '{"age": 3}' in second


def test_tries_are_bounded_and_all_are_counted(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(*[ChatReply("no", usage=(10, 1))] * 9)
    with pytest.raises(ModelFailed, match=r"no JSON.*asked 3 times") as caught:
        ask_structured(llm, ASK, Person)
    assert len(endpoint.requests_to()) == 3
    assert (caught.value.reason, caught.value.tokens) == ("malformed", (30, 3))


@pytest.mark.parametrize("answer", [ChatReply(None, refusal="I will not"), ErrorReply(401)])
def test_a_refusal_is_not_argued_with(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible, answer: ChatReply | ErrorReply
):
    endpoint.script(answer)
    with pytest.raises(ModelFailed):
        ask_structured(llm, ASK, Person)
    assert len(endpoint.requests_to()) == 1


def test_a_cut_answer_is_marked(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply('{"name": "An', finish="length"))
    found = ask_structured(llm, ASK, Person)
    assert found.truncated
    assert found.mended


class Family(BaseModel):
    people: list[Person]


def test_of_a_cut_answer_whole_items_are_kept():
    cut = '{"people": [{"name": "Ana", "age": 3}, {"na'
    assert parse_answer(cut, Family, truncated=True) == (Family(people=[Person(name="Ana", age=3)]), True)
    with pytest.raises(ModelFailed):
        parse_answer(cut, Family)
    with pytest.raises(ModelFailed):
        parse_answer('{"peo', Family, truncated=True)
