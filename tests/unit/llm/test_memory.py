"""A memory with a model: where it comes from, and what ends its calls."""

import json
import threading
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.gateway import model_for
from rememo.llm.openai import OpenAICompatible
from rememo.llm.protocol import LLM, ChatMessage
from rememo.testing.endpoint import ChatReply, HeldReply, ScriptedEndpoint

HELLO = [ChatMessage("user", "hello")]


def model_of(memory: Memory) -> LLM:
    found = model_for(view_of(memory).engine, "default", "test")
    assert found is not None
    return found


def test_without_a_model_there_is_none():
    with Memory(":memory:", embedder=None) as memory:
        assert model_for(view_of(memory).engine, "default", "test") is None


def test_the_model_that_is_given_is_asked_and_stays_its_owners(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    with Memory(":memory:", embedder=None, llm=llm) as memory:
        assert model_of(memory).complete(HELLO).text == "ok"
        assert "".join(model_of(memory).stream(HELLO)) == "ok"
        assert model_of(memory).name == "scripted"
    assert llm.complete(HELLO).text == "ok"


@pytest.mark.requirement("settings.env")
def test_the_model_of_the_settings_is_asked(endpoint: ScriptedEndpoint, tmp_path: Path):
    file = tmp_path / "rememo.toml"
    file.write_text(f'[llm]\nurl = "{endpoint.url}"\nmodel = "mine"\n[spend]\ndaily_tokens = 7\nprompt_price = 2\n')
    settings = Settings.load(file=file, environ={"REMEMO_LLM_KEY": "secret-key", "REMEMO_LLM_TIMEOUT": "9"})
    assert (settings.spend.daily_tokens, settings.spend.prompt_price, settings.llm_timeout) == (7, 2.0, 9.0)
    settings = settings.but(spend_daily_tokens=None)
    with Memory(tmp_path / "a.db", embedder=None, settings=settings) as memory:
        model_of(memory).complete(HELLO)
        memory.export(tmp_path / "out.jsonl")
    assert endpoint.requests_to()[0].headers["authorization"] == "Bearer secret-key"
    assert endpoint.requests_to()[0].body["model"] == "mine"
    for shown in (repr(settings), (tmp_path / "out.jsonl").read_text()):
        assert "secret-key" not in shown
        assert endpoint.url not in shown
        assert json.dumps(endpoint.url) not in shown


def test_closing_the_memory_ends_a_running_call_and_leaves_the_model(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(HeldReply(ChatReply("late")))
    memory = Memory(":memory:", embedder=None, llm=llm)
    raised: list[str] = []

    def call() -> None:
        try:
            model_of(memory).complete(HELLO)
        except ModelFailed as error:
            raised.append(error.reason)

    thread = threading.Thread(target=call)
    thread.start()
    endpoint.wait_for(1)
    memory.close()
    thread.join(10)
    assert raised == ["stopped"]
    assert llm.complete(HELLO).text == "ok"


@pytest.mark.parametrize(
    "values",
    [
        {"llm_url": "http://localhost/v1"},
        {"llm_timeout": 0},
        {"llm_concurrency": 0},
        {"spend_daily_tokens": -1},
        {"spend_daily_tokens": 1.5},
        {"spend_prompt_price": -1},
    ],
)
def test_settings_that_cannot_be_meant_are_named(values: dict[str, object]):
    with pytest.raises(InvalidInput, match=next(iter(values))):
        Settings(**values)  # pyright: ignore[reportArgumentType] - that is the test


def test_an_address_that_is_none_is_refused_at_opening():
    with pytest.raises(InvalidInput, match="http://"):
        Memory(":memory:", settings=Settings(llm_url="localhost:11434", llm_model="m"))
