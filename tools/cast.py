"""Draws the moving picture of the README: a session that is really run, line by line, as an animated SVG.

`python tools/cast.py` writes `docs/images/session.svg`. What it shows is what the code below printed just now.
"""

import io
import tempfile
from contextlib import chdir, redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

import rememo
from rememo.testing.clock import ManualClock

TARGET: Final = Path(__file__).parent.parent / "docs" / "images" / "session.svg"
SESSION: Final = (
    "from rememo import Memory",
    'memory = Memory("agent.db")  # no key, no server, no download',
    'alice = memory.scope(user="alice", room="monday")',
    '_ = alice.messages.add("user", "I moved to Lisbon in May. My cat is called Miso.").wait()',
    'for hit in alice.search("where does she live now?"): print(f"{hit.score:.2f}", hit.text)',
    "for fact in alice.facts.list(): print(fact.subject, fact.predicate, fact.object)",
    '_ = alice.messages.add("user", "I have been living in Porto since October.").wait()',
    '[fact.object for fact in alice.facts.list(predicate="lives_in")]',
    '[fact.object for fact in alice.facts.list(predicate="lives_in", valid_at=datetime(2026, 6, 1, tzinfo=UTC))]',
    'print(alice.context("what should I buy for my cat?", max_tokens=200).text)',
)
_WIDTH, _LINE, _MARGIN, _SECONDS = 900, 19, 18, 20.0
_LONGEST: Final = 112
_READING: Final = 0.35
"""Seconds that a line of an answer stays the newest one; a line that is typed stays as long as typing it takes."""


def run() -> list[tuple[bool, str]]:
    """Run the session; return its lines, and of each whether it was typed."""
    clock = ManualClock(datetime(2026, 11, 15, 9, tzinfo=UTC))

    class Memory(rememo.Memory):
        def __init__(self, url: str) -> None:
            super().__init__(url, clock=clock)

    names: dict[str, Any] = {"datetime": datetime, "UTC": UTC}
    lines: list[tuple[bool, str]] = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for typed in SESSION:
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(typed + "\n", "session", "single"), names)  # noqa: S102 - our own lines
            names["Memory"] = Memory
            clock.advance(60)
            lines.append((True, f">>> {typed}"))
            lines += [(False, line) for line in output.getvalue().splitlines()]
        names["memory"].close()
    return lines


def draw(lines: list[tuple[bool, str]]) -> str:
    """Return the picture."""
    moments, at = [], 0.6
    for typed, line in lines:
        moments.append(at)
        at += 0.4 + len(line) * 0.011 if typed else _READING
    stretch = (_SECONDS - 4) / at
    height = 2 * _MARGIN + _LINE * len(lines)
    rules, texts = [], []
    for number, ((typed, line), moment) in enumerate(zip(lines, moments, strict=True)):
        percent = moment * stretch / _SECONDS * 100
        rules.append(
            f"@keyframes l{number}{{0%,{percent:.2f}%{{opacity:0}}{percent + 0.4:.2f}%,98%{{opacity:1}}100%{{opacity:0}}}}"
        )
        rules.append(f".l{number}{{animation:l{number} {_SECONDS:.0f}s infinite}}")
        shown = escape(line[:_LONGEST] + ("…" if len(line) > _LONGEST else ""))
        y = _MARGIN + _LINE * (number + 0.8)
        texts.append(
            f'<text class="l{number} {"typed" if typed else "said"}" x="{_MARGIN}" y="{y:.0f}" xml:space="preserve">{shown}</text>'
        )
    style = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}.typed{fill:#f3efe6}.said{fill:#9fc5a8}"
        + "".join(rules)
        + "@media (prefers-reduced-motion:reduce){text{animation:none!important}}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
        f' aria-label="A Python session with Rememo"><style>{style}</style>'
        f'<rect width="{_WIDTH}" height="{height}" rx="10" fill="#23211d"/>{"".join(texts)}</svg>\n'
    )


if __name__ == "__main__":
    TARGET.write_text(draw(run()))
