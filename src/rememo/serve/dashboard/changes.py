"""What can be changed from the pages: each change is one write that can be taken back."""

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
"""Makes a change, and returns what to say of it, with the receipt of what can be taken back."""


def pin(visit: Visit) -> tuple[str, Receipt | None]:
    """Keep a record by every pruning, or no more."""
    pinned = visit.form.get("pinned") == "yes"
    receipt = visit.memory.update(_form_id(visit), pinned=pinned)
    return ("Pinned." if pinned else "No longer pinned."), receipt


def correct(visit: Visit) -> tuple[str, Receipt | None]:
    """Give a record another text, unless it has changed since the page was made."""
    id, memory = _form_id(visit), visit.memory
    kind = memory.get(id).kind
    if kind not in CORRECTABLE:
        raise InvalidInput(f"a {kind} is not corrected by hand: it follows what it was made from")
    # Browsers send line ends as two characters.
    text = visit.form.get("text", "").replace("\r\n", "\n")
    return "Corrected.", memory.update(id, text=text, expected_version=_form_version(visit))


def delete(visit: Visit) -> tuple[str, Receipt | None]:
    """End a record."""
    id, memory = _form_id(visit), visit.memory
    kind = memory.get(id).kind
    if kind in NOT_DELETABLE:
        raise InvalidInput(f"a {kind} is not deleted by itself: it belongs to something else")
    return "Deleted.", memory.delete(id)


def undo(visit: Visit) -> tuple[str, Receipt | None]:
    """Take back what was done a moment ago."""
    if visit.flash is None or visit.flash.at is None:
        raise InvalidInput("what was done cannot be taken back from here any more; its versions are still there")
    view = visit.service.view(visit.key, {"tenant": [visit.flash.tenant]})
    undo_write(view, visit.flash.at)
    return "Taken back.", None


def resolve_conflict(visit: Visit) -> tuple[str, Receipt | None]:
    """Decide a conflict."""
    receipt = resolve(visit.memory, facts=visit.form.get("facts", "").split(), keep=visit.form.get("keep", ""))
    return "Decided.", receipt


def confirm_revision(visit: Visit) -> tuple[str, Receipt | None]:
    """Say that something was replaced by what was said later."""
    visit.memory.revisions.confirm(_form_id(visit), visit.form.get("by", ""))
    return "Confirmed: the later statement took its place.", None


def reject_revision(visit: Visit) -> tuple[str, Receipt | None]:
    """Say that something still holds."""
    visit.memory.revisions.reject(_form_id(visit), visit.form.get("by", ""))
    return "Rejected: the earlier statement still holds.", None


def load_demo_data(visit: Visit) -> tuple[str, Receipt | None]:
    """Load the demo into a memory that is empty."""
    memory = visit.memory
    if memory.count():
        raise InvalidInput("there is something in this memory already; the demo is for an empty one")
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
"""What a key needs for a change; the others need the right to write."""
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
"""Changes that are answered by a page of their own, since what they tell is told once."""


def make_change(visit: Visit, name: str) -> tuple[str, Receipt | None]:
    """Make a change that the key has the right to."""
    _require_change_right(visit, name)
    return CHANGES[name](visit)


def answer_change(visit: Visit, name: str) -> tuple[str, dict[str, Any]]:
    """Make a change that the key has the right to, and return the page that tells of it."""
    _require_change_right(visit, name)
    return PAGE_CHANGES[name](visit)


def _require_change_right(visit: Visit, name: str) -> None:
    require_right(visit.key, *REQUIRED_RIGHTS.get(name, ("write", "scope")))


def _form_id(visit: Visit) -> str:
    return visit.form.get("id", "")


def _form_version(visit: Visit) -> int:
    text = visit.form.get("version", "")
    if not text.isascii() or not text.isdecimal() or len(text) > 18:  # noqa: PLR2004 - below 2 ** 62
        raise InvalidInput("the version that was corrected is not told; open the record again")
    return int(text)
