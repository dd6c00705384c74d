"""Questions answered end to end: one reader, shown what different ways choose of the same conversations, and one judge.

Every prompt, answer, verdict and token is a line of a file. A run that was interrupted goes on with it.
"""

import json
import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from pydantic import BaseModel

from rememo.bench.context import labels, store
from rememo.bench.datasets import BenchQuestion, BenchScope, Dataset, load
from rememo.bench.quality import ALL, PlainWords
from rememo.bench.report import Report, align
from rememo.errors import InvalidInput, ModelFailed
from rememo.llm.prompts import prompt
from rememo.llm.protocol import LLM, ChatMessage, Usage
from rememo.llm.structured import ask_structured
from rememo.memory import Memory
from rememo.model.check import dump_json
from rememo.settings import Settings
from rememo.text.tokens import default_counter

Way: TypeAlias = Literal["rememo", "words", "full"]
"""Whose choice the reader is shown: Rememo's context, plain BM25, or the whole conversation."""
WAYS: Final = get_args(Way)
UNKNOWN: Final = "It is not in memory."
"""What is expected where a set gives no answer, because there is none."""
_FORMAT: Final = "rememo-qa-1"
_ANSWER_TOKENS, _VERDICT_TOKENS = 256, 256
_IN_A_ROW: Final = 5
"""Failures one after the other that end a run: the endpoint is away."""
_NORMAL: Final = 1.959964

ContextMaker: TypeAlias = Callable[[BenchQuestion], str]


class _JudgeVerdict(BaseModel):
    correct: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How often one way was right in one category."""

    way: str
    category: str
    questions: int
    right: int
    low: float
    """The lower end of the 95 % interval (Wilson)."""
    high: float
    """Its upper end."""
    tokens: float
    """What the reader was shown, on average."""

    @property
    def share(self) -> float:
        """The share that was right."""
        return self.right / self.questions if self.questions else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class QaReport(Report):
    """What was reached, and what it took."""

    dataset: str
    reader: str
    judge: str
    accuracies: tuple[Accuracy, ...]
    usage: Usage
    """Of the reader and the judge together, earlier parts of the run included."""
    failed: int
    """Questions that the reader or the judge failed at; they count nowhere."""
    out: str

    def table(self) -> str:
        """Return it as a table, a line for each way and category."""
        lines = [["way", "category", "questions", "right", "accuracy", "95 % interval", "tokens shown"]]
        for accuracy in self.accuracies:
            span = f"{100 * accuracy.low:.1f} - {100 * accuracy.high:.1f}"
            figures = [
                str(accuracy.questions),
                str(accuracy.right),
                f"{100 * accuracy.share:.1f} %",
                span,
                f"{accuracy.tokens:,.0f}",
            ]
            lines.append([accuracy.way, accuracy.category, *figures])
        note = f"reader {self.reader}, judge {self.judge}; {self.usage.total:,} tokens; every answer is in {self.out}"
        return "\n".join(
            [
                align(lines, names=len(lines[0])),
                note,
                *([f"{self.failed} failed; run it again to ask them"] if self.failed else []),
            ]
        )


def wilson(right: int, of: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, by Wilson's score; the whole range where nothing was asked."""
    if of == 0:
        return 0.0, 1.0
    share, square = right / of, _NORMAL**2
    centre = (share + square / (2 * of)) / (1 + square / of)
    spread = _NORMAL * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    return max(0.0, centre - spread), min(1.0, centre + spread)


