"""Known bugs of Python releases that affect Rememo."""

from dataclasses import dataclass
from typing import Final

Release = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonBug:
    """What is wrong in some releases of Python."""

    first: Release
    """The first release that has it."""
    fixed: Release
    """The first release of the same series that does not."""
    description: str


PYTHON_BUGS: Final = (
    PythonBug(
        first=(3, 11, 0),
        fixed=(3, 11, 5),
        description="regular expressions with possessive quantifiers match wrongly (python/cpython#106052): Rememo has"
        " none, but patterns and rules of your own may",
    ),
)


def find_python_bugs(release: Release) -> list[PythonBug]:
    """Return the known faults of a release."""
    return [fault for fault in PYTHON_BUGS if fault.first <= release < fault.fixed]
