"""The audit page: entries, and the verification of the hash chain."""

from typing import Any, Final

from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.model.audit import AuditCheck, AuditHead
from rememo.serve.dashboard.display_text import summarise
from rememo.serve.dashboard.visit import Visit
from rememo.serve.service import require_right

_PAGE_SIZE: Final = 30
_NAMED: Final = 3
_LINKED: Final = 64
"""Characters of an id at most to be a link."""
_DIGITS: Final = 18


def audit_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return entries of the trail, latest first, with the result of verifying where the query asks for it."""
    memory, query = visit.memory, visit.query
    up_to = _parse_number(query["up_to"], "up_to") if "up_to" in query else None
    entries = memory.audit.list(
        after=visit.time("after"), before=visit.time("before"), actor=query.get("actor"),
        operation=query.get("operation"), up_to=up_to, limit=_PAGE_SIZE + 1,
    )  # fmt: skip
    page = entries[-_PAGE_SIZE:]
    sees_tenant = visit.may("read", "tenant")
    return "audit.html", {
        "lines": [(line, summarise(line.detail)) for line in reversed(page)],
        "named": _NAMED,
        "linked": _LINKED,
        "older": page[0].number - 1 if len(entries) > _PAGE_SIZE else None,
        "on": view_of(visit.service.memory).engine.audit is not None,
        "head": memory.audit.head() if sees_tenant else None,
        "checked": _verify_chain(visit) if "check" in query else None,
    }


def _verify_chain(visit: Visit) -> AuditCheck:
    require_right(visit.key, "admin", "tenant")
    head_text = visit.query.get("head")
    if head_text is None:
        return visit.memory.audit.verify()
    count, _, hash = head_text.strip().partition(":")
    return visit.memory.audit.verify(head=AuditHead(count=_parse_number(count, "the head's line"), hash=hash))


def _parse_number(text: str, name: str) -> int:
    if not text.isascii() or not text.isdecimal() or len(text) > _DIGITS:
        raise InvalidInput(f"{name} must be a whole number, not {text[:50]!r}")
    return int(text)
