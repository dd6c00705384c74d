"""Check what a provider returned: use a copy of it, or leave it out with a reason."""

from collections.abc import Mapping
from typing import Any, Final, cast

from rememo.context.providers import Provider, ProviderResponse
from rememo.context.state import LeftOut
from rememo.errors import InvalidInput
from rememo.model.check import check_json, check_object, check_text
from rememo.settings import Settings

_PARTS: Final = frozenset({"text", "values", "data", "recalled"})
_MAX_QUOTED: Final = 500
_NO_LIMIT: Final = 2**62


def check_response(provider: Provider, answer: object, settings: Settings) -> ProviderResponse | LeftOut:
    """Return what a provider said as a copy, or why it cannot be used."""
    if answer is None:
        return ProviderResponse()
    if isinstance(answer, str):
        answer = ProviderResponse(text=answer)
    elif isinstance(answer, Mapping):
        parts = cast("Mapping[object, Any]", answer)
        if unknown := [name for name in parts if name not in _PARTS]:
            reason = f"it returned a mapping with {unknown[0]!r}; a mapping may have text, values, data and recalled"
            return LeftOut(provider.name, "wrong type", shorten(reason))
        answer = ProviderResponse(**cast("Mapping[str, Any]", parts))
    if not isinstance(answer, ProviderResponse):
        reason = f"it returned {type(answer).__name__}; return text, ProviderResponse(…), a mapping with text, values and data, or None"
        return LeftOut(provider.name, "wrong type", shorten(reason))
    most = settings.max_provided_bytes
    # Weighed before it is looked at: walking through very much takes long.
    if _exceeds([answer.text, answer.values, answer.data], most):
        reason = f"it returned more than the {most:,} bytes allowed; return less, or raise max_provided_bytes"
        return LeftOut(provider.name, "too large", reason)
    try:
        return ProviderResponse(
            text=check_text(answer.text, "text", max_bytes=_NO_LIMIT),
            values=check_object(answer.values, "values", max_bytes=_NO_LIMIT, max_depth=settings.max_depth),
            data=check_json(answer.data, "data", max_bytes=_NO_LIMIT, depth=settings.max_depth),
            recalled=bool(answer.recalled),
        )
    except InvalidInput as error:
        return LeftOut(provider.name, "wrong type", shorten(error))


def failed_provider(provider: Provider, error: BaseException) -> LeftOut:
    """Return that a provider raised, with what."""
    return LeftOut(provider.name, "failed", shorten(f"{type(error).__name__}: {error}"))


def shorten(value: object) -> str:
    """Return a text cut to a bounded length: an error may quote all it was given."""
    text = str(value)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]} …"


def _exceeds(value: object, most: int) -> bool:
    """Whether a value holds more than so many bytes, about as JSON would; one that holds itself does."""
    weight, waiting = 0, [value]
    while waiting and weight <= most:
        value = waiting.pop()
        weight += 1
        if isinstance(value, str):
            weight += len(value) if value.isascii() else len(value.encode(errors="surrogatepass"))
        elif isinstance(value, Mapping):
            mapping = cast("Mapping[object, object]", value)
            weight += len(mapping)
            waiting += (*mapping.keys(), *mapping.values()) if weight <= most else ()
        elif isinstance(value, list | tuple):
            items = cast("list[object] | tuple[object, ...]", value)
            weight += len(items)
            waiting += items if weight <= most else ()
    return weight > most
