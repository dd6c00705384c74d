"""Places: the views that every page leads to, and what a key needs for each of them."""

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
        "Keeping",
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
"""Addresses and names, by the lists they stand in."""
PARENT_PAGES: Final = {"/room": "/rooms"}
"""Pages that belong to a view of another address."""
REQUIRED_RIGHTS: Final[dict[str, Need]] = {
    "/quarantine": ("admin", "scope"),
    "/jobs": ("read", "tenant"),
    "/tokens": ("read", "tenant"),
    "/audit": ("admin", "scope"),
    "/keys": ("admin", "tenant"),
    "/settings": ("admin", "tenant"),
    "/erase": ("admin", "tenant"),
}
"""What a key needs for a page; the others need the right to read."""


def required_right(path: str) -> Need:
    """Return what a key needs for a page."""
    return REQUIRED_RIGHTS.get(path, ("read", "scope"))
