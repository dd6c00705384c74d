"""Structured answers: JSON that fits a schema, repaired where it nearly does, asked for again where it does not."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import BaseModel, ValidationError

from rememo.endpoint.client import require
from rememo.errors import ModelFailed
from rememo.llm.protocol import LLM, ChatMessage, Completion, Usage

REPAIRS: Final = 2
"""How often a model is asked again after an answer that does not fit."""
_WORTH_ASKING_AGAIN: Final = frozenset({"empty", "malformed"})
_THOUGHTS: Final = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
_MOST_FAULTS: Final = 5
_LONGEST_SHOWN: Final = 2_000

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredAnswer(Generic[Shape]):
    """An answer that fits."""

    value: Shape
    usage: Usage
    """Of all answers that it took."""
    model: str
    attempts: int
    """How many answers it took."""
    mended: bool
    """Whether it was not JSON as it stood."""
    truncated: bool
    """Whether it was cut off: what stands last in it may be half of what was meant."""


def ask_structured(
    llm: LLM,
    messages: Sequence[ChatMessage],
    shape: type[Shape],
    *,
    repairs: int = REPAIRS,
    max_tokens: int | None = None,
    timeout: float | None = None,
) -> StructuredAnswer[Shape]:
    """Ask for an answer of a shape and return it.

    One that is nearly JSON is mended; one that does not fit is shown to the model with what is wrong with it, at most
    `repairs` times. Then, or when the model refuses or cannot be asked, it raises `ModelFailed`.
    """
    require("json_repair")
    schema = schema_of(shape)
    spent, turns = Usage(), list(messages)
    for attempt in range(1, repairs + 2):
        answer: Completion | None = None
        try:
            answer = llm.complete(turns, schema=schema, max_tokens=max_tokens, timeout=timeout)
            spent += answer.usage
            value, mended = parse_answer(answer.text, shape, truncated=answer.truncated)
        except ModelFailed as error:
            if answer is None:
                spent += Usage(*error.tokens)
            if error.reason not in _WORTH_ASKING_AGAIN or attempt > repairs:
                raise ModelFailed(
                    f"{error} (asked {attempt} times)" if attempt > 1 else str(error),
                    reason=error.reason,
                    retry_after=error.retry_after,
                    tokens=(spent.prompt, spent.completion),
                ) from error
            turns = [*messages, *_retry_messages(answer, error)]
            continue
        return StructuredAnswer(
            value=value, usage=spent, model=answer.model, attempts=attempt, mended=mended, truncated=answer.truncated
        )
    raise AssertionError("the last answer is returned or raises")


def schema_of(shape: type[BaseModel]) -> dict[str, Any]:
    """Return the JSON schema of a shape, in the strict form: every field is named, and nothing else may be."""
    return cast("dict[str, Any]", _strict(shape.model_json_schema()))


def _strict(part: object) -> object:
    if isinstance(part, list):
        return [_strict(item) for item in cast("list[object]", part)]
    if not isinstance(part, dict):
        return part
    properties = {name: _strict(item) for name, item in cast("dict[str, object]", part).items() if name != "default"}
    if isinstance(properties.get("properties"), dict):
        properties["required"] = list(cast("dict[str, object]", properties["properties"]))
        properties["additionalProperties"] = False
    return properties


def parse_answer(text: str, shape: type[Shape], *, truncated: bool = False) -> tuple[Shape, bool]:
    """Parse a text into a shape; returns the value and whether it had to be repaired; raises `ModelFailed` when it does not fit.

    Of one that was `truncated`, items of its lists that are not whole are left out.
    """
    bare = _THOUGHTS.sub("", text).strip()
    fault: ValidationError | None = None
    for value, mended in _candidates(bare):
        try:
            return shape.model_validate(value), mended
        except ValidationError as error:
            fault = fault or error
            if truncated and (complete_items := _without(value, error)) is not None:
                with suppress(ValidationError):
                    return shape.model_validate(complete_items), True
    if fault is None:
        raise ModelFailed(f"the answer holds no JSON: {bare[:80]!r}", reason="malformed")
    raise ModelFailed(f"the answer does not fit its schema: {_describe_faults(fault)}", reason="malformed")


def _candidates(text: str) -> Iterator[tuple[object, bool]]:
    """Yield what a text can be parsed to: itself, then its repaired form, or one of several values in it."""
    with suppress(ValueError, RecursionError):
        yield json.loads(text), False
    try:
        mended: object = require("json_repair").loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return
    if isinstance(mended, dict | list) and mended:
        yield cast("object", mended), True
    if isinstance(mended, list):
        # A model that says something before and after its answer leaves several values; the last is meant.
        yield from ((item, True) for item in reversed(cast("list[object]", mended)) if isinstance(item, dict))


def _without(value: object, fault: ValidationError) -> dict[str, Any] | None:
    """Return an object without the items of its lists that are at fault; None when the fault lies elsewhere."""
    if not isinstance(value, dict):
        return None
    wrong: dict[str, set[int]] = {}
    for error in fault.errors():
        match error["loc"]:
            case (str(name), int(place), *_):
                wrong.setdefault(name, set()).add(place)
            case _:
                return None
    remaining = dict(cast("dict[str, Any]", value))
    for name, places in wrong.items():
        remaining[name] = [item for place, item in enumerate(remaining[name]) if place not in places]
    return remaining


def _describe_faults(fault: ValidationError) -> str:
    faults = [
        f"{'.'.join(map(str, error['loc'])) or 'the whole'}: {error['msg']}" for error in fault.errors()[:_MOST_FAULTS]
    ]
    return "; ".join(faults)


def _retry_messages(answer: Completion | None, error: ModelFailed) -> list[ChatMessage]:
    previous = [] if answer is None else [ChatMessage("assistant", answer.text[:_LONGEST_SHOWN])]
    correction = f"That answer cannot be used: {error}. Answer again with nothing but JSON that fits the schema."
    return [*previous, ChatMessage("user", correction)]
