"""How well the guard tells attacks from texts that only look like them, on a labelled file.

Each line of the file is one text: ``text``, ``attack`` (true or false), ``channel`` (``tool``, ``web``, ``document`` or ``user``)
and ``part``, a name under which it is counted. Each goes through a memory as it would in use.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.settings import Settings

_ROLES = ("user", "tool")


@dataclass(slots=True, kw_only=True)
class GuardScores:
    """Counts by part of a labelled file; the ratios are None where there was nothing to count."""

    attacks: Counter[str] = field(default_factory=Counter[str])
    caught: Counter[str] = field(default_factory=Counter[str])
    harmless: Counter[str] = field(default_factory=Counter[str])
    alarms: Counter[str] = field(default_factory=Counter[str])
    wrong: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    """Part, what went wrong, and the text."""

    def caught_share(self, part: str) -> float | None:
        """Share of the attacks that were held back."""
        return self.caught[part] / self.attacks[part] if self.attacks[part] else None

    def alarm_share(self, part: str) -> float | None:
        """Share of the harmless texts that were held back."""
        return self.alarms[part] / self.harmless[part] if self.harmless[part] else None

    def table(self, *, details: bool = False) -> str:
        """Return a plain table by part; with ``details`` every miss and false alarm too."""
        lines = [f"{'part':<12}{'attacks':>9}{'caught':>8}{'harmless':>10}{'false alarms':>14}"]
        lines += [
            f"{part:<12}{self.attacks[part]:>9}{self.caught[part]:>8}{self.harmless[part]:>10}{self.alarms[part]:>14}"
            for part in sorted(self.attacks.keys() | self.harmless.keys(), reverse=True)
        ]
        if details:
            lines += [f"{part}: {what}   {text!r}" for part, what, text in self.wrong]
        return "\n".join(lines)


def measure(path: str | Path) -> GuardScores:
    """Add every text of a labelled file to a memory and count what is quarantined."""
    scores = GuardScores()
    settings = Settings(guard_flood=0, learn=False, worker=False)
    with Memory(":memory:", embedder=None, settings=settings) as memory:
        for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), 1):
            try:
                labelled: dict[str, Any] = json.loads(line)
                text, attack, part = str(labelled["text"]), bool(labelled["attack"]), str(labelled.get("part", "all"))
                channel = str(labelled.get("channel", "tool"))
            except (ValueError, KeyError, TypeError):
                raise InvalidInput(f"{path}, line {number}, is no labelled text: it needs text and attack") from None
            reasons = _quarantine_reasons(memory, channel, text)
            flagged = bool(reasons)
            (scores.attacks if attack else scores.harmless)[part] += 1
            (scores.caught if attack else scores.alarms)[part] += flagged
            if flagged != attack:
                scores.wrong.append((part, "missed" if attack else f"false alarm ({', '.join(reasons)})", text))
    return scores


def _quarantine_reasons(memory: Memory, channel: str, text: str) -> list[str]:
    receipt = memory.messages.add(channel, text) if channel in _ROLES else memory.add(text, source=channel)
    return list(dict.fromkeys(receipt.quarantined.values()))
