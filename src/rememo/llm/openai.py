"""Any endpoint that speaks OpenAI's ``/chat/completions``: OpenAI itself, vLLM, Ollama, llama.cpp, LM Studio and others."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, Self, cast

from rememo.endpoint.client import Endpoint, EndpointResponse
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.protocol import ChatMessage, Completion, Usage
from rememo.model.check import dump_json
from rememo.runtime.closing import Closing

_PATH: Final = "/chat/completions"
_REJECTED: Final = "rejected"
_LEFT_OUT: Final = ("response_format", "temperature", "max_tokens", "stream_options")
"""Parameters that some endpoints do not support; they name them in an error, and are then called without them."""


class OpenAICompatible(Closing):
    """A model behind an HTTP endpoint. Safe for threads; close it, or use it in ``with``."""

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 2,
        concurrency: int = 4,
        temperature: float | None = 0.0,
        max_tokens: int = 2_048,
        headers: Mapping[str, str] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        """Ask `model` at `base_url`, which ends in ``/v1`` as a rule.

        `timeout` is for a whole call in seconds, with its `retries`; `concurrency` limits the calls at once; an answer has
        at most `max_tokens` unless a call says otherwise. Raises `MissingExtra` without httpx.
        """
        if not isinstance(model, str) or not model.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise InvalidInput("an endpoint must be told which model to use: give its name")
        if max_tokens < 1:
            raise InvalidInput(f"max_tokens must be 1 or more, not {max_tokens!r}")
        self._endpoint = Endpoint(
            base_url, api_key=api_key, timeout=timeout, retries=retries, concurrency=concurrency, headers=headers,
            sleep=sleep,
        )  # fmt: skip
        self._model = model
        self._max_tokens = max_tokens
        self._temperature = temperature
        self._without: set[str] = set()

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._endpoint.address!r}, {self._model!r})"

    @property
    def name(self) -> str:
        """The model, as it is named beside what it made."""
        return self._model

    @property
    def max_tokens(self) -> int:
        """The longest answer, unless a call says otherwise."""
        return self._max_tokens

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return the answer, which is never blank; raises `ModelFailed` with its reason."""
        answer = self._ask(lambda: self._body(messages, schema, max_tokens), timeout)
        return self._read(answer)

    def stream(self, messages: Sequence[ChatMessage]) -> "TextStream":
        """Give the answer in the pieces it comes in; letting go of the iterator ends the call."""
        return TextStream(lambda: self._streamed(messages))

    def close(self) -> None:
        """End what is being asked, and close the connections."""
        self._endpoint.close()

    # ---- inside

    def _body(
        self, messages: Sequence[ChatMessage], schema: Mapping[str, Any] | None, max_tokens: int | None
    ) -> dict[str, Any]:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        body: dict[str, Any] = {"model": self._model, "messages": turns}
        if self._temperature is not None and "temperature" not in self._without:
            body["temperature"] = self._temperature
        limit = "max_completion_tokens" if "max_tokens" in self._without else "max_tokens"
        body[limit] = self._max_tokens if max_tokens is None else max_tokens
        if schema is None:
            return body
        if "response_format" in self._without:
            instruction = (
                f"Answer with nothing but one JSON value that fits this JSON schema:\n{dump_json(dict(schema))}"
            )
            turns.append({"role": "system", "content": instruction})
        else:
            named = {"name": str(schema.get("title", "answer")), "schema": schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def _ask(self, make: Callable[[], Mapping[str, Any]], timeout: float | None) -> EndpointResponse:
        """Post the request, again without the parameters that the endpoint says it does not support."""
        for _ in _LEFT_OUT:
            try:
                return self._endpoint.post(_PATH, make(), timeout=timeout)
            except ModelFailed as error:
                self._leave_out(error, make())
        return self._endpoint.post(_PATH, make(), timeout=timeout)

    def _leave_out(self, error: ModelFailed, body: Mapping[str, Any]) -> None:
        """Remember a parameter that the endpoint does not support; raises the error when it is about something else."""
        message = str(error)
        for name in _LEFT_OUT:
            is_named = name in message or (
                name == "response_format" and ("json_schema" in message or "grammar" in message)
            )
            if error.reason == _REJECTED and name in body and is_named:
                self._without.add(name)
                return
        raise error

    def _read(self, answer: EndpointResponse) -> Completion:
        body = answer.body
        usage = _usage(body.get("usage")) or Usage()
        try:
            choice: dict[str, Any] = body["choices"][0]
            message: dict[str, Any] = choice["message"]
            text, refusal, finish = message.get("content"), message.get("refusal"), choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError) as error:
            raise self._failed(f"did not answer with a choice: {error!r}", "malformed", usage) from error
        if refusal or finish == "content_filter":
            raise self._failed(f"refused: {refusal or 'its content filter held the answer back'}", "refused", usage)
        if not isinstance(text, str) or not text.strip():
            raise self._failed("answered nothing", "empty", usage)
        model = body.get("model")
        return Completion(
            text=text,
            usage=usage,
            model=model if isinstance(model, str) and model else self._model,
            truncated=finish == "length",
            tries=answer.tries,
        )

    def _failed(self, problem: str, reason: str, usage: Usage | None = None) -> ModelFailed:
        spent = usage or Usage()
        problem = f"{self._model} at {self._endpoint.address} {problem}"
        return ModelFailed(problem, reason=reason, tokens=(spent.prompt, spent.completion))

    def _streamed(self, messages: Sequence[ChatMessage]) -> Generator[str, None, Usage | None]:
        usage: Usage | None = None
        answered = False
        for event in self._events(messages):
            usage = _usage(event.get("usage")) or usage
            try:
                choices = cast("list[dict[str, Any]]", event.get("choices") or [])
                piece = choices[0]["delta"].get("content") if choices else None
            except (KeyError, IndexError, TypeError, AttributeError) as error:
                raise self._failed(f"sent an event without a choice: {error!r}", "malformed", usage) from error
            if isinstance(piece, str) and piece:
                answered = answered or bool(piece.strip())
                yield piece
        if not answered:
            raise self._failed("answered nothing", "empty", usage)
        return usage

    def _events(self, messages: Sequence[ChatMessage]) -> Iterator[Mapping[str, Any]]:
        for _ in _LEFT_OUT:
            body = {**self._body(messages, None, None), "stream": True}
            if "stream_options" not in self._without:
                body["stream_options"] = {"include_usage": True}
            try:
                yield from self._endpoint.stream(_PATH, body)
            except ModelFailed as error:
                self._leave_out(error, body)
            else:
                return


class TextStream:
    """An answer as it comes; `usage` is what was charged for it, once it has ended and where the endpoint says so."""

    def __init__(self, begin: Callable[[], Generator[str, None, Usage | None]]) -> None:
        self.usage: Usage | None = None
        self._pieces = begin()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        try:
            return next(self._pieces)
        except StopIteration as end:
            self.usage = end.value or self.usage
            raise StopIteration from None

    def close(self) -> None:
        """End the call."""
        self._pieces.close()


def _usage(values_given: object) -> Usage | None:
    if not isinstance(values_given, dict):
        return None
    values = cast("dict[str, Any]", values_given)
    tokens = [values.get(name) for name in ("prompt_tokens", "completion_tokens")]
    counts = [count if isinstance(count, int) and count > 0 else 0 for count in tokens]
    return Usage(*counts)
