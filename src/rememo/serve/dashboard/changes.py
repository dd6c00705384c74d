"""The changes that pages can make: each is one write that can be undone."""

from collections.abc import Callable
from typing import Any, Final

from rememo.errors import InvalidInput
from rememo.model.receipt import Receipt
from rememo.serve.dashboard.erase import erase_user
from rememo.serve.dashboard.flash import undo_write
from rememo.serve.dashboard.flows import clear_flow
from rememo.serve.dashboard.jobs import retry
from rememo.serve.dashboard.keys import make_key, revoke_key
from rememo.serve.dashboard.navigation import Need
from rememo.serve.dashboard.quarantine import discard, release
from rememo.serve.dashboard.records import CORRECTABLE, NOT_DELETABLE
from rememo.serve.dashboard.versions import roll_back, snapshot
from rememo.serve.dashboard.visit import Visit
from rememo.serve.demo import load_demo
from rememo.serve.rest.overrides import resolve
from rememo.serve.service import require_right

Change = Callable[[Visit], tuple[str, Receipt | None]]
"""Makes a change, and returns its message, with the receipt of what can be undone."""


def pin(visit: Visit) -> tuple[str, Receipt | None]:
    """Pin or unpin a record."""
    pinned = visit.form.get("pinned") == "yes"
    receipt = visit.memory.update(_form_id(visit), pinned=pinned)
    return ("Pinned." if pinned else "Unpinned."), receipt


def correct(visit: Visit) -> tuple[str, Receipt | None]:
    """Correct the text of a record, unless it has changed since the page was rendered."""
    id, memory = _form_id(visit), visit.memory
    kind = memory.get(id).kind
    if kind not in CORRECTABLE:
        raise InvalidInput(f"the text of a {kind} cannot be corrected: it follows its sources")
    # Browsers send line breaks as CRLF.
    text = visit.form.get("text", "").replace("\r\n", "\n")
    return "Corrected.", memory.update(id, text=text, expected_version=_form_version(visit))


def delete(visit: Visit) -> tuple[str, Receipt | None]:
    """Delete a record."""
    id, memory = _form_id(visit), visit.memory
    kind = memory.get(id).kind
    if kind in NOT_DELETABLE:
        raise InvalidInput(f"a {kind} cannot be deleted on its own: it is part of something else")
    return "Deleted.", memory.delete(id)


def undo(visit: Visit) -> tuple[str, Receipt | None]:
    """Undo the last change."""
    if visit.flash is None or visit.flash.at is None:
        raise InvalidInput("this change can no longer be undone from here; earlier versions are on the record's page")
    view = visit.service.view(visit.key, {"tenant": [visit.flash.tenant]})
    undo_write(view, visit.flash.at)
    return "Undone.", None


def resolve_conflict(visit: Visit) -> tuple[str, Receipt | None]:
    """Resolve a conflict."""
    receipt = resolve(visit.memory, facts=visit.form.get("facts", "").split(), keep=visit.form.get("keep", ""))
    return "Conflict resolved.", receipt


def confirm_revision(visit: Visit) -> tuple[str, Receipt | None]:
    """Confirm that a later statement replaced a record."""
    visit.memory.revisions.confirm(_form_id(visit), visit.form.get("by", ""))
    return "Confirmed: the later statement replaced it.", None


def reject_revision(visit: Visit) -> tuple[str, Receipt | None]:
    """Reject a revision: the record is still current."""
    visit.memory.revisions.reject(_form_id(visit), visit.form.get("by", ""))
    return "Rejected: the earlier statement is still current.", None


def load_demo_data(visit: Visit) -> tuple[str, Receipt | None]:
    """Load the demo into an empty memory."""
    memory = visit.memory
    if memory.count():
        raise InvalidInput("this memory is not empty; the demo is for an empty one")
    load_demo(memory, ask=visit.may("write", "tenant"))
    return "The demo is loaded: search it, or look at its conversation and facts.", None


REQUIRED_RIGHTS: Final[dict[str, Need]] = {
    "release": ("admin", "scope"),
    "discard": ("admin", "scope"),
    "retry": ("write", "tenant"),
    "make-key": ("admin", "tenant"),
    "revoke-key": ("admin", "tenant"),
    "snapshot": ("write", "tenant"),
    "erase": ("admin", "tenant"),
}
"""The right and reach that a change needs; the others need the right to write."""
CHANGES: Final[dict[str, Change]] = {
    "pin": pin,
    "correct": correct,
    "delete": delete,
    "undo": undo,
    "resolve": resolve_conflict,
    "confirm-revision": confirm_revision,
    "reject-revision": reject_revision,
    "demo": load_demo_data,
    "release": release,
    "discard": discard,
    "retry": retry,
    "clear-flow": clear_flow,
    "revoke-key": revoke_key,
    "snapshot": snapshot,
    "rollback": roll_back,
}
PAGE_CHANGES: Final[dict[str, Callable[[Visit], tuple[str, dict[str, Any]]]]] = {
    "make-key": make_key,
    "erase": erase_user,
}
"""Changes that respond with a page of their own, since its content is shown only once."""


def make_change(visit: Visit, name: str) -> tuple[str, Receipt | None]:
    """Make a change that the key has the right to."""
    _require_change_right(visit, name)
    return CHANGES[name](visit)


def answer_change(visit: Visit, name: str) -> tuple[str, dict[str, Any]]:
    """Make a change that the key has the right to, and return its page."""
    _require_change_right(visit, name)
    return PAGE_CHANGES[name](visit)


def _require_change_right(visit: Visit, name: str) -> None:
    require_right(visit.key, *REQUIRED_RIGHTS.get(name, ("write", "scope")))


def _form_id(visit: Visit) -> str:
    return visit.form.get("id", "")


def _form_version(visit: Visit) -> int:
    text = visit.form.get("version", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:  # noqa: PLR2004 - below 2 ** 62
        raise InvalidInput("the form has no version; open the record again")
    return int(text)
