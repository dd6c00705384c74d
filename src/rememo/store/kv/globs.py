"""Glob patterns: `*`, `?`, `[…]` and `[^…]`, the same on every store."""

import re


def to_expression(pattern: str) -> str:
    """Return a glob pattern as a regular expression that means the same, for PostgreSQL and for Python."""
    parts: list[str] = []
    place = 0
    while place < len(pattern):
        sign = pattern[place]
        place += 1
        if sign == "*":
            parts.append(".*")
        elif sign == "?":
            parts.append(".")
        elif sign == "[":
            start = place + (pattern[place : place + 1] == "^")
            end = pattern.find("]", start + 1)
            if end < 0:
                # A bracket without an end matches nothing.
                return "$^a"
            parts.append(f"[{'^' if start > place else ''}{_chosen(pattern[start:end])}]")
            place = end + 1
        else:
            parts.append(re.sub(r"([^\w\s]|_)", r"\\\1", sign) if sign.isascii() else sign)
    return f"^(?:{''.join(parts)})$"


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