def measure(
    dataset: Dataset,
    path: str | Path,
    *,
    reader: LLM,
    judge: LLM | None = None,
    out: str | Path,
    ways: Sequence[Way] = WAYS,
    budget: int = 4_000,
    full_tokens: int = 100_000,
    limit: int | None = None,
    concurrency: int = 4,
    progress: Callable[[int], None] | None = None,
) -> QaReport:
    """Ask the reader every question of a dataset, shown what each way chooses, and let the judge say what is right.

    `judge` is the reader unless given. Rememo's context and the words have `budget` tokens; the full conversation is cut
    at its beginning where it has more than `full_tokens`. `limit` asks only the first so many questions. Answers stand in
    `out`, JSON Lines; those that are there are not asked for again. An endpoint that is away raises `ModelFailed`.
    """
    if unknown := [way for way in ways if way not in WAYS]:
        raise InvalidInput(f"there is no way {unknown[0]!r}; the ways are {', '.join(WAYS)}")
    if not ways or budget < 1 or full_tokens < 1 or concurrency < 1 or (limit is not None and limit < 1):
        raise InvalidInput("ways must name one at least; budget, full_tokens, limit and concurrency must be 1 or more")
    chosen = judge or reader
    header = {
        "format": _FORMAT,
        "dataset": dataset,
        "sha256": _digest(path),
        "reader": reader.name,
        "judge": chosen.name,
        "prompts": [prompt("read").label, prompt("judge").label],
        "budget": budget,
        "full_tokens": full_tokens,
    }
    log = _AnswerLog(Path(out), header)
    asking = _QuestionRun(reader, chosen, log, progress)
    done_count = 0

    def run(task: tuple[str, BenchQuestion, Way, str]) -> None:
        asking.ask(*task)

    with ThreadPoolExecutor(concurrency, "rememo-qa") as threads:
        for number, scope in enumerate(load(dataset, path)):
            remaining = len(scope.questions) if limit is None else min(len(scope.questions), limit - done_count)
            if remaining <= 0:
                break
            done_count += remaining
            tasks: list[tuple[str, BenchQuestion, Way]] = [
                (f"{number}:{index}:{way}", question, way)
                for index, question in enumerate(scope.questions[:remaining])
                for way in ways
            ]
            due = [task for task in tasks if task[0] not in log.done]
            asking.passed(len(tasks) - len(due))
            if due:
                with _ScopeContexts(scope, {way for _, _, way in due}, budget, full_tokens) as shows:
                    # What is shown is worked out here, one after the other; only models are asked at once.
                    contexts = ((key, question, way, shows[way](question)) for key, question, way in due)
                    for _ in threads.map(run, contexts):
                        pass
    return log.report(ways)


@dataclass(slots=True)
class _QuestionRun:
    reader: LLM
    judge: LLM
    log: "_AnswerLog"
    progress: Callable[[int], None] | None
    count: int = 0
    failures: int = 0
    lock: Lock = field(default_factory=Lock)

    def passed(self, count: int) -> None:
        """Report questions that were answered by an earlier run."""
        with self.lock:
            self.count += count
            if self.progress is not None:
                self.progress(self.count)

    def ask(self, key: str, question: BenchQuestion, way: Way, context: str) -> None:
        """Ask the reader and the judge, and write down all of it."""
        if self.failures >= _IN_A_ROW:
            return
        expected = question.answer or UNKNOWN
        question_text = f"{context}\n\nIt is {question.at:%A, %d %B %Y, %H:%M}. Question: {question.text}"
        turns = [ChatMessage("system", prompt("read").text), ChatMessage("user", question_text)]
        line: dict[str, Any] = {
            "key": key, "category": question.category, "way": way, "question": question.text, "expected": expected,
            "shown_tokens": default_counter().count(context), "prompt": [asdict(turn) for turn in turns],
        }  # fmt: skip
        began = time.perf_counter()
        try:
            answer = self.reader.complete(turns, max_tokens=_ANSWER_TOKENS)
            line |= {"answer": answer.text, "usage": asdict(answer.usage), "model": answer.model}
            verdict_input = dump_json({"question": question.text, "expected": expected, "given": answer.text})
            verdict = ask_structured(
                self.judge,
                [ChatMessage("system", prompt("judge").text), ChatMessage("user", verdict_input)],
                _JudgeVerdict,
                max_tokens=_VERDICT_TOKENS,
            )
            line |= {
                "correct": verdict.value.correct,
                "reason": verdict.value.reason,
                "judge_prompt": verdict_input,
                "judge_usage": asdict(verdict.usage),
                "judge_model": verdict.model,
            }
        except ModelFailed as error:
            line |= {"error": str(error)}
        line["seconds"] = round(time.perf_counter() - began, 3)
        self.log.add(line)
        with self.lock:
            self.failures = self.failures + 1 if "error" in line else 0
            ends = self.failures == _IN_A_ROW
        self.passed(1)
        if ends:
            raise ModelFailed(
                f"{_IN_A_ROW} questions in a row failed, the last with: {line['error']}; mend it and run the same again:"
                " it goes on where it stopped",
                reason="unreachable",
            )


