"""Summaries by a model: what it is told, and what of its answer is used."""

from typing import Final

from rememo.errors import ModelFailed
from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage

_ROOM: Final = 1.5
"""How many times the tokens that were asked for an answer may have before it is cut off."""


class ModelSummariser:
    """Writes summaries by a language model."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._prompt = prompt("summarise")

    @property
    def name(self) -> str:
        """The model and the prompt, as they stand beside what they made."""
        return f"{self._llm.name} ({self._prompt.label})"

    def summarise(self, text: str, *, max_tokens: int) -> str:
        """Return a summary in about so many tokens; raises `ModelFailed`, also for one that was cut off."""
        instructions = self._prompt.filled(tokens=str(max_tokens))
        answer = self._llm.complete(
            [ChatMessage("system", instructions), ChatMessage("user", text)], max_tokens=int(max_tokens * _ROOM) + 1
        )
        if answer.truncated:
            raise ModelFailed(f"{self._llm.name} wrote more than was asked for, and was cut off", reason="malformed")
        return answer.text
