"""Answers by a model from recalled passages."""

from typing import Final

from pydantic import BaseModel

from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage, Usage
from rememo.llm.structured import ask_structured

_MOST_TOKENS: Final = 800


class ModelAnswer(BaseModel):
    """A model's answer."""

    found: bool
    answer: str = ""
    citations: list[int] = []


def ask_model(llm: LLM, question: str, passages: str) -> tuple[ModelAnswer, Usage]:
    """Return a model's answer and its usage; raises `ModelFailed` and `OverBudget`."""
    turns = [ChatMessage("system", prompt("answer").text), ChatMessage("user", f"{passages}\n\nQuestion: {question}")]
    reply = ask_structured(llm, turns, ModelAnswer, max_tokens=_MOST_TOKENS)
    return reply.value, reply.usage
