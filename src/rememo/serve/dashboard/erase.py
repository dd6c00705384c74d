"""The erase page: choose a user, preview, confirm by typing the name, and the receipt.

The receipt names the erased user, so it is not stored: it is shown once, and the page can save it as a file.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from rememo.engine.view import view_of
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.serve.dashboard.display_text import visible
from rememo.serve.dashboard.visit import Visit
from rememo.serve.serializer import to_json
from rememo.serve.service import require_right

_USERS: Final = 100
_LONGEST_RECEIPT: Final = 500_000
COUNT_TEXTS: Final = {
    "records": "records",
    "versions": "versions of them",
    "kv": "keys of working state",
    "facts_kept": "facts of others kept, without what came from here",
    "summaries_rewritten": "summaries written anew without it",
    "sessions": "saved sessions that lost it",
    "sessions_removed": "saved sessions that were removed",
    "job_errors": "errors of jobs that quoted it",
    "audit_lines": "lines of the audit trail that were redacted",
}


def erase_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the users, or the preview of erasing one."""
    memory, user = _whole_tenant(visit), visit.query.get("user")
    visit.begin()
    names = memory.users()
    return "erase.html", {
        "users": names[:_USERS],
        "user_count": len(names),
        "chosen": user,
        "weighed": None if user is None else _describe_counts(memory.erase(user=user, dry_run=True).counts),
        "changes": visit.may("admin", "tenant"),
    }


def erase_user(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Erase the user of the form, if the name was typed again, and return the page of the receipt."""
    user, typed = visit.form.get("user", ""), visit.form.get("typed", "").strip()
    # Invisible characters cannot be typed: their visible notation can.
    if not user or typed not in {user.strip(), visible(user).strip()}:
        raise InvalidInput("the typed name does not match, and nothing was erased; go back and try again")
    view_of(visit.memory).need_present()
    receipt = _whole_tenant(visit).erase(user=user)
    visit.path = "/erase"  # where its links lead
    return "erased.html", {
        "erased": user,
        "receipt": receipt,
        "counts": _describe_counts(receipt.counts),
        "text": json.dumps(to_json(receipt), ensure_ascii=False, indent=2),
    }


def receipt_file(visit: Visit) -> tuple[str, str]:
    """Return the receipt that its page sent, as name and text of a file."""
    require_right(visit.key, "admin", "tenant")
    text = visit.form.get("receipt", "")
    try:
        receipt: Any = json.loads(text) if len(text) <= _LONGEST_RECEIPT else None
    except (ValueError, RecursionError):
        receipt = None
    digest = receipt.get("digest") if isinstance(receipt, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] - JSON
    if not isinstance(digest, str) or not digest.isascii() or not digest.isalnum():
        raise InvalidInput("not an erasure receipt; save it from the page that shows it")
    return f"erasure-{digest[:12]}.json", text


def _whole_tenant(visit: Visit) -> Memory:
    """Return the view of the whole tenant: a user is erased in every room."""
    return visit.service.view(visit.key, {"tenant": [visit.query["tenant"]]} if "tenant" in visit.query else {})


def _describe_counts(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    return [(COUNT_TEXTS.get(name, name.replace("_", " ")), count) for name, count in counts.items() if count]
