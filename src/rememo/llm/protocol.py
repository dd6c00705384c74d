"""The protocol of language models."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, Self, runtime_checkable

Role = Literal["system", "user", "assistant"]


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were charged for."""

    prompt: int = 0
    completion: int = 0

    @property
    def total(self) -> int:
        """Both together."""
        return self.prompt + self.completion

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(self.prompt + other.prompt, self.completion + other.completion)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """A model's answer."""

    text: str
    usage: Usage
    """As the endpoint tells it; nothing where it tells none."""
    model: str
    """The model that answered, as the endpoint names it."""
    truncated: bool = False
    """Whether it was cut off at `max_tokens`."""
    tries: int = 1
    """How many requests it took."""


class LLM(Protocol):
    """Answers messages. Safe to call from threads; a call never holds anything of the store."""

    @property
    def name(self) -> str:
        """The model, as it is named beside what it made."""
        ...

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        """Return the answer, which is never blank; raises `ModelFailed` with its reason.

        With `schema`, a JSON schema, the answer should be JSON that fits; a model that cannot be held to it may still
        answer something else. `timeout` is for all of it, in seconds.
        """
        ...

    def stream(self, messages: Sequence[ChatMessage]) -> Iterator[str]:
        """Give the answer in the pieces it comes in; letting go of the iterator ends the call."""
        ...


@runtime_checkable
class Streaming(Protocol):
    """A stream that knows, once it has ended, what was charged for it."""

    usage: Usage | None

    def __iter__(self) -> Self: ...
    def __next__(self) -> str: ...
    def close(self) -> None:
        """End the call."""
        ...
