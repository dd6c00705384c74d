"""Regular expressions mean the same on every Python that Rememo runs on."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

import rememo

SOURCES = Path(rememo.__file__).parent
# `*+`, `++`, `?+`, `{…}+` and `(?>…)`: Python 3.11 has them, and matches wrongly with them up to 3.11.4.
NEWER = re.compile(r"(?<!\\)(?:[*+?]|\{[0-9,]*\})\+|\(\?>")
QUANTIFIED = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.")


def is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    """Whether a node is a text that stands in the source."""
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def patterns(tree: ast.AST) -> Iterator[str]:
    """Give the texts that are handed to `re`."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="re")), args=[pattern, *_]):
                yield from (str(part.value) for part in ast.walk(pattern) if is_text(part))
            case _:
                continue


def raw_texts(source: str, tree: ast.AST) -> Iterator[str]:
    """Give every raw text: it is likely a part of a pattern."""
    lines = source.splitlines()
    for node in ast.walk(tree):
        if is_text(node) and re.match(r"[rR][fF]?|[fF][rR]", lines[node.lineno - 1][node.col_offset :]):
            yield str(node.value)


def is_newer(pattern: str) -> bool:
    """Whether a pattern uses what depends on the patch release; what is escaped or in a set means itself."""
    return NEWER.search(QUANTIFIED.sub("x", pattern)) is not None


def test_the_search_knows_what_it_looks_for():
    assert [is_newer(pattern) for pattern in ("a++", "[ab]*+c", "a?+", r"\d{2,}+", "(?>a)", "(?:a|b)*+")] == [True] * 6
    assert not any(is_newer(pattern) for pattern in ("a+", r"\+\+", "[*+]+", "a{2}", "(?:a+)+", r"\*+", "[^]*+]"))


def test_no_pattern_depends_on_the_patch_release():
    found: list[str] = []
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        tree = ast.parse(source)
        found += [
            f"{path.name}: {pattern}" for pattern in (*patterns(tree), *raw_texts(source, tree)) if is_newer(pattern)
        ]
    assert found == []
