"""Search: what is eligible, what is never found, and odd questions. How well it ranks is measured elsewhere."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.memory import Memory
from rememo.testing.base import OpenMemory, Suite, examples, ids, texts
from rememo.testing.clock import START, ManualClock
from rememo.testing.embedders import InterruptingEmbedder, WordEmbedder

MODES = ("hybrid", "words", "vector")
HOUR = timedelta(hours=1)


class SearchSuite(Suite):
    """`search`."""

    @pytest.mark.requirement("record.search-text", "search.semantic", "write.receipt")
    @pytest.mark.parametrize("mode", MODES)
    def test_findable_when_add_returns(self, memory: Memory, mode: Any) -> None:
        memory.add("the parcel arrives on friday")
        id = memory.add("Miso sleeps on the blue sofa").id
        memory.add("rent is due in march")
        [first, *_] = memory.search("Miso blue sofa", mode=mode)
        assert first.id == id
        assert first.text == "Miso sleeps on the blue sofa"
        assert 0 < first.score <= 1

    @pytest.mark.parametrize("mode", MODES)
    def test_hits_come_best_first_and_no_more_than_the_limit(self, memory: Memory, mode: Any) -> None:
        for number in range(30):
            memory.add(" ".join(["harbour"] * (number % 3 + 1) + [f"word{number}"]))
        hits = memory.search("harbour word7", mode=mode, limit=7)
        assert len(hits) <= 7
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert len(set(ids(hits))) == len(hits)

    def test_words_are_found_whatever_their_form(self, memory: Memory) -> None:
        memory.add("We were running along the CAFÉ terraces")
        for query in ("run", "Running", "cafe", "café", "TERRACE"):
            assert len(memory.search(query, mode="words")) == 1, query

    def test_a_word_that_nobody_said_is_not_found(self, memory: Memory) -> None:
        memory.add("the parcel arrives on friday")
        assert memory.search("xylophone", mode="words") == []

    @pytest.mark.requirement("record.search-filters", "search.metadata", "search.date-range", "record.search-time")
    @pytest.mark.parametrize("mode", MODES)
    def test_filters_come_before_the_best_hits(self, memory: Memory, mode: Any) -> None:
        for number in range(50):
            memory.add(f"coffee coffee coffee {number}", occurred_at=START - 100 * HOUR)
        memory.add(
            "one remark on coffee in the rain", id="x", kind="post", metadata={"topic": "rain"}, occurred_at=START - HOUR,
            valid_from=START - 2 * HOUR,
        )  # fmt: skip
        assert ids(memory.search("coffee", kind="post", limit=1, mode=mode)) == ["x"]
        assert ids(memory.search("coffee", metadata={"topic": "rain"}, limit=1, mode=mode)) == ["x"]
        assert ids(memory.search("coffee", after=START - 2 * HOUR, limit=1, mode=mode)) == ["x"]
        assert ids(memory.search("coffee", before=START - 99 * HOUR, kind="post", mode=mode)) == []
        assert "x" not in ids(memory.search("coffee rain", valid_at=START - 3 * HOUR, limit=60, mode=mode))

    @pytest.mark.parametrize("mode", MODES)
    def test_search_looks_among_the_records_that_are_named(self, memory: Memory, mode: Any) -> None:
        best = [memory.add(f"coffee coffee coffee {number}").id for number in range(50)]
        memory.add("one remark on coffee in the rain", id="x")
        memory.add("coffee elsewhere", id="gone")
        memory.delete("gone")
        assert ids(memory.search("coffee", ids=["x", "gone", "never there"], limit=1, mode=mode)) == ["x"]
        assert set(ids(memory.search("coffee", ids=["x", *best[:2]], mode=mode))) <= {"x", *best[:2]}
        assert memory.search("coffee", ids=[], mode=mode) == []
        assert ids(memory.search("", ids=["x"])) == ["x"]
        with pytest.raises(InvalidInput, match="ids must be a collection"):
            memory.search("coffee", ids="x", mode=mode)

    def test_similar_looks_among_the_records_that_are_named(self, memory: Memory) -> None:
        for number in range(50):
            memory.add(f"coffee {number}")
        memory.add("one remark on coffee in the rain", id="x")
        [vector] = WordEmbedder().embed(["coffee"])
        assert vector is not None
        assert ids(memory.similar(vector, ids=["x", "never there"], limit=1)) == ["x"]
        assert memory.similar(vector, ids=[]) == []

    @pytest.mark.parametrize("mode", MODES)
    def test_what_was_deleted_or_reworded_is_never_found(self, memory: Memory, mode: Any) -> None:
        memory.add("the aquarium key", id="gone")
        memory.add("the aquarium door", id="reworded")
        memory.delete("gone")
        memory.update("reworded", text="the observatory door")
        hits = memory.search("aquarium key door", mode=mode)
        assert "gone" not in ids(hits)
        assert all("aquarium" not in hit.text for hit in hits)

    @pytest.mark.parametrize("mode", MODES)
    def test_state_is_kept_and_listed_but_never_found(
        self, memory: Memory, open_memory: OpenMemory, clock: ManualClock, mode: Any
    ) -> None:
        memory.add("Miso sleeps on the sofa", kind="state", id="held", data={"value": 1})
        before = memory.add("Miso sleeps on the chair", id="said").recorded_at
        clock.advance(1)
        memory.update("held", text="Miso sleeps on the sofa again")
        [vector] = WordEmbedder().embed(["Miso sofa"])
        assert vector is not None
        for view in (memory, open_memory()) if self.reopens else (memory,):
            assert ids(view.search("Miso sofa", mode=mode)) == ["said"]
            assert ids(view.search("Miso sofa", mode=mode, known_at=before)) == ["said"]
            assert ids(view.search("Miso sofa", mode=mode, valid_at=START)) == ["said"]
            assert view.search("Miso sofa", mode=mode, kind="state") == []
            assert ids(view.search("Miso sofa", mode=mode, kind=["note", "state"])) == ["said"]
            assert ids(view.search("", after=START - HOUR)) == ["said"]
            assert view.search("", kind="state") == []
            assert ids(view.similar(vector)) == ["said"]
            assert ids(view.list(kind="state")) == ["held"]
            assert view.count() == 2
            assert view.count(kind="state") == 1
        assert len(memory.history("held")) == 2

    @pytest.mark.parametrize(
        "query",
        [
            'miso AND "sofa',
            "miso OR",
            "NOT miso",
            "NEAR(miso sofa, 5)",
            "miso*",
            "-miso",
            "^miso",
            "text:miso",
            "{miso}: sofa",
            "miso's 'sofa'",
            '"miso" + ("sofa")',
            "miso; DROP TABLE records",
            "miso \\ % _ ? [a-z]",
            "miso\n\tsofa\r",
            "🐈 miso 猫",
            "\uff4d\uff49\uff53\uff4f",  # full width
            "miso\u0301 sofa",
            "miso \x01\x7f sofa",
        ],
    )
    def test_operators_quotes_and_odd_characters_are_words(self, memory: Memory, query: str) -> None:
        id = memory.add("Miso sleeps on the sofa").id
        for mode in MODES:
            memory.search(query, mode=mode)
        assert id in ids(memory.search(query))

    @given(query=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40))
    @examples(60)
    def test_any_text_is_a_question(self, memory: Memory, query: str) -> None:
        if memory.count() == 0:
            memory.add("Miso sleeps on the sofa 猫")
        for mode in MODES:
            memory.search(query or "miso", kind="note", mode=mode)

    def test_a_question_without_a_word_finds_nothing(self, memory: Memory) -> None:
        memory.add("Miso sleeps on the sofa")
        for query in ("!!!", "🐈", '"', "*"):
            assert memory.search(query, mode="words") == []

    def test_a_very_long_question_is_answered(self, memory: Memory) -> None:
        id = memory.add("Miso sleeps on the sofa").id
        assert ids(memory.search("miso " * 20_000)) == [id]

    @pytest.mark.parametrize("query", ["", " ", "\n\t"])
    def test_a_blank_query_needs_a_filter(self, memory: Memory, query: str) -> None:
        memory.add("here")
        with pytest.raises(InvalidInput, match=r"query is empty.*filter"):
            memory.search(query)
        with pytest.raises(InvalidInput, match="query is empty"):
            memory.scope(user="alice").search(query)

    @pytest.mark.requirement("record.search-time")
    @pytest.mark.parametrize("mode", MODES)
    def test_a_blank_query_with_a_filter_returns_what_it_means_newest_first(self, memory: Memory, mode: Any) -> None:
        for hour in range(4):
            memory.add(str(hour), kind="post", occurred_at=START + hour * HOUR)
        memory.add("other", occurred_at=START + 9 * HOUR)
        assert texts(memory.search("", kind="post", mode=mode)) == ["3", "2", "1", "0"]
        assert texts(memory.search(" ", after=START + HOUR, kind="post", limit=2, mode=mode)) == ["3", "2"]

    def test_a_threshold_is_where_the_hits_end(self, memory: Memory) -> None:
        for number in range(8):
            memory.add("harbour " * (number + 1) + "boat " * (8 - number) + f"word{number}")
        memory.add("harbour wind")
        for mode in MODES:
            every = memory.search("harbour wind", mode=mode, limit=50)
            threshold = every[len(every) // 2].score
            hits_above = memory.search("harbour wind", mode=mode, limit=50, threshold=threshold)
            assert hits_above == [hit for hit in every if hit.score >= threshold]

    @pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan"), True, "0.5", None])
    def test_a_threshold_that_cannot_be_meant_is_an_error(self, memory: Memory, threshold: Any) -> None:
        with pytest.raises(InvalidInput, match="threshold must be a number from 0 to 1"):
            memory.search("word", threshold=threshold)
        with pytest.raises(InvalidInput, match="threshold must be a number from 0 to 1"):
            memory.similar([1.0] * 16, threshold=threshold)

    def test_other_arguments_that_cannot_be_meant(self, memory: Memory) -> None:
        with pytest.raises(InvalidInput, match='mode must be "hybrid"'):
            memory.search("word", mode="fuzzy")  # pyright: ignore[reportArgumentType] - the fault shown
        for query, names in (
            ("nul \x00", "NUL"),
            ("\ud800", "surrogate"),
            (None, "query must be text"),
            (b"x", "query"),
        ):
            with pytest.raises(InvalidInput, match=names):
                memory.search(query)  # pyright: ignore[reportArgumentType] - the fault shown
        with pytest.raises(InvalidInput, match="no kind 'rumour'"):
            memory.search("word", kind="rumour")

    @pytest.mark.requirement("explain")
    def test_each_hit_says_why_when_asked(self, memory: Memory) -> None:
        memory.add("Miso sleeps on the sofa")
        [plain] = memory.search("miso")
        [explained] = memory.search("miso", explain=True)
        assert explained.score == plain.score
        assert explained.reasons
        assert all(isinstance(value, float) for value in explained.reasons.values())

    def test_a_record_without_words_is_kept_and_listed(self, memory: Memory) -> None:
        memory.add("")
        memory.add("🐈")
        memory.add("miso")
        assert len(memory.list()) == 3
        assert texts(memory.search("miso")) == ["miso"]

    def test_another_write_during_a_search_does_not_disturb_it(self, open_memory: OpenMemory) -> None:
        embedder = InterruptingEmbedder()
        memory = open_memory(embedder=embedder)
        id = memory.add("Miso sleeps on the sofa").id
        embedder.meanwhile = lambda: memory.add_many(["another miso", "a third sofa"])
        assert id in ids(memory.search("miso sofa"))
