"""The path that a person sees through a conversation that branches where it was edited or asked for again."""

from collections.abc import Callable, Mapping


def visible_path(parents: Mapping[str, str | None], current: str | None, said_at: Callable[[str], float]) -> list[str]:
    """Return the ids from the root to the current one; where that is not told, to the newest leaf, of equals the last.

    What the parents say is enough: newer exports tell no children.
    """
    if current not in parents:
        inner = {*parents.values()}
        current = max((id for id in reversed([*parents]) if id not in inner), key=said_at, default=None)
    path: dict[str, None] = {}
    while current is not None and current in parents and current not in path:
        path[current] = None
        current = parents[current]
    return list(reversed(path))
