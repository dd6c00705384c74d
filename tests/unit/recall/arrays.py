"""Small timelines for tests: a conversation written down as lines, indexed the way a store would."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import numpy as np

from rememo.model.timeline import Timeline
from rememo.recall.analyze import Analyzer, asks, fingerprint
from rememo.recall.embed.static import StaticEmbedder
from rememo.recall.question import understand
from rememo.recall.rank import rank
from rememo.recall.types import Candidates, Mode, Postings, Question, Ranking, RecallSettings

ANALYZER = Analyzer()
EMBEDDER = StaticEmbedder()
MINUTE = 60_000
DAY = 24 * 60 * MINUTE
NOON = datetime(2024, 6, 15, 12, tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


@dataclass(frozen=True, kw_only=True)
class Line:
    """One message; `at` is in minutes since the noon of 15 June 2024."""

    text: str
    speaker: str = "anna"
    room: str = "chat"
    at: float = 0
    kind: str = "message"
    importance: float = 0.5
    trust: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Conversation:
    lines: Sequence[Line]
    settings: RecallSettings = field(default_factory=RecallSettings)

    @property
    def timeline(self) -> Timeline:
        rooms = sorted({line.room for line in self.lines})
        speakers = tuple(sorted({line.speaker for line in self.lines}))
        kinds = tuple(sorted({line.kind for line in self.lines})) or ("message",)
        terms = [ANALYZER.terms(line.text) for line in self.lines]
        return Timeline(
            numbers=np.arange(len(self.lines)),
            rooms=np.array([rooms.index(line.room) for line in self.lines], dtype=np.int32),
            times=np.array([milliseconds(NOON) + int(line.at * MINUTE) for line in self.lines], dtype=np.int64),
            lengths=np.array([len(found) for found in terms], dtype=np.int32),
            speakers=np.array([speakers.index(line.speaker) for line in self.lines], dtype=np.int32),
            kinds=np.array([kinds.index(line.kind) for line in self.lines], dtype=np.int8),
            importance=np.array([line.importance for line in self.lines], dtype=np.float32),
            trust=np.array([line.trust for line in self.lines], dtype=np.float32),
            asks=np.array([asks(line.text) for line in self.lines], dtype=np.bool_),
            speaker_names=speakers,
            kind_names=kinds,
            fingerprints=np.array([fingerprint(found) for found in terms], dtype=np.int64),
        )

    def question(
        self,
        text: str,
        *,
        mode: Mode = "hybrid",
        limit: int = 10,
        threshold: float = 0.0,
        asker: str | None = None,
        at: datetime = NOON,
    ) -> Question:
        speakers = self.timeline.speaker_names
        return understand(
            text,
            analyzer=ANALYZER,
            at=at,
            speakers=speakers,
            asker=asker,
            mode=mode,
            limit=limit,
            threshold=threshold,
        )

    def candidates(self, question: Question, *, eligible: Sequence[bool] | None = None) -> Candidates:
        places: dict[str, list[tuple[int, int]]] = defaultdict(list)
        for row, line in enumerate(self.lines):
            for term, times in Counter(ANALYZER.terms(line.text)).items():
                places[term].append((row, times))
        postings = tuple(
            Postings(
                term=term,
                documents=np.array([row for row, _ in places[term]], dtype=np.intp),
                frequencies=np.array([times for _, times in places[term]], dtype=np.int32),
            )
            for term in question.terms
            if term in places
        )
        rows: list[int] = []
        cosines: list[float] = []
        (asked,) = EMBEDDER.embed([question.meaning])
        for row, vector in enumerate(EMBEDDER.embed([line.text for line in self.lines])):
            if vector is not None and asked is not None:
                rows.append(row)
                cosines.append(float(vector @ asked))
        return Candidates(
            postings=postings,
            vector_documents=np.array(rows, dtype=np.intp),
            vector_scores=np.array(cosines, dtype=np.float32),
            eligible=None if eligible is None else np.array(eligible, dtype=np.bool_),
        )

    def ask(
        self,
        text: str,
        *,
        mode: Mode = "hybrid",
        limit: int = 10,
        threshold: float = 0.0,
        asker: str | None = None,
        eligible: Sequence[bool] | None = None,
    ) -> Ranking:
        question = self.question(text, mode=mode, limit=limit, threshold=threshold, asker=asker)
        return rank(question, self.candidates(question, eligible=eligible), self.timeline, self.settings)

    def found(self, text: str, *, mode: Mode = "hybrid", limit: int = 10, asker: str | None = None) -> list[str]:
        ranking = self.ask(text, mode=mode, limit=limit, asker=asker)
        rows: list[int] = ranking.documents.tolist()
        return [self.lines[row].text for row in rows]
