"""Which records facts are extracted from, and the job that does it, written in the transaction of the record."""

from collections.abc import Mapping
from typing import Any, Final, cast

from rememo.model.check import check_flag
from rememo.model.ids import new_id
from rememo.model.job import NewJob

LEARN: Final = "learn"
"""The task of the job that learns from a record, and the field in a record's data that is False where no facts may be learned from it."""
UNLEARN: Final = "unlearn"
"""The task of the job that brings in line what was learned from a record that changed or ended."""
RULE_TASKS: Final = (LEARN, UNLEARN)
"""Tasks that rules do at once; a model may add to their results later."""
LEARNED_KINDS: Final = ("message", "note")
"""What people say and agents note; documents are searched, and nothing is concluded from them."""
_LEARNED_ROLES: Final = ("user", "assistant")
_STATING: Final = (
    "i im ive my mine me we our us user users he she his her they their it this that there here you the a an no not never"
    " now am is isnt are was were be been has have had do does did will can cannot at in to from with since fan call born"
    " bought got sold quit lost gave broke won ran met took flew went live lives work works like likes love loves enjoy"
    " enjoys hate hates prefer prefers want wants use uses own owns play plays speak speaks eat eats drink drinks drive"
    " drives studies teaches avoid avoids wear wears collect collects follow follows"
)
_STATING_WORDS: Final = frozenset(_STATING.split())
_STATING_ENDS: Final = ("ed", "ing", "'s", "'m", "'re", "'ve", "'d", "'ll", "n't")
"""Words, and ends of words, without which no rule reads a fact: a text that has none is a label or a list of keywords."""
_SIGNS: Final = '.,;:!?-()[]"*'


def may_learn_from(data: Mapping[str, Any]) -> bool:
    """Whether a record with this data allows that facts are learned from it."""
    return data.get(LEARN) is not False


def may_state(text: object) -> bool:
    """Whether the rules could read a fact in a text; it takes microseconds, and errs only by saying yes."""
    words = text.lower().replace("\u2019", "'").split() if isinstance(text, str) else []
    if len(words) < 2:  # noqa: PLR2004 - one word says nothing of anybody
        return False
    for token in words:
        word = token.strip(_SIGNS)
        if word in _STATING_WORDS or word.endswith(_STATING_ENDS):
            return True
    return False


def add_learning(item: dict[str, Any], *, enabled: bool, by_rules: bool) -> None:
    """Add to `add`'s arguments the job that learns from the record, or the mark that nothing may be learned from it.

    An item without `learn` is left as it is. What came out of recall was learned when it was first stored, and only what
    users and assistants say is learned from. Where rules alone learn (`by_rules`), a note in which they cannot read anything
    has no job.
    """
    kind, data, source = item.get("kind", "note"), item.get("data"), item.get("source")
    if LEARN not in item or not isinstance(kind, str) or kind not in LEARNED_KINDS:
        return
    if data is None:
        data = {}
    elif not isinstance(data, Mapping):
        return  # refused with the other arguments
    fields = cast("Mapping[str, Any]", data)
    if not check_flag(item[LEARN], LEARN):
        item["data"] = {**fields, LEARN: False}
        return
    if not enabled or (isinstance(source, str) and source.startswith("recall")):
        return
    role = fields.get("role", "user")
    if not isinstance(role, str) or role not in _LEARNED_ROLES or not may_learn_from(fields):
        return
    if not by_rules or kind != "note" or may_state(item.get("text")):
        item["jobs"] = (*item.get("jobs", ()), NewJob(id=new_id(), task=LEARN, payload={}))
