"""Asking an endpoint: what is sent, what is read, and everything that can go wrong on the way."""

import gc
import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from rememo.endpoint.cancellation import CancelToken, cancelled_by
from rememo.endpoint.client import LONGEST_WAIT
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.openai import OpenAICompatible
from rememo.llm.protocol import ChatMessage, Streaming, Usage
from rememo.testing.endpoint import ChatReply, EndlessReply, ErrorReply, HeldReply, RawReply, Reply, ScriptedEndpoint

HELLO = [ChatMessage("system", "be brief"), ChatMessage("user", "hello")]


def test_an_answer_comes_with_what_it_cost(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply("good day", usage=(12, 3)))
    answer = llm.complete(HELLO, max_tokens=20)
    assert (answer.text, answer.usage, answer.model, answer.truncated) == ("good day", Usage(12, 3), "scripted", False)
    assert answer.usage.total == 15
    [request] = endpoint.requests_to()
    assert request.headers["authorization"] == "Bearer secret-key"
    assert request.body["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "hello"},
    ]
    assert request.body["max_tokens"] == 20


def test_a_schema_is_sent_as_the_format_of_the_answer(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    schema = {"title": "Thing", "type": "object", "properties": {"a": {"type": "integer"}}}
    llm.complete(HELLO, schema=schema)
    assert endpoint.requests_to()[0].body["response_format"]["json_schema"]["schema"] == schema


def test_what_an_endpoint_does_not_know_is_left_out_from_then_on(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(
        ErrorReply(400, "Unsupported parameter: 'max_tokens'; use 'max_completion_tokens'"),
        ErrorReply(400, "'response_format' of type json_schema is not supported"),
    )
    schema = {"type": "object"}
    assert llm.complete(HELLO, schema=schema).text == "ok"
    last = endpoint.requests_to()[-1].body
    assert "response_format" not in last
    assert "max_tokens" not in last
    assert last["max_completion_tokens"] == llm.max_tokens
    assert '{"type":"object"}' in endpoint.requests_to()[-1].prompt
    llm.complete(HELLO, schema=schema)
    assert len(endpoint.requests_to()) == 4


@pytest.mark.parametrize("status", [429, 500, 503])
def test_passing_faults_are_tried_again_with_jitter(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible, pauses: list[float], status: int
):
    endpoint.script(ErrorReply(status), ErrorReply(status), ChatReply("at last"))
    answer = llm.complete(HELLO)
    assert (answer.text, answer.tries) == ("at last", 3)
    assert len(pauses) == 2
    assert all(0 <= pause <= 2 for pause in pauses)


def test_retry_after_is_obeyed(endpoint: ScriptedEndpoint, llm: OpenAICompatible, pauses: list[float]):
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    endpoint.script(ErrorReply(429, retry_after=7), ErrorReply(429, retry_after=moment), ChatReply("at last"))
    llm.complete(HELLO)
    assert 7 <= pauses[0] < 8
    assert 15 < pauses[1] < 21


@pytest.mark.parametrize("wait", [LONGEST_WAIT + 1, 86_400])
def test_a_wait_beyond_the_bound_ends_the_call_and_says_when_to_come_back(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible, pauses: list[float], wait: float
):
    endpoint.script(ErrorReply(429, "slow down", retry_after=int(wait)))
    with pytest.raises(ModelFailed, match="429 and asks to come back") as caught:
        llm.complete(HELLO)
    assert (caught.value.reason, caught.value.retry_after) == ("busy", int(wait))
    assert not pauses


def test_tries_are_bounded(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(*[ErrorReply(503, "overloaded")] * 9)
    with pytest.raises(ModelFailed, match=r"503: .*overloaded"):
        llm.complete(HELLO)
    assert len(endpoint.requests_to()) == 3


def test_an_error_that_stays_is_not_tried_again(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ErrorReply(401, "no such key"))
    with pytest.raises(ModelFailed, match=r"401: .*no such key") as caught:
        llm.complete(HELLO)
    assert caught.value.reason == "rejected"
    assert len(endpoint.requests_to()) == 1


def test_an_endpoint_that_is_down_is_named_without_its_password(endpoint: ScriptedEndpoint, pauses: list[float]):
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    endpoint.down()
    address = endpoint.url.replace("http://", "http://name:password@")
    with (
        OpenAICompatible(address, "scripted", retries=1, sleep=sleep) as model,
        pytest.raises(ModelFailed, match=r"127\.0\.0\.1.*cannot be reached") as caught,
    ):
        model.complete(HELLO)
    assert caught.value.reason == "unreachable"
    assert "password" not in str(caught.value)
    assert len(pauses) == 1
    endpoint.up()
    with OpenAICompatible(endpoint.url, "scripted") as model:
        assert model.complete(HELLO).text == "ok"


@pytest.mark.parametrize("answer", [HeldReply(ChatReply("late")), EndlessReply()], ids=["silent", "a byte at a time"])
def test_the_deadline_is_for_all_of_a_call(endpoint: ScriptedEndpoint, llm: OpenAICompatible, answer: Reply):
    endpoint.script(answer)
    with pytest.raises(ModelFailed, match=r"did not answer within 0\.2 seconds") as caught:
        llm.complete(HELLO, timeout=0.2)
    assert caught.value.reason == "slow"
    assert len(endpoint.requests_to()) == 1, "what may have been paid for is not sent twice"
    endpoint.release()


@pytest.mark.parametrize(
    ("answer", "reason", "told"),
    [
        (RawReply(b'{"choices": [{"mess'), "malformed", "JSON"),
        (RawReply(b"[1]"), "malformed", "object"),
        (RawReply(b"{}"), "malformed", "choice"),
        (RawReply(b'{"choices": [3]}'), "malformed", "choice"),
        (RawReply(b'{"choi', promised=500), "broken", "broke off"),
        (ChatReply(None), "empty", "answered nothing"),
        (ChatReply(" \n"), "empty", "answered nothing"),
        (ChatReply(None, refusal="I will not"), "refused", "I will not"),
        (ChatReply("half", finish="content_filter"), "refused", "content filter"),
    ],
)
def test_an_answer_that_is_none_says_what_is_wrong(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible, answer: Reply, reason: str, told: str
):
    endpoint.script(answer)
    with pytest.raises(ModelFailed, match=told) as caught:
        llm.complete(HELLO)
    assert caught.value.reason == reason


def test_tokens_of_an_answer_that_cannot_be_used_are_told(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply(None, refusal="no", usage=(40, 2)))
    with pytest.raises(ModelFailed) as caught:
        llm.complete(HELLO)
    assert caught.value.tokens == (40, 2)


def test_a_cut_answer_says_so(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply("half of", finish="length"))
    assert llm.complete(HELLO).truncated


def test_an_endpoint_that_counts_no_tokens_tells_none(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply("fine", usage=(-1, -1)))
    assert llm.complete(HELLO).usage == Usage()


def test_no_more_calls_at_once_than_allowed(endpoint: ScriptedEndpoint):
    endpoint.script(*[HeldReply(ChatReply("done"))] * 6)
    with OpenAICompatible(endpoint.url, "scripted", concurrency=2) as model:
        found: list[str] = []
        threads = [threading.Thread(target=lambda: found.append(model.complete(HELLO).text)) for _ in range(6)]
        for thread in threads:
            thread.start()
        endpoint.wait_for(2)
        endpoint.release()
        for thread in threads:
            thread.join()
    assert found == ["done"] * 6
    assert endpoint.most_at_once == 2


def held_call(endpoint: ScriptedEndpoint, call: Callable[[], Any]) -> tuple[threading.Thread, list[ModelFailed]]:
    """Begin a call that waits for its answer, and return the thread and what it raises."""
    raised: list[ModelFailed] = []

    def run() -> None:
        try:
            call()
        except ModelFailed as error:
            raised.append(error)

    endpoint.script(HeldReply(ChatReply("late")))
    thread = threading.Thread(target=run)
    thread.start()
    endpoint.wait_for(1)
    return thread, raised


def test_a_call_ends_when_it_is_stopped(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    stop = CancelToken()

    def call() -> None:
        with cancelled_by(stop):
            llm.complete(HELLO)

    thread, raised = held_call(endpoint, call)
    stop.cancel()
    thread.join(10)
    assert [error.reason for error in raised] == ["stopped"]
    with cancelled_by(stop), pytest.raises(ModelFailed, match="ended before its answer"):
        llm.complete(HELLO)
    assert llm.complete(HELLO).text == "ok", "others go on"


def test_closing_the_model_ends_its_calls(endpoint: ScriptedEndpoint):
    model = OpenAICompatible(endpoint.url, "scripted")
    thread, raised = held_call(endpoint, lambda: model.complete(HELLO))
    model.close()
    thread.join(10)
    assert [error.reason for error in raised] == ["stopped"]
    model.close()
    with pytest.raises(ModelFailed, match="was closed"):
        model.complete(HELLO)


def test_a_model_that_is_let_go_leaves_no_thread(endpoint: ScriptedEndpoint):
    model = OpenAICompatible(endpoint.url, "scripted")
    model.complete(HELLO)
    before = {thread for thread in threading.enumerate() if thread.name == "rememo-endpoint"}
    assert before
    del model
    gc.collect()
    for thread in before:
        thread.join(10)
    assert not [thread for thread in before if thread.is_alive()]


def test_letting_a_model_go_waits_for_nobody(endpoint: ScriptedEndpoint):
    """The collector may come while a lock is held that the model's thread needs for closing, as those of imports are."""
    importing = threading.Lock()
    closed = threading.Event()

    model = OpenAICompatible(endpoint.url, "scripted")
    model.complete(HELLO)
    line = model._endpoint._open()  # pyright: ignore[reportPrivateUsage] - no other way to hold its thread up
    truly_close = line.client.aclose

    async def close() -> None:
        with importing:
            await truly_close()
        closed.set()

    line.client.aclose = close

    def let_go() -> None:
        nonlocal model
        with importing:
            del model
            gc.collect()

    thread = threading.Thread(target=let_go, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert closed.wait(10)


def test_an_answer_comes_in_pieces(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply("one two three", usage=(5, 3)))
    pieces = llm.stream(HELLO)
    assert list(pieces) == ["one ", "two ", "three"]
    assert isinstance(pieces, Streaming)
    assert pieces.usage == Usage(5, 3)


def test_a_stream_that_fails_raises(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    event = b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n'
    endpoint.script(
        RawReply(event + b"data: {brok\n\n", type="text/event-stream"),
        RawReply(event, promised=900, type="text/event-stream"),
        ChatReply(""),
        ErrorReply(401, "no"),
    )
    for reason in ("malformed", "broken", "empty", "rejected"):
        with pytest.raises(ModelFailed) as caught:
            list(llm.stream(HELLO))
        assert caught.value.reason == reason
    endpoint.script(ErrorReply(503), ChatReply("again"))
    assert list(llm.stream(HELLO)) == ["again"]


def test_letting_go_of_a_stream_ends_the_call(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    event = b'data: {"choices": [{"delta": {"content": "one"}}]}\n\n'
    endpoint.script(RawReply(event * 3, type="text/event-stream"))
    pieces = llm.stream(HELLO)
    assert next(pieces) == "one"
    pieces.close()
    endpoint.wait_until_idle()
    assert llm.complete(HELLO).text == "ok"


def test_the_key_is_never_shown(endpoint: ScriptedEndpoint, llm: OpenAICompatible, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.DEBUG)
    endpoint.script(ErrorReply(401, "no such key"))
    with pytest.raises(ModelFailed) as caught:
        llm.complete(HELLO)
    assert "secret-key" not in f"{llm!r}{caught.value}{caplog.text}"


@pytest.mark.parametrize(
    ("url", "model", "options"),
    [
        ("localhost:80", "m", {}),
        ("ftp://host", "m", {}),
        ("", "m", {}),
        ("http://host/v1", "", {}),
        ("http://host/v1", "m", {"timeout": 0}),
        ("http://host/v1", "m", {"retries": -1}),
        ("http://host/v1", "m", {"concurrency": 0}),
        ("http://host/v1", "m", {"max_tokens": 0}),
    ],
)
def test_what_cannot_be_meant_is_refused(url: str, model: str, options: dict[str, Any]):
    with pytest.raises(InvalidInput):
        OpenAICompatible(url, model, **options)
