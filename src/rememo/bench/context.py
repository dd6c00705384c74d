"""How much of what answers a question stands in its context, beside a plain packing of the same budget.

Every question is asked in the newest room of its scope. An answer-bearing sentence is, in a message that the evidence
names, the one that shares most with the question and its answer; it counts when it stands in the text whole. The plain
packing gives half of the budget to the room's latest turns and fills the rest with hits, best first, until one does not
fit: turns whole, each with its number, day and speaker.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rememo.bench.datasets import BenchQuestion, BenchScope, Dataset, load
from rememo.bench.report import Report
from rememo.bench.summaries import answer_sentences
from rememo.context.gather import speaker
from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.model.record import Record
from rememo.recall.analyze import Analyzer
from rememo.recall.embed.protocol import Embedder
from rememo.recall.embed.static import StaticEmbedder
from rememo.settings import Settings
from rememo.summary.salience import Turn, strip_emphasis
from rememo.text.tokens import default_counter

BUDGETS: Final = (1_500, 3_000)
_HITS: Final = 50
_LEARNING: Final = 600.0

Pack = Callable[[Memory, Memory, BenchQuestion, int], str]
"""Makes a context for a question asked in a room, out of all that is in reach, within so many tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PackingScore:
    """What one packing reached with one budget."""

    way: str
    budget: int
    sentences: float
    """Share of a question's answer-bearing sentences that stand in its context, averaged over the questions."""
    all: float
    """Share of the questions of which all stand there."""
    tokens: float
    """What a context cost on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReport(Report):
    """What every packing reached, with every budget."""

    questions: int
    packed: tuple[PackingScore, ...]

    def table(self) -> str:
        """Return a plain table."""
        head = f"{'budget':<10}{'way':<20}{'sentences':>10}{'all of them':>13}{'tokens':>9}"
        rows = [
            f"{result.budget:<10}{result.way:<20}{result.sentences:>10.1%}{result.all:>13.1%}{result.tokens:>9.0f}"
            for result in self.packed
        ]
        return "\n".join([f"{self.questions} questions", head, *rows])


def measure(
    dataset: Dataset,
    path: str | Path,
    *,
    budgets: Sequence[int] = BUDGETS,
    embedder: Embedder | None = None,
    progress: Callable[[int], None] | None = None,
) -> ContextReport:
    """Measure the context and the plain packing on every question of a dataset whose evidence names messages."""
    counter, analyzer, model = default_counter(), Analyzer(), embedder or StaticEmbedder()
    ways: dict[str, Pack] = {"context (Rememo)": _pack_by_context, "turns, then hits": _pack_plainly}
    shares: dict[tuple[int, str], list[float]] = defaultdict(list)
    costs: dict[tuple[int, str], list[int]] = defaultdict(list)
    count = 0
    for scope in load(dataset, path):
        with Memory(":memory:", embedder=model, settings=Settings(worker=False)) as memory:
            store(memory, scope)
            user, agent = labels(scope)
            wide = memory.scope(user=user, agent=agent)
            room = wide.scope(room=max(scope.messages, key=lambda message: message.time).room)
            for question, sentences in _answer_sentences(scope, analyzer):
                for budget in budgets:
                    for name, pack in ways.items():
                        text = pack(room, wide, question, budget)
                        rendered = strip_emphasis(text)
                        shares[budget, name].append(
                            sum(sentence in rendered for sentence in sentences) / len(sentences)
                        )
                        costs[budget, name].append(counter.count(text))
                count += 1
                if progress is not None:
                    progress(count)
    if not count:
        raise InvalidInput(f"{path} has no question whose evidence names messages; there is nothing to measure")
    packed = [
        PackingScore(
            way=name,
            budget=budget,
            sentences=sum(reached) / count,
            all=sum(share == 1 for share in reached) / count,
            tokens=sum(costs[budget, name]) / count,
        )
        for (budget, name), reached in shares.items()
    ]
    return ContextReport(questions=count, packed=tuple(packed))


def _pack_by_context(room: Memory, _: Memory, question: BenchQuestion, budget: int) -> str:
    return room.context(question.text, max_tokens=budget, at=question.at).text


def _pack_plainly(room: Memory, wide: Memory, question: BenchQuestion, budget: int) -> str:
    counter = default_counter()
    lines: list[str] = []
    remaining = budget

    def add(record: Record, floor: float) -> bool:
        nonlocal remaining
        line = f"[{len(lines) + 1}] {record.at:%Y-%m-%d} {speaker(record)}: {record.text}"
        cost = counter.count(line) + 1
        if remaining - cost < floor:
            return False
        lines.append(line)
        remaining -= cost
        return True

    shown_ids: set[str] = set()
    for turn in reversed(room.messages.latest(_HITS)):
        if not add(turn.record, budget / 2):
            break
        shown_ids.add(turn.id)
    for hit in wide.search(question.text, kind="message", limit=_HITS, at=question.at):
        if hit.id not in shown_ids and not add(hit.record, 0):
            break
    return "\n".join(lines)


def store(memory: Memory, scope: BenchScope) -> None:
    """Store a scope's messages as a user would, and learn from them."""
    agents = {question.addressee for question in scope.questions} - {None}
    with memory.batch() as batch:
        for index, message in enumerate(scope.messages):
            if not message.text.strip():
                continue
            user, agent = labels(scope)
            view = batch.scope(room=message.room, user=user or message.speaker, agent=agent)
            role = "assistant" if message.speaker in agents else "user"
            view.messages.add(role, message.text, id=str(index), at=message.time)
    if batch.receipt is not None:
        batch.receipt.wait(_LEARNING)


def labels(scope: BenchScope) -> tuple[str | None, str | None]:
    """Return who asks and who is asked, where that is one for all questions."""
    askers, agents = ({getattr(question, name) for question in scope.questions} for name in ("asker", "addressee"))
    return askers.pop() if len(askers) == 1 else None, agents.pop() if len(agents) == 1 else None


def _answer_sentences(scope: BenchScope, analyzer: Analyzer) -> Iterator[tuple[BenchQuestion, list[str]]]:
    turns = [
        Turn(speaker=message.speaker, text=message.text, at=message.time, personal=True) for message in scope.messages
    ]
    sessions: dict[str, list[int]] = defaultdict(list)
    for index, message in enumerate(scope.messages):
        sessions[message.session].append(index)
    for question in scope.questions:
        asking = set(analyzer.terms(f"{question.text} {question.answer}"))
        sentences: list[str] = []
        for indices in sessions.values():
            questions = {number: asking for number, index in enumerate(indices) if index in question.evidence}
            if questions:
                sentences += [
                    text for _, text in answer_sentences([turns[index] for index in indices], questions, analyzer)
                ]
        if sentences:
            yield question, sentences
