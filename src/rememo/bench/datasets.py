"""Datasets that recall is measured with, brought to one shape.

``longmemeval``
    A JSON list of questions, each with its own haystack of dated sessions. Every turn is a message in a room of its own
    session. Questions whose id ends in ``_abs`` have no answer and are left out.
``locomo``
    A JSON list of conversations of two speakers over many sessions; one conversation is one scope and one room. A shared
    picture's caption and search words are part of the message.
``realmem``
    A JSON list of people with an assistant over many dated sessions. A user's turn with gold sessions is a question that
    rests on those; only what was said before its own session may be found.
``jsonl``
    One scope a line, for your own data::

        {"messages": [{"id": "m1", "text": "I moved to Lisbon", "speaker": "alice", "room": "chat-1",
                       "time": "2024-05-02T10:00:00Z", "session": "s1"}, …],
         "questions": [{"question": "Where do I live?", "evidence": ["m1"], "at": "2024-06-01T00:00:00Z",
                        "asker": "alice", "addressee": "helper", "answer": "Lisbon", "category": "home"}, …]}

    Only ``text``, ``question`` and ``evidence`` must be there. A message without a time follows the one before by half
    a minute; without a room it is in one room with all others; its session is its room unless given.

Files may be compressed with gzip. Ids serve to name evidence and are never indexed: in some sets they give it away.
"""

import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

from rememo.errors import InvalidInput

Dataset: TypeAlias = Literal["longmemeval", "locomo", "realmem", "jsonl"]

_BETWEEN_TURNS = timedelta(seconds=30)
_LOCOMO_TURN = re.compile(r"D\d+:\d+")
_LOCOMO_CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
_START = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchMessage:
    """One message of a conversation."""

    text: str
    speaker: str
    room: str
    time: datetime
    session: str
    """The session that answers are counted by; recall does not see it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchQuestion:
    """One question and where its answer is."""

    text: str
    at: datetime
    category: str
    evidence: frozenset[int]
    """Which messages hold the answer, by place in the scope; may be empty if only sessions are known."""
    sessions: frozenset[str]
    """Which sessions hold the answer."""
    asker: str | None = None
    """The speaker who asks."""
    addressee: str | None = None
    """The speaker who is asked."""
    answer: str = ""
    """The answer in words, where the set tells it."""
    before: datetime | None = None
    """Only messages from before this moment may be found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchScope:
    """What is searched together, and the questions to it."""

    messages: tuple[BenchMessage, ...]
    questions: tuple[BenchQuestion, ...]


def load(dataset: Dataset, path: str | Path) -> Iterator[BenchScope]:
    """Yield the scopes of a dataset file; raise `InvalidInput` if it is not there or not of that shape."""
    readers = {"longmemeval": _longmemeval, "locomo": _locomo, "realmem": _realmem, "jsonl": _jsonl}
    if dataset not in get_args(Dataset):
        raise InvalidInput(f"there is no dataset shape {dataset!r}; the shapes are {', '.join(readers)}")
    try:
        text = _read(Path(path))
        yield from readers[dataset](text)
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"{path} is not a file of shape {dataset}: {error!r}") from error


def _read(path: Path) -> str:
    raw = path.read_bytes()
    return (gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw).decode("utf-8")


def _longmemeval(text: str) -> Iterator[BenchScope]:
    for entry in cast("list[dict[str, Any]]", json.loads(text)):
        if str(entry["question_id"]).endswith("_abs"):
            continue
        gold = set(entry["answer_session_ids"])
        messages: list[BenchMessage] = []
        evidence: set[int] = set()
        sessions: set[str] = set()
        haystack = zip(entry["haystack_session_ids"], entry["haystack_dates"], entry["haystack_sessions"], strict=True)
        for number, (name, date, turns) in enumerate(haystack):
            room = f"session-{number}"
            if name in gold:
                sessions.add(room)
            for index, turn in enumerate(turns):
                if turn.get("has_answer"):
                    evidence.add(len(messages))
                time = _longmemeval_time(date) + index * _BETWEEN_TURNS
                messages.append(
                    BenchMessage(text=turn["content"], speaker=turn["role"], room=room, time=time, session=room)
                )
        question = BenchQuestion(
            text=entry["question"],
            at=_longmemeval_time(entry["question_date"]),
            category=entry["question_type"],
            evidence=frozenset(evidence),
            sessions=frozenset(sessions),
            asker="user",
            addressee="assistant",
            answer=str(entry.get("answer", "")),
        )
        yield BenchScope(messages=tuple(messages), questions=(question,))


def _longmemeval_time(text: str) -> datetime:
    return datetime.strptime(re.sub(r"\s*\(\w+\)", "", text), "%Y/%m/%d %H:%M").replace(tzinfo=UTC)