class _AnswerLog:
    """The file of answers: a header, then a line for each; half a line at its end is what a kill left, and goes."""

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self._path = path
        self._lock = Lock()
        self.lines: dict[str, dict[str, Any]] = {}
        self.header = header
        if path.exists() and path.stat().st_size:
            self._read()
        else:
            try:
                path.write_text(dump_json({"header": dict(header)}) + "\n", encoding="utf-8")
            except OSError as error:
                raise InvalidInput(f"answers cannot be written to {path}: {error.strerror}") from error

    @property
    def done(self) -> frozenset[str]:
        """What was answered and judged."""
        return frozenset(key for key, line in self.lines.items() if "correct" in line)

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a line down."""
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(dump_json(dict(line)) + "\n")
            self.lines[str(line["key"])] = dict(line)

    def _read(self) -> None:
        content = self._path.read_bytes()
        complete_lines = content[: content.rfind(b"\n") + 1]
        first, *rest = complete_lines.decode("utf-8", "replace").splitlines() or [""]
        entry: object = None
        with suppress(ValueError, KeyError, TypeError):
            entry = json.loads(first)["header"]
        if entry != dict(self.header):
            raise InvalidInput(
                f"{self._path} holds answers of another run, or something else: its dataset, models, prompts or budgets are"
                " not these; name another file with --out"
            )
        for line in rest:
            read = cast("dict[str, Any]", json.loads(line))
            self.lines[str(read["key"])] = read
        if len(complete_lines) < len(content):
            self._path.write_bytes(complete_lines)

    def report(self, ways: Sequence[str]) -> QaReport:
        """Add up what is written."""
        lines = [line for line in self.lines.values() if line["way"] in ways]
        groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        usage = Usage()
        for line in lines:
            for name in ("usage", "judge_usage"):
                usage += Usage(**line.get(name, {}))
            if "correct" in line:
                groups[line["way"], ALL].append(line)
                groups[line["way"], line["category"]].append(line)
        order = {way: index for index, way in enumerate(WAYS)}
        accuracies = [
            _accuracy(way, category, groups[way, category])
            for way, category in sorted(
                groups, key=lambda group: (order[cast("Way", group[0])], group[1] != ALL, group[1])
            )
        ]
        return QaReport(
            dataset=str(self.header["dataset"]),
            reader=str(self.header["reader"]),
            judge=str(self.header["judge"]),
            accuracies=tuple(accuracies),
            usage=usage,
            failed=sum("correct" not in line for line in lines),
            out=str(self._path),
        )


def _accuracy(way: str, category: str, lines: Sequence[Mapping[str, Any]]) -> Accuracy:
    right = sum(bool(line["correct"]) for line in lines)
    low, high = wilson(right, len(lines))
    shown_tokens = sum(line["shown_tokens"] for line in lines) / len(lines)
    return Accuracy(
        way=way, category=category, questions=len(lines), right=right, low=low, high=high, tokens=shown_tokens
    )  # fmt: skip


class _ScopeContexts:
    """What each way shows of one scope; holds its memory as long as the block lasts."""

    def __init__(self, scope: BenchScope, ways: set[Way], budget: int, full_tokens: int) -> None:
        self._scope, self._ways = scope, ways
        self._budget, self._full = budget, full_tokens
        self._memory: Memory | None = None

    def __enter__(self) -> dict[Way, ContextMaker]:
        """Store the scope where it is needed, and return the ways."""
        shows: dict[Way, ContextMaker] = {}
        if "rememo" in self._ways:
            self._memory = Memory(":memory:", embedder="static", settings=Settings(worker=False))
            store(self._memory, self._scope)
            user, agent = labels(self._scope)
            latest = max(self._scope.messages, key=lambda message: message.time).room
            room = self._memory.scope(user=user, agent=agent, room=latest)
            shows["rememo"] = lambda question: room.context(question.text, max_tokens=self._budget, at=question.at).text
        if "words" in self._ways:
            plain = PlainWords(self._scope)
            shows["words"] = lambda question: self._lines(plain.search(question), self._budget)
        if "full" in self._ways:
            newest = sorted(range(len(self._scope.messages)), key=lambda index: -index)
            transcript = self._lines(newest, self._full)
            shows["full"] = lambda _: transcript
        return shows

    def __exit__(self, *_: object) -> None:
        if self._memory is not None:
            self._memory.close()

    def _lines(self, indices: Sequence[int], budget: int) -> str:
        """Return the first messages that fit, in the order in which they were said."""
        counter, chosen = default_counter(), dict[int, str]()
        for index in indices:
            message = self._scope.messages[index]
            line = f"{message.time:%Y-%m-%d %H:%M} {message.speaker}: {message.text}"
            budget -= counter.count(line) + 1
            if budget < 0:
                break
            chosen[index] = line
        return "\n".join(chosen[index] for index in sorted(chosen))


def answers(path: str | Path) -> Iterator[dict[str, Any]]:
    """Yield the answers in a file that `measure` wrote."""
    with Path(path).open(encoding="utf-8") as file:
        for line in file:
            read = cast("dict[str, Any]", json.loads(line))
            if "key" in read:
                yield read


def _digest(path: str | Path) -> str:
    try:
        return sha256(Path(path).read_bytes()).hexdigest()
    except OSError as error:
        raise InvalidInput(f"cannot read {path}: {error.strerror}") from error
