"""What ranking promises for any input."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.model.timeline import Timeline
from rememo.recall.neighbours import link
from rememo.recall.rank import arrange, rank
from rememo.recall.types import Candidates, Postings, Question, RecallSettings, TimeWindow

SETTINGS = RecallSettings(session_gap=1_000)


@dataclass(frozen=True)
class Case:
    question: Question
    candidates: Candidates
    timeline: Timeline


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(1, 30))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    # Times are all different: equal times in a room are ordered by row, which permuting rows would change.
    times = random.permutation(count * 3)[:count] * 400
    timeline = Timeline(
        numbers=np.arange(count),
        rooms=random.integers(0, 3, count).astype(np.int32),
        times=times.astype(np.int64),
        lengths=random.integers(0, 200, count).astype(np.int32),
        speakers=random.integers(-1, 2, count).astype(np.int32),
        kinds=random.integers(0, 2, count).astype(np.int8),
        importance=random.choice([0.0, 0.5, 1.0], count).astype(np.float32),
        trust=random.choice([0.3, 1.0], count).astype(np.float32),
        asks=random.random(count) < 0.4,
        speaker_names=("anna", "ben"),
        kind_names=("message", "fact"),
        fingerprints=random.integers(0, 20, count).astype(np.int64),
    )
    postings: list[Postings] = []
    for term in draw(st.sets(st.sampled_from("abcde"), max_size=4)):
        rows = random.permutation(count)[: random.integers(0, count + 1)]
        frequencies = random.integers(1, 5, len(rows))
        postings.append(Postings(term=term, documents=rows, frequencies=frequencies))
    near = random.permutation(count)[: random.integers(0, count + 1)]
    candidates = Candidates(
        postings=tuple(postings),
        vector_documents=near,
        vector_scores=random.choice([-0.2, 0.1, 0.4, 0.8], len(near)).astype(np.float32),
        eligible=(random.random(count) < 0.7) if draw(st.booleans()) else None,
    )
    question = Question(
        text="any",
        terms=("a", "b", "c"),
        meaning="any",
        at=count * 1_500,
        speakers=draw(st.sampled_from([(), (0,), (0, 1)])),
        windows=draw(st.sampled_from([(), (TimeWindow(start=400, end=4_000),)])),
        wants_recent=draw(st.booleans()),
        mode=draw(st.sampled_from(["hybrid", "words", "vector"])),
        limit=draw(st.integers(1, 40)),
        threshold=draw(st.sampled_from([0.0, 0.2, 0.5])),
    )
    return Case(question, candidates, timeline)


@given(cases())
def test_scores_fall_and_lie_between_0_and_1_and_parts_sum_up_to_them(case: Case):
    ranking = rank(case.question, case.candidates, case.timeline, SETTINGS)
    assert len(ranking) <= case.question.limit
    assert len(set(ranking.documents.tolist())) == len(ranking)
    assert (ranking.scores >= max(case.question.threshold, 0)).all()
    assert (ranking.scores <= 1).all()
    assert (np.diff(ranking.scores) <= 0).all()
    summed = np.sum([*ranking.parts.values()], axis=0)
    np.testing.assert_allclose(summed, ranking.scores, atol=1e-9)


@given(cases())
def test_the_order_of_candidates_does_not_matter(case: Case):
    shuffle = np.random.default_rng(7)
    postings: list[Postings] = []
    for posting in case.candidates.postings:
        order = shuffle.permutation(len(posting.documents))
        postings.append(replace(posting, documents=posting.documents[order], frequencies=posting.frequencies[order]))
    order = shuffle.permutation(len(case.candidates.vector_documents))
    shuffled = replace(
        case.candidates,
        postings=tuple(reversed(postings)),
        vector_documents=case.candidates.vector_documents[order],
        vector_scores=case.candidates.vector_scores[order],
        vector_background=(0.1, 0.2),
    )
    settled = replace(case.candidates, vector_background=(0.1, 0.2))
    alone = rank(case.question, settled, case.timeline, SETTINGS)
    other = rank(case.question, shuffled, case.timeline, SETTINGS)
    np.testing.assert_array_equal(alone.documents, other.documents)
    np.testing.assert_array_equal(alone.scores, other.scores)


@given(cases())
def test_the_order_of_rows_does_not_matter(case: Case):
    count = len(case.timeline)
    new_order = np.random.default_rng(11).permutation(count)
    place = np.empty(count, dtype=np.intp)
    place[new_order] = np.arange(count)
    timeline = case.timeline
    assert timeline.asks is not None
    moved = replace(
        timeline,
        rooms=timeline.rooms[new_order],
        times=timeline.times[new_order],
        lengths=timeline.lengths[new_order],
        speakers=timeline.speakers[new_order],
        kinds=timeline.kinds[new_order],
        importance=timeline.importance[new_order],
        trust=timeline.trust[new_order],
        asks=timeline.asks[new_order],
        fingerprints=timeline.fingerprints[new_order],
    )
    eligible = case.candidates.eligible
    candidates = replace(
        case.candidates,
        postings=tuple(replace(posting, documents=place[posting.documents]) for posting in case.candidates.postings),
        vector_documents=place[case.candidates.vector_documents],
        eligible=None if eligible is None else eligible[new_order],
    )
    ranking = rank(case.question, case.candidates, timeline, SETTINGS)
    other = rank(case.question, candidates, moved, SETTINGS)
    np.testing.assert_array_equal(place[ranking.documents], other.documents)
    # Means over the scope are sums in the order of rows, so the last bit may differ.
    np.testing.assert_allclose(ranking.scores, other.scores, rtol=1e-12)


@given(cases())
def test_a_lower_limit_gives_the_beginning_of_a_higher_one(case: Case):
    more = rank(replace(case.question, limit=case.question.limit + 1), case.candidates, case.timeline, SETTINGS)
    fewer = rank(case.question, case.candidates, case.timeline, SETTINGS)
    np.testing.assert_array_equal(fewer.documents, more.documents[: case.question.limit])
    np.testing.assert_array_equal(fewer.scores, more.scores[: case.question.limit])


@given(cases(), st.integers(0, 2**16))
def test_a_stricter_filter_only_takes_hits_away(case: Case, seed: int):
    count = len(case.timeline)
    question = replace(case.question, limit=1_000)
    unfolded = replace(SETTINGS, fold=False)
    eligible = case.candidates.eligible
    admitted = np.ones(count, dtype=np.bool_) if eligible is None else eligible
    stricter = admitted & (np.random.default_rng(seed).random(count) < 0.5)
    loose = rank(question, case.candidates, case.timeline, unfolded)
    strict = rank(question, replace(case.candidates, eligible=stricter), case.timeline, unfolded)
    scores = dict(zip(loose.documents.tolist(), loose.scores.tolist(), strict=True))
    expected = [row for row in loose.documents.tolist() if stricter[row]]
    assert strict.documents.tolist() == expected
    assert strict.scores.tolist() == [scores[row] for row in expected]


@given(cases())
def test_folding_hides_nothing(case: Case):
    question = replace(case.question, limit=1_000)
    folded = rank(question, case.candidates, case.timeline, SETTINGS)
    plain = rank(question, case.candidates, case.timeline, replace(SETTINGS, fold=False))
    together = [*folded.documents.tolist(), *(row for rows in folded.folded for row in rows)]
    assert sorted(together) == sorted(plain.documents.tolist())
    marks = case.timeline.fingerprints
    for head, rows in zip(folded.documents.tolist(), folded.folded, strict=True):
        assert all(marks[row] == marks[head] != 0 for row in rows)
        assert all(case.timeline.speakers[row] == case.timeline.speakers[head] for row in rows)


@given(cases(), st.integers(0, 30))
def test_a_timeline_that_grew_is_linked_as_if_it_had_always_been_so(case: Case, first: int):
    timeline = replace(case.timeline, times=np.sort(case.timeline.times))
    beginning = replace(
        timeline,
        numbers=timeline.numbers[:first],
        rooms=timeline.rooms[:first],
        times=timeline.times[:first],
        lengths=timeline.lengths[:first],
        speakers=timeline.speakers[:first],
        kinds=timeline.kinds[:first],
        importance=timeline.importance[:first],
        trust=timeline.trust[:first],
        asks=timeline.asks[:first],
        fingerprints=timeline.fingerprints[:first],
    )
    grown = arrange(timeline, SETTINGS, arrange(beginning, SETTINGS))
    fresh = arrange(timeline, SETTINGS)
    for step in ("before", "after", "second_before", "second_after"):
        np.testing.assert_array_equal(getattr(grown.neighbours, step), getattr(fresh.neighbours, step))
    np.testing.assert_allclose(grown.lengths.total, fresh.lengths.total, rtol=1e-12)
    np.testing.assert_array_equal(grown.lengths.damping, fresh.lengths.damping)
    assert grown.lengths.mean == pytest.approx(fresh.lengths.mean)


@given(cases(), st.integers(0, 30))
def test_a_timeline_that_gained_something_old_is_linked_anew(case: Case, first: int):
    beginning = Timeline(
        numbers=case.timeline.numbers[:first],
        rooms=case.timeline.rooms[:first],
        times=case.timeline.times[:first],
        lengths=case.timeline.lengths[:first],
        speakers=case.timeline.speakers[:first],
        kinds=case.timeline.kinds[:first],
        importance=case.timeline.importance[:first],
        trust=case.timeline.trust[:first],
        fingerprints=case.timeline.fingerprints[:first],
        asks=case.timeline.asks[:first],
        speaker_names=case.timeline.speaker_names,
        kind_names=case.timeline.kind_names,
    )
    grown = arrange(case.timeline, SETTINGS, arrange(beginning, SETTINGS))
    fresh = link(case.timeline, SETTINGS)
    np.testing.assert_array_equal(grown.neighbours.before, fresh.before)
    np.testing.assert_array_equal(grown.neighbours.second_after, fresh.second_after)


@given(cases())
def test_neighbours_are_messages_of_one_session_in_order(case: Case):
    timeline = case.timeline
    neighbours = link(timeline, SETTINGS)
    for row, following in enumerate(neighbours.after.tolist()):
        if following == -1:
            continue
        assert neighbours.before[following] == row
        assert timeline.rooms[row] == timeline.rooms[following]
        assert 0 <= timeline.times[following] - timeline.times[row] <= SETTINGS.session_gap
        assert timeline.kinds[row] == timeline.kinds[following] == timeline.kind_names.index("message")


@given(cases())
def test_a_prepared_structure_changes_nothing(case: Case):
    prepared = arrange(case.timeline, SETTINGS)
    ranking = rank(case.question, case.candidates, case.timeline, SETTINGS)
    other = rank(case.question, case.candidates, case.timeline, SETTINGS, prepared)
    np.testing.assert_array_equal(ranking.documents, other.documents)


@given(cases())
def test_in_vector_mode_the_order_is_that_of_the_cosine(case: Case):
    question = replace(case.question, mode="vector", threshold=0.0, limit=1_000)
    candidates = replace(case.candidates, eligible=None)
    ranking = rank(question, candidates, case.timeline, replace(SETTINGS, fold=False))
    cosine = dict(zip(candidates.vector_documents.tolist(), candidates.vector_scores.tolist(), strict=True))
    found = [cosine[row] for row in ranking.documents.tolist()]
    assert found == sorted(cosine.values(), reverse=True)


def test_no_candidates_no_hits():
    empty = np.zeros(0)
    timeline = Timeline(
        numbers=empty.astype(np.int64),
        rooms=empty.astype(np.int32),
        times=empty.astype(np.int64),
        lengths=empty.astype(np.int32),
        speakers=empty.astype(np.int32),
        kinds=empty.astype(np.int8),
        importance=empty.astype(np.float32),
        trust=empty.astype(np.float32),
        fingerprints=empty.astype(np.int64),
        asks=empty.astype(np.bool_),
        speaker_names=(),
        kind_names=(),
    )
    question = Question(text="?", terms=("a",), meaning="?", at=0)
    assert len(rank(question, Candidates(), timeline)) == 0


pytestmark = pytest.mark.requirement("record.search-text")
