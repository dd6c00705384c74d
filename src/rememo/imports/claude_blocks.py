"""Turns: what a message of Claude is made of, which is blocks: text, thinking, calls of tools and their results, and others."""

import json
from collections import Counter
from typing import Final

from rememo.imports.chat_content import tool_call
from rememo.imports.item import Skipped
from rememo.imports.json_values import Json, as_label, as_list, as_object, as_text
from rememo.imports.skip_reasons import NOT_TEXT, REASONING

_NO_TOOL_OUTPUT: Final = "Tool output is unavailable."
_UNSUPPORTED_BLOCK: Final = "This block is not supported on your current device yet."
"""What the text of a message says for a block of a tool."""
_THINKING: Final = ("thinking", "redacted_thinking")
_NAMES: Final = ("title", "name", "file_path", "file_name", "url")
INTERJECTED: Final = "interjected"
"""The type of a block in which the person spoke while Claude was working."""

ClaudeTurn = tuple[str | None, tuple[Json, ...], str | None, str]
"""A role where it is not the sender's, calls, the call that is answered, text."""


class ClaudeTurns:
    """The turns of a message: text and the calls after it are one, a result is one of its own."""

    def __init__(self, id: str, message: Json) -> None:
        self.turns: list[ClaudeTurn] = []
        self._left: Counter[str] = Counter()
        self._id = id
        self._text = ""
        self._calls: list[Json] = []
        self._last: str | None = None
        for number, block in enumerate(map(as_object, as_list(message.get("content")))):
            self._take(number, block)
        self._end()
        text = as_text(message.get("text"))
        if not self.turns and text.replace("`", "").strip() not in ("", _UNSUPPORTED_BLOCK):
            # The same words as the blocks, and all there is where an export has none.
            self.turns.append((None, (), None, text))

    @property
    def left(self) -> list[Skipped]:
        """Return the blocks that are no turn, by reason."""
        return [Skipped(reason, count) for reason, count in self._left.items()]

    def _take(self, number: int, block: Json) -> None:
        kind, text = as_text(block.get("type")), as_text(block.get("text"))
        if kind == "tool_use":
            self._last = as_label(block.get("id")) or f"{self._id}-{number}"
            self._calls.append(tool_call(self._last, block.get("name"), json.dumps(block.get("input"))))
        elif kind == "tool_result":
            self._end()
            answered = as_label(block.get("tool_use_id")) or self._last
            self.turns.append(("tool", (), answered, self._result(block) or _NO_TOOL_OUTPUT))
        elif kind in _THINKING:
            self._left[REASONING] += 1
        elif kind == INTERJECTED:
            self._end()
            self.turns += [("user", (), None, text)] if text.strip() else []
        elif text or kind in ("text", ""):  # also of a kind that is not known, such as a note that was spoken
            if self._calls:
                self._end()
            self._text = "\n".join(filter(None, (self._text, text)))
        else:
            self._left[NOT_TEXT.format(kind)] += 1

    def _result(self, block: Json) -> str:
        """Return what a tool answered: texts, pages with where they are from, and the names of what is no text."""
        content = block.get("content")
        if isinstance(content, str):
            return content
        texts: list[str] = []
        for part in as_list(content):
            fields, text = as_object(part), as_text(part) or as_text(as_object(part).get("text"))
            kind = as_text(fields.get("type")) or "unknown"
            names = [as_text(fields.get(name)) for name in _NAMES]
            if text:
                texts += [*(names if kind == "knowledge" else ()), text]
            elif fields:
                texts += [*names, *(as_text(as_object(image).get("title")) for image in as_list(fields.get("images")))]
                self._left[NOT_TEXT.format(kind)] += 1
        if not any(texts) and as_object(block.get("structured_content")):
            return json.dumps(block["structured_content"], ensure_ascii=False)
        return "\n".join(filter(None, texts))

    def _end(self) -> None:
        if self._text.strip() or self._calls:
            self.turns.append((None, tuple(self._calls), None, self._text))
        self._text, self._calls = "", []
