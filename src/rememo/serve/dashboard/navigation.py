"""Navigation: the pages in the menu, and the rights that they need."""

from typing import Final

from rememo.serve.rest.operations import Reach, Right

Need = tuple[Right, Reach]

GROUPS: Final[tuple[tuple[str, tuple[tuple[str, str], ...]], ...]] = (
    (
        "Views",
        (
            ("/", "Overview"),
            ("/search", "Search"),
            ("/rooms", "Conversations"),
            ("/facts", "Facts"),
            ("/conflicts", "Conflicts"),
            ("/graph", "Graph"),
            ("/context", "Context"),
            ("/versions", "Versions"),
        ),
    ),
    (
        "Administration",
        (
            ("/quarantine", "Quarantine"),
            ("/jobs", "Jobs"),
            ("/flows", "Flows"),
            ("/tokens", "Tokens"),
            ("/audit", "Audit"),
            ("/keys", "Keys"),
            ("/settings", "Settings"),
            ("/erase", "Erase"),
        ),
    ),
)
"""Paths and titles, by menu group."""
PARENT_PAGES: Final = {"/room": "/rooms"}
"""Pages that belong to the menu entry of another path."""
REQUIRED_RIGHTS: Final[dict[str, Need]] = {
    "/quarantine": ("admin", "scope"),
    "/jobs": ("read", "tenant"),
    "/tokens": ("read", "tenant"),
    "/audit": ("admin", "scope"),
    "/keys": ("admin", "tenant"),
    "/settings": ("admin", "tenant"),
    "/erase": ("admin", "tenant"),
}
"""The right and reach that a page needs; the others need the right to read."""


def required_right(path: str) -> Need:
    """Return the right and reach that a page needs."""
    return REQUIRED_RIGHTS.get(path, ("read", "scope"))
