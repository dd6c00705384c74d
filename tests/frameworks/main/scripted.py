"""Models that say what they are told to, for runs without a network."""

from collections.abc import AsyncIterator
from typing import Any

from agents import Model, ModelResponse, TResponseInputItem, Usage
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputItem,
    ResponseOutputMessage,
    ResponseOutputText,
)


def says(text: str) -> ResponseOutputMessage:
    part = ResponseOutputText(annotations=[], text=text, type="output_text")
    return ResponseOutputMessage(id="msg", type="message", role="assistant", status="completed", content=[part])


def calls(name: str, arguments: str, id: str) -> ResponseFunctionToolCall:
    return ResponseFunctionToolCall(id=f"fc-{id}", call_id=id, type="function_call", name=name, arguments=arguments)


class Scripted(Model):
    """Answers with one list of items after another, and keeps what it was shown."""

    def __init__(self, *turns: list[ResponseOutputItem]) -> None:
        self.turns = list(turns)
        self.seen: list[list[TResponseInputItem]] = []

    def _next(self, items: list[TResponseInputItem]) -> list[ResponseOutputItem]:
        self.seen.append(list(items))
        return self.turns.pop(0)

    async def get_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> ModelResponse:  # noqa: ARG002 - its name is given
        return ModelResponse(output=self._next(input), usage=Usage(), response_id=None)

    async def stream_response(self, system_instructions: Any, input: Any, *_: Any, **__: Any) -> AsyncIterator[Any]:  # noqa: ARG002
        output = self._next(input)
        response = Response(
            id="r", created_at=0, model="scripted", object="response", output=output, tool_choice="none", tools=[],
            parallel_tool_calls=False,
        )  # fmt: skip
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)
