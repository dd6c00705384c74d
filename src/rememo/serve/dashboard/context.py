"""The context page: the text that a model would be shown for a question, part by part, with its token counts."""

from typing import Any, Final

from rememo.context.rendering import HEADINGS
from rememo.errors import InvalidInput
from rememo.serve.dashboard.display_text import cut
from rememo.serve.dashboard.visit import Visit
from rememo.text.tokens import check_counter

BUDGET: Final = 1_000
_LEAST, _MOST = 100, 8_000
_PART: Final = 8_000
_LISTED: Final = 20


def context_page(visit: Visit) -> tuple[str, dict[str, Any]]:
    """Return the preview; without a question, the form alone."""
    question = visit.query.get("q", "").strip()
    budget = visit.number("max_tokens") if "max_tokens" in visit.query else BUDGET
    if not _LEAST <= budget <= _MOST:
        raise InvalidInput(f"the budget must be from {_LEAST:,} to {_MOST:,} tokens here, not {budget:,}")
    form = {"question": question, "budget": budget, "least": _LEAST, "most": _MOST}
    if not question:
        return "context.html", {**form, "made": None}
    memory = visit.memory
    visit.begin()
    context = memory.context(question, max_tokens=budget)
    counter = check_counter(None)
    parts = [
        {"name": name, "text": cut(text, _PART), "tokens": counter.count(text)}
        for name, text in split_context(context.text)
        if text.strip()
    ]
    left_out = [entry for entry in context.left_out if entry.record is not None]
    return "context.html", {
        **form,
        "made": context,
        "parts": parts,
        "share": round(min(1.0, context.tokens / budget) * 100, 1),
        "records": context.records[:_LISTED],
        "left_out": left_out[:_LISTED],
    }


def split_context(text: str) -> list[tuple[str, str]]:
    """Return a context's text by its parts, complete; the text around them is the frame.

    An item is one line that begins with its mark, so that no text can pass for a heading.
    """
    names = {heading: part for part, heading in HEADINGS.items()}
    sections: list[tuple[str, list[str]]] = [("frame", [])]
    for line in text.split("\n"):
        if line in names:
            sections.append((names[line], []))
        elif line.startswith("</recalled-"):
            sections.append(("frame", []))
        sections[-1][1].append(line)
    return [(name, "\n".join(lines)) for name, lines in sections]