def _locomo(text: str) -> Iterator[BenchScope]:
    for entry in cast("list[dict[str, Any]]", json.loads(text)):
        conversation = cast("dict[str, Any]", entry["conversation"])
        messages: list[BenchMessage] = []
        indices: dict[str, int] = {}
        numbers = sorted(int(key.split("_")[1]) for key in conversation if re.fullmatch(r"session_\d+", key))
        for number in numbers:
            date = str(conversation[f"session_{number}_date_time"])
            start = datetime.strptime(date, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            for index, turn in enumerate(conversation[f"session_{number}"]):
                indices[turn["dia_id"]] = len(messages)
                parts = [turn["text"], turn.get("blip_caption"), turn.get("query")]
                messages.append(
                    BenchMessage(
                        text=" ".join(part for part in parts if part),
                        speaker=turn["speaker"],
                        room="conversation",
                        time=start + index * _BETWEEN_TURNS,
                        session=str(number),
                    )
                )
        parsed_questions = [_locomo_question(entry, indices, messages) for entry in entry["qa"]]
        questions = [question for question in parsed_questions if question.evidence]
        yield BenchScope(messages=tuple(messages), questions=tuple(questions))


def _locomo_question(entry: dict[str, Any], indices: dict[str, int], messages: list[BenchMessage]) -> BenchQuestion:
    # Some evidence entries hold several ids in one string, and some name turns that do not exist.
    names = [name for text in entry.get("evidence") or () for name in _LOCOMO_TURN.findall(text)]
    evidence = frozenset(indices[name] for name in names if name in indices)
    return BenchQuestion(
        text=entry["question"],
        at=messages[-1].time + timedelta(days=1),
        category=_LOCOMO_CATEGORIES.get(entry["category"], str(entry["category"])),
        evidence=evidence,
        sessions=frozenset(messages[index].session for index in evidence),
        answer=str(entry.get("answer", "")),
    )


def _realmem(text: str) -> Iterator[BenchScope]:
    for entry in cast("list[dict[str, Any]]", json.loads(text)):
        messages: list[BenchMessage] = []
        questions: list[BenchQuestion] = []
        earlier_sessions: set[str] = set()
        start = _START
        for session in entry["sessions"]:
            # Several sessions of one day follow each other by an hour.
            day = datetime.strptime(session["date"][:10], "%Y-%m-%d").replace(hour=8, tzinfo=UTC)
            start = max(day, start + timedelta(hours=1))
            name = str(session["id"])
            for index, turn in enumerate(session["turns"]):
                gold = frozenset(map(str, turn.get("gold_sessions") or ())) & earlier_sessions
                if gold and turn["role"] == "user":
                    questions.append(
                        BenchQuestion(
                            text=turn["text"],
                            at=start + index * _BETWEEN_TURNS,
                            category="all",
                            evidence=frozenset(),
                            sessions=gold,
                            asker="user",
                            addressee="assistant",
                            before=start,
                        )
                    )
                messages.append(
                    BenchMessage(
                        text=turn["text"],
                        speaker=turn["role"],
                        room=name,
                        time=start + index * _BETWEEN_TURNS,
                        session=name,
                    )
                )
            earlier_sessions.add(name)
        yield BenchScope(messages=tuple(messages), questions=tuple(questions))


def _jsonl(text: str) -> Iterator[BenchScope]:
    for line in text.splitlines():
        if not line.strip():
            continue
        entry = cast("dict[str, Any]", json.loads(line))
        messages: list[BenchMessage] = []
        indices: dict[str, int] = {}
        time = _START
        for turn in entry["messages"]:
            time = _iso(turn["time"]) if "time" in turn else time + _BETWEEN_TURNS
            indices[str(turn.get("id", len(messages)))] = len(messages)
            room = str(turn.get("room", "room"))
            messages.append(
                BenchMessage(
                    text=turn["text"],
                    speaker=str(turn.get("speaker", "user")),
                    room=room,
                    time=time,
                    session=str(turn.get("session", room)),
                )
            )
        latest = max((message.time for message in messages), default=_START)
        questions: list[BenchQuestion] = []
        for item in entry["questions"]:
            evidence = frozenset(indices[str(name)] for name in item["evidence"])
            questions.append(
                BenchQuestion(
                    text=item["question"],
                    at=_iso(item["at"]) if "at" in item else latest,
                    category=str(item.get("category", "all")),
                    evidence=evidence,
                    sessions=frozenset(messages[index].session for index in evidence),
                    asker=item.get("asker"),
                    addressee=item.get("addressee"),
                    answer=str(item.get("answer", "")),
                )
            )
        yield BenchScope(messages=tuple(messages), questions=tuple(questions))


def _iso(text: str) -> datetime:
    parsed = datetime.fromisoformat(text)
    return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
