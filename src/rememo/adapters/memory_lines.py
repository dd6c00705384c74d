"""Formatting files and directories for a model, and editing their lines."""

from collections.abc import Mapping
from typing import Any, cast

from rememo.errors import InvalidInput

_MOST_LINES = 999_999
_WIDTH = 6
_AROUND = 2
_DIRECTORY = "4K"
_LEVELS = 2
_PAIR = 2


def format_file(path: str, text: str, view_range: object = None) -> str:
    """Return the lines of a file with their numbers: all, or from one to another, -1 being the last."""
    lines = text.split("\n")
    if len(lines) > _MOST_LINES:
        raise InvalidInput(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, selected = 1, lines
    if isinstance(view_range, list | tuple) and len(cast("list[object]", view_range)) == _PAIR:
        start, end = cast("list[object]", view_range)
        if not isinstance(start, int) or not isinstance(end, int):
            raise InvalidInput("`view_range` must be two line numbers, such as [1, 10]; -1 stands for the last line")
        first = max(1, start)
        selected = lines[first - 1 :] if end == -1 else lines[first - 1 : end]
    return f"Here's the content of {path} with line numbers:\n{_number_lines(selected, first)}"


def format_directory(path: str, sizes: Mapping[str, int | None]) -> str:
    """Return a directory's listing of the paths in it, whose sizes are given; a directory has none."""
    tree: dict[str, Any] = {}
    for entry_path in sizes:
        level = tree
        for name in entry_path.split("/")[:_LEVELS]:
            level = level.setdefault(name, {})
    lines = [f"{_DIRECTORY}\t{path}"]

    def show(level: dict[str, Any], above: str) -> None:
        for name in sorted(level):
            if not name.startswith("."):
                entry_path = above + name
                size = sizes.get(entry_path)
                lines.append(
                    f"{_DIRECTORY}\t{path}/{entry_path}/"
                    if size is None
                    else f"{_format_size(size)}\t{path}/{entry_path}"
                )
                show(level[name], f"{entry_path}/")

    show(tree, "")
    header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([header, *lines])


def replace_once(path: str, text: str, old: str, new: str) -> tuple[str, int]:
    """Return a text in which the one place of another is replaced, and the index of the line where it begins."""
    count = text.count(old)
    if count == 0:
        raise InvalidInput(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
    if count > 1:
        raise InvalidInput(
            f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
            f"{', '.join(map(str, _matching_lines(text, old)))}. Please ensure it is unique"
        )
    return text.replace(old, new), text[: text.find(old)].count("\n")


def insert_lines(text: str, line: int, more: str) -> str:
    """Return a text with another one after one of its lines."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if not 0 <= line <= len(lines):
        raise InvalidInput(f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}].")
    changed = "\n".join([*lines[:line], more.rstrip("\n"), *lines[line:]])
    return changed if changed.endswith("\n") else f"{changed}\n"


def excerpt(text: str, index: int) -> str:
    """Return the line of an index with two before and two after it, numbered."""
    first = max(0, index - _AROUND)
    return _number_lines(text.split("\n")[first : index + _AROUND + 1], first + 1)


def _number_lines(lines: list[str], first: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first))


def _matching_lines(text: str, part: str) -> list[int]:
    """Return the number of the line of every place where a part begins, also where places overlap."""
    numbers: list[int] = []
    line, start, position = 1, 0, text.find(part)
    while position != -1:
        line += text.count("\n", start, position)
        numbers.append(line)
        start, position = position, text.find(part, position + 1)
    return numbers


def _format_size(size: int) -> str:
    """Return a number of bytes as people read it."""
    if size == 0:
        return "0B"
    unit = min((size.bit_length() - 1) // 10, 3)
    value = size / 1024**unit
    return f"{int(value) if value == int(value) else f'{value:.1f}'}{'BKMG'[unit]}"
