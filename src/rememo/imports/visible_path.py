"""The visible path through a conversation that branches where messages were edited or regenerated."""

from collections.abc import Callable, Mapping


def visible_path(parents: Mapping[str, str | None], current: str | None, said_at: Callable[[str], float]) -> list[str]:
    """Return the ids from the root to the current one; where none is current, to the newest leaf, of equals the last.

    Parents suffice: newer exports have no children.
    """
    if current not in parents:
        inner = {*parents.values()}
        current = max((id for id in reversed([*parents]) if id not in inner), key=said_at, default=None)
    path: dict[str, None] = {}
    while current is not None and current in parents and current not in path:
        path[current] = None
        current = parents[current]
    return list(reversed(path))
