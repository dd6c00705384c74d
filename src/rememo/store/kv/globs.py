"""Glob patterns: `*`, `?`, `[…]` and `[^…]`, the same on every store."""

import re

_ANY = ".*"


class Glob:
    """A glob pattern to match names with, in time that grows with both, however many stars it has.

    As one regular expression of Python's, each star would try every length against those of all others.
    """

    def __init__(self, pattern: str) -> None:
        parts = _parts(pattern)
        self._possible = parts is not None
        runs: list[list[str]] = [[]]
        for part in parts or ():
            if part == _ANY:
                runs.append([])
            else:
                runs[-1].append(part)
        # Each part between two stars stands for so many characters: the leftmost place where it fits is as good as any.
        self._runs = [(len(run), re.compile("".join(run), re.DOTALL)) for run in runs]

    def matches(self, name: str) -> bool:
        """Whether a whole name is meant."""
        if not self._possible:
            return False
        (first_length, first), *rest = self._runs
        if not rest:
            return first.fullmatch(name) is not None
        (last_length, last), end = rest.pop(), len(name)
        if first_length + last_length > end or first.match(name) is None or last.match(name, end - last_length) is None:
            return False
        place, end = first_length, end - last_length
        for _, run in rest:
            match = run.search(name, place, end)
            if match is None:
                return False
            place = match.end()
        return True


def to_expression(pattern: str) -> str:
    """Return a glob pattern as a regular expression that means the same, for PostgreSQL."""
    parts = _parts(pattern)
    # A bracket without an end matches nothing.
    return "$^a" if parts is None else f"^(?:{''.join(parts)})$"


def _parts(pattern: str) -> list[str] | None:
    """Return an expression for each sign of a pattern; None for a pattern with a bracket that has no end."""
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        place += 1
        if sign == "*":
            parts.append(_ANY)
        elif sign == "?":
            parts.append(".")
        elif sign == "[":
            start = place + (pattern[place : place + 1] == "^")
            end = pattern.find("]", start + 1)
            if end < 0:
                return None
            parts.append(f"[{'^' if start > place else ''}{_chosen(pattern[start:end])}]")
            place = end + 1
        else:
            parts.append(re.sub(r"([^\w\s]|_)", r"\\\1", sign) if sign.isascii() else sign)
    return parts


def literal_start(pattern: str) -> str:
    """Return the part of a pattern before its first special sign: whatever it matches begins so."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]


def _chosen(signs: str) -> str:
    """Return the inside of a bracket; a range that runs backwards is its first sign."""
    parts: list[str] = []
    place = 0
    while place < len(signs):
        first, last = signs[place], signs[place + 2 : place + 3]
        if last and signs[place + 1] == "-":
            parts.append(f"{_escaped(first)}-{_escaped(last)}" if first <= last else _escaped(first))
            place += 3
        else:
            parts.append(_escaped(first))
            place += 1
    return "".join(parts)


def _escaped(sign: str) -> str:
    return f"\\{sign}" if sign in r"\[]^-&~|" else sign
