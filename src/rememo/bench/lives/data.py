"""Lives: what people tell an assistant over months, and the questions they ask at the end.

Each line of the file is a life: ``messages`` (``at``, ``user``, ``room``, ``agent``, ``role``, ``text``, in their order),
``questions`` and ``held_out`` for the part that nothing was tuned on. A question has the ``user`` who asks it (None where
nobody in particular does), ``about`` (``now`` or ``past``), ``holds`` (words of which an answer has one), ``outdated`` (words of
what no longer holds) and, where it is not asked five days after the last message, ``at``.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal

from rememo.errors import InvalidInput

AFTERWARDS: Final = timedelta(days=5)
"""How long after the last message a question is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeMessage:
    """One message of a life."""

    at: datetime
    user: str
    room: str
    agent: str | None
    role: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeQuestion:
    """One question, and what its answer says and does not say."""

    text: str
    user: str | None
    at: datetime
    about: Literal["now", "past"]
    holds: tuple[str, ...]
    outdated: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What was said, and what is asked."""

    name: str
    held_out: bool
    messages: tuple[LifeMessage, ...]
    questions: tuple[LifeQuestion, ...]


def load_lives(path: str | Path, *, held_out: bool | None = None) -> Iterator[Life]:
    """Yield the lives of a file; `held_out` chooses one part, None takes both. Raises `InvalidInput` for another file."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        lives = [_life(json.loads(line)) for line in lines if line.strip()]
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error}") from error
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise InvalidInput(f"{path} is not a file of lives, one JSON object a line: {error!r}") from error
    yield from (life for life in lives if held_out is None or life.held_out == held_out)


def _life(row: dict[str, Any]) -> Life:
    messages = tuple(
        LifeMessage(
            at=datetime.fromisoformat(message["at"]),
            user=message["user"],
            room=message["room"],
            agent=message.get("agent"),
            role=message["role"],
            text=message["text"],
        )
        for message in row["messages"]
    )
    end = messages[-1].at + AFTERWARDS
    questions = tuple(
        LifeQuestion(
            text=question["question"],
            user=question.get("user"),
            at=datetime.fromisoformat(question["at"]) if question.get("at") else end,
            about=question["about"],
            holds=tuple(question["holds"]),
            outdated=tuple(question.get("outdated", ())),
        )
        for question in row["questions"]
    )
    return Life(name=row["name"], held_out=bool(row.get("held_out")), messages=messages, questions=questions)
