"""Visit: one request of a page, with its key, its view of the memory, and links to other pages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import parse_qs, urlencode

from starlette.datastructures import QueryParams

from rememo.engine.view import view_of
from rememo.errors import Forbidden, InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record
from rememo.model.scope import LABELS
from rememo.model.times import to_utc
from rememo.serve.auth import ALL_TENANTS, ApiKey
from rememo.serve.dashboard.flash import Flash
from rememo.serve.dashboard.navigation import GROUPS, PARENT_PAGES, required_right
from rememo.serve.rest.operations import Reach, Right
from rememo.serve.service import Service, require_right

SCOPE: Final = ("tenant", *LABELS, "pool")
TIMES: Final = ("known_at", "valid_at")
POOL: Final = "pool:"
_PARAMETERS: Final = (
    *SCOPE, *TIMES, "q", "kind", "after", "before", "id", "version", "part", "offset", "around", "from", "subject",
    "predicate", "all", "max_tokens", "entity", "actor", "operation", "up_to", "check", "head", "state", "days", "since", "until",
    "back", "done",
)  # fmt: skip
"""The query parameters of pages; others are dropped."""
_LONGEST: Final = 2_000
_LONGEST_PAGE: Final = 6


@dataclass(slots=True, kw_only=True)
class Visit:
    """A request of a page."""

    service: Service
    key: ApiKey
    csrf: str
    path: str
    query: dict[str, str]
    """The query parameters; empty ones are left out."""
    form: dict[str, str] = field(default_factory=dict[str, str])
    """The form fields of a change."""
    open: bool = False
    """Whether the server has no keys, and nobody logs in."""
    flash: Flash | None = None
    on_start: Callable[[], None] | None = None
    """Starts streaming the page's header, for pages that take a while."""

    @property
    def scope_query(self) -> dict[str, list[str]]:
        """The scope parameters and the time of the view."""
        scope = {name: [self.query[name]] for name in SCOPE if name in self.query}
        known_at = self.time("known_at")
        return scope if known_at is None else {**scope, "as_of": [known_at.isoformat()]}

    @property
    def memory(self) -> Memory:
        """The view of the request; never wider than the key."""
        return self.service.view(self.key, self.scope_query)

    @property
    def present(self) -> Memory:
        """The view at present, whatever the time of the query, for what has no history."""
        return self.service.view(self.key, {name: [self.query[name]] for name in SCOPE if name in self.query})

    @property
    def now(self) -> datetime:
        """The memory's present time."""
        return view_of(self.service.memory).engine.now()

    @property
    def narrowed(self) -> bool:
        """Whether the view is narrower than a tenant, or in the past."""
        return self.key.is_bound or any(name in self.query for name in (*LABELS, "pool", "known_at"))

    @property
    def all_tenants(self) -> bool:
        """Whether the key is for all tenants."""
        return self.key.tenant == ALL_TENANTS

    def may(self, right: Right, reach: Reach = "scope") -> bool:
        """Whether the key has a right and reach; views of the past are read-only."""
        return self._has(right, reach) and (right == "read" or "known_at" not in self.query)

    def navigation(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Return the pages that the key may open, by menu group."""
        groups = [(name, [view for view in views if self._has(*required_right(view[0]))]) for name, views in GROUPS]
        return [(name, views) for name, views in groups if views]

    def is_current(self, path: str) -> bool:
        """Whether this page belongs to a menu entry."""
        return path == PARENT_PAGES.get(self.path, self.path)

    def _has(self, right: Right, reach: Reach) -> bool:
        try:
            require_right(self.key, right, reach)
        except Forbidden:
            return False
        return True

    def begin(self) -> None:
        """Start streaming: the query is valid, and later errors are rendered into the page."""
        if self.on_start is not None:
            self.on_start()

    def bound_label(self, name: str) -> str | None:
        """Return the label that the key is bound to."""
        return getattr(self.key, name)

    def time(self, name: str) -> datetime | None:
        """Parse a time in the query; UTC without a zone."""
        text = self.query.get(name)
        if text is None:
            return None
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            raise InvalidInput(f"{name} is not a time: {text[:50]!r}; write it like 2026-05-01T10:00") from None
        return to_utc(at if at.tzinfo else at.replace(tzinfo=UTC), name)

    def number(self, name: str, *, least: int = 0) -> int:
        """Parse a whole number in the query; `least` when it is missing."""
        text = self.query.get(name, str(least))
        if not text.isascii() or not text.isdecimal() or len(text) > _LONGEST_PAGE:
            raise InvalidInput(f"{name} must be a whole number, not {text[:50]!r}")
        return max(least, int(text))

    # ---- addresses

    def link(self, path: str, /, **changes: object) -> str:
        """Return the URL of a page in the same scope and at the same time; None removes a parameter."""
        common: dict[str, object] = {name: self.query[name] for name in (*SCOPE, *TIMES) if name in self.query}
        query = {name: value for name, value in {**common, **changes}.items() if value is not None}
        path = self.service.options.root_path + path
        return f"{path}?{urlencode(query)}" if query else path

    def same_page(self, /, **changes: object) -> str:
        """Return the URL of this page with changed parameters."""
        return self.link(self.path, **{**self.query, "done": None, **changes})

    def room_of(self, room: str, /, **changes: object) -> str:
        """Return the URL of a room's conversation."""
        pool = room.startswith(POOL)
        where = {"pool": room.removeprefix(POOL), "room": None} if pool else {"room": room, "pool": None}
        return self.link("/room", **where, **changes)

    def record(self, id: str, /, **changes: object) -> str:
        """Return the URL of a record."""
        return self.link("/record", id=id, **changes)

    def around(self, record: Record) -> str | None:
        """Return the URL of a message within its conversation; None for other records."""
        if record.kind != "message" or record.scope.room is None:
            return None
        return self.room_of(record.scope.room, around=record.id) + "#m-" + record.id


def parse_query(params: QueryParams) -> dict[str, str]:
    """Return the known, non-empty query parameters, one value for each name."""
    query = {name: params[name] for name in _PARAMETERS if params.get(name)}
    for name, value in query.items():
        if len(value) > _LONGEST:
            raise InvalidInput(f"{name} has more than {_LONGEST:,} characters; ask for less")
    return query


def parse_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form."""
    try:
        sent: dict[str, list[Any]] = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=100)
    except ValueError:
        raise InvalidInput("the form cannot be parsed; send it from the page itself") from None
    return {name: str(values[-1]) for name, values in sent.items()}
