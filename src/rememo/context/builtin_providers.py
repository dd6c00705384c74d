"""The built-in providers: time, profile, relationships, facts, plans, documents, passages and messages."""

from collections.abc import Sequence
from typing import Any, Final

from rememo.context import gather
from rememo.context.dates import day_and_time
from rememo.context.gather import recall_view
from rememo.context.item import ContextItem
from rememo.context.providers import Provider, ProviderFunction, ProviderRequest, ProviderResponse
from rememo.context.rendering import HEADINGS, PackedItem, format_item, format_lines
from rememo.engine.view import View
from rememo.recall.relevance import FLOOR
from rememo.text.fence import fenced

RECENT: Final = 20
FACTS: Final = 20
RELATIONSHIPS: Final = 10
PLANS: Final = 20
PASSAGES: Final = 8
_DOCUMENTS: Final = ("chunk",)
_SPOKEN_KINDS: Final = tuple(kind for kind in gather.PASSAGES if kind not in _DOCUMENTS)
_LONGEST: Final = 4_000


def time(request: ProviderRequest[View]) -> ProviderResponse:
    """Return the time at which the state was composed."""
    time_text = day_and_time(request.at)
    return ProviderResponse(text=f"It is {time_text}.", values={"time": time_text, "now": request.at.isoformat()})


def profile(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return what is known of the user under the user's own label."""
    item = gather.profile(request.memory.narrow(request.scope.narrow(user=request.user)))
    return recalled_response(request, "profile", HEADINGS["profile"], [] if item is None else [item])


def relationships(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return the relationships of the user and of whom the message names."""
    items = gather.relationships(_recall_view(request), request.text, limit=RELATIONSHIPS)
    return recalled_response(request, "relationships", "Who has to do with whom:", items)


def facts(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return the current facts about the user, and about whom and what the message names."""
    items = gather.facts(_recall_view(request), request.text, at=request.at, limit=FACTS)
    return recalled_response(request, "facts", HEADINGS["facts"], items)


def plans(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return the open goals and tasks, with when they are due."""
    return recalled_response(request, "plans", HEADINGS["plans"], gather.plans(_recall_view(request), limit=PLANS))


def documents(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return the passages of documents that answer the message, best first."""
    items = gather.passages(
        _recall_view(request), request.text, limit=PASSAGES, at=request.at, kinds=_DOCUMENTS, threshold=FLOOR
    )
    return recalled_response(request, "documents", "From documents:", items)


def passages(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return what was said or noted earlier that answers the message, in its order; `messages` returns the latest turns."""
    recent_ids = {item.id for item in gather.recent(request.memory, RECENT)}
    if request.record is not None:
        recent_ids.add(request.record.id)
    items = gather.passages(
        _recall_view(request),
        request.text,
        limit=PASSAGES,
        at=request.at,
        kinds=_SPOKEN_KINDS,
        threshold=FLOOR,
        leave_out=recent_ids,
    )
    return recalled_response(
        request, "passages", HEADINGS["passages"], sorted(items, key=lambda item: item.at or request.at)
    )


def messages(request: ProviderRequest[View]) -> ProviderResponse | None:
    """Return the latest turns of the conversation."""
    return recalled_response(
        request, "messages", HEADINGS["recent"], gather.recent(request.memory, RECENT), part="recent"
    )


def builtin_provider(name: str, function: ProviderFunction, position: int, **how: Any) -> Provider:
    """Return a provider that comes with Rememo."""
    return Provider(name=name, function=function, position=position, **how)


BUILT_IN: Final = (
    builtin_provider("time", time, 10),
    builtin_provider("profile", profile, 20, past=False, reads=gather.profile_keys),
    builtin_provider("relationships", relationships, 30),
    builtin_provider("facts", facts, 40),
    builtin_provider("plans", plans, 50),
    builtin_provider("documents", documents, 70),
    builtin_provider("passages", passages, 80),
    builtin_provider("messages", messages, 90),
)


def recalled_response(
    request: ProviderRequest[View], name: str, heading: str, items: Sequence[ContextItem], *, part: str | None = None
) -> ProviderResponse | None:
    """Return items below a heading as recalled text; as a value it has its fence already, for it may stand anywhere."""
    if not items:
        return None
    view, titles = _recall_view(request), dict[str, str]()
    packed: list[PackedItem] = []
    for item in items:
        excerpt = shorten(item.text)
        text = format_item(item, request.at, excerpt, title=gather.chunk_location(view, item, titles))
        packed.append(PackedItem(part or name, item, text, excerpt, 0.0, mark="-"))
    text = "\n".join([heading, *format_lines(part or name, packed, request.at)])
    return ProviderResponse(
        text=text,
        values={name: fenced(text)},
        data=[_item_data(packed_item.item, packed_item.content) for packed_item in packed],
        recalled=True,
    )


def shorten(text: str) -> str:
    """Return a text of any length as one that can stand in a list."""
    text = text.strip()
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST].rstrip()} …"


def _recall_view(request: ProviderRequest[View]) -> View:
    return recall_view(request.memory, user=request.user)


def _item_data(item: ContextItem, text: str) -> dict[str, Any]:
    data: dict[str, Any] = {"id": item.id, "kind": item.kind, "text": text}
    if item.at is not None:
        data["at"] = item.at.isoformat()
    if item.speaker is not None:
        data["speaker"] = item.speaker
    if item.score:
        data["score"] = item.score
    return data
