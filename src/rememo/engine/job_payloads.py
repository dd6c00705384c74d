"""Validation of job payloads, which this process, another one or an imported file wrote."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from rememo.engine.drafting import EMBED
from rememo.engine.learning import LEARN, UNLEARN
from rememo.model.check import check_label, check_version

EXTRACT, ABSTRACT = "extract", "abstract"
"""What becomes of learning and of summarising where a language model takes its time over them."""
SUMMARISE = "summarise"
WRITE_AGAIN = "write_again"
"""What the payload of an `ABSTRACT` job says that is about one summary."""

_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    LEARN: ("record",), UNLEARN: ("record",), EXTRACT: ("record",), EMBED: ("record", "version"), SUMMARISE: ("room",),
    ABSTRACT: ("room",),
}  # fmt: skip
_CHECKS: Final[Mapping[str, Callable[[object, str], object]]] = {
    "record": check_label,
    "version": check_version,
    "room": check_label,
}


def check_payload(task: str, payload: Mapping[str, Any]) -> None:
    """Check the payload of a job; raises `InvalidInput` that names the field."""
    required = _REQUIRED.get(task, ())
    for name, check in _CHECKS.items():
        if name in required or payload.get(name) is not None:
            check(payload.get(name), f"payload.{name}")
