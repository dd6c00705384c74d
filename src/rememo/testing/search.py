"""Search: what is eligible, what is never found, and odd questions. How well it ranks is measured elsewhere."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import EmbeddingFailed, EmbeddingMismatch, InvalidInput, JobFailed
from rememo.memory import Memory
from rememo.settings import Settings
from rememo.testing.base import OpenMemory, Suite, examples, ids, texts
from rememo.testing.clock import START, ManualClock
from rememo.testing.embedders import DistantEmbedder, FailingEmbedder, InterruptingEmbedder, WordEmbedder

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
            kept = memory.search("harbour wind", mode=mode, limit=50, threshold=threshold)
            assert kept == [hit for hit in every if hit.score >= threshold]

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


class SimilarSuite(Suite):
    """`similar` and embeddings."""

    @pytest.mark.requirement("record.search-similar", "record.embed-one-and-batch")
    @given(seed=st.integers(0, 2**32 - 1), number=st.integers(1, 30), limit=st.integers(1, 12))
    @examples(25)
    def test_the_order_is_that_of_an_exact_scan(self, memory: Memory, seed: int, number: int, limit: int) -> None:
        random = np.random.default_rng(seed)
        view = memory.scope(tenant=f"similar-{seed}-{number}-{limit}")
        view.clear()
        matrix = random.normal(size=(number, 16)).astype(np.float32)
        added = view.add_many([{"text": f"{i}", "embedding": row.tolist()} for i, row in enumerate(matrix)])
        question = random.normal(size=16).astype(np.float32)
        units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        cosines = units @ (question / np.linalg.norm(question))
        expected = [i for i in np.argsort(-cosines, kind="stable") if cosines[i] >= 0][:limit]
        hits = view.similar(question.tolist(), limit=limit)
        assert ids(hits) == [added.ids[int(i)] for i in expected]
        assert [hit.score for hit in hits] == pytest.approx([float(cosines[i]) for i in expected], abs=1e-5)
        kept = view.similar(question.tolist(), limit=limit, threshold=0.3)
        assert ids(kept) == [added.ids[int(i)] for i in expected if cosines[i] >= 0.3]

    def test_filters_come_before_the_nearest(self, memory: Memory) -> None:
        for number in range(30):
            memory.add(str(number), embedding=[1.0, 0.01 * number] + [0.0] * 14)
        memory.add("x", id="x", kind="post", metadata={"a": 1}, embedding=[0.5, 0.5] + [0.0] * 14)
        question = [1.0] + [0.0] * 15
        assert ids(memory.similar(question, kind="post", limit=1)) == ["x"]
        assert ids(memory.similar(question, metadata={"a": 1}, limit=1)) == ["x"]

    def test_a_length_does_not_matter_a_direction_does(self, memory: Memory) -> None:
        memory.add("far", embedding=[1e-20] + [0.0] * 15)
        for length in (1e-20, 1.0, 1e39):
            [hit] = memory.similar([length] + [0.0] * 15)
            assert hit.score == pytest.approx(1.0, abs=1e-5)

    @pytest.mark.requirement("record.embed-one-and-batch")
    @pytest.mark.parametrize(
        ("vector", "names"),
        [
            ([1.0] * 15, "15"),
            ([1.0] * 17, "16"),
            ([], "16"),
            ([[1.0] * 16], "16"),
            ([float("nan")] * 16, "NaN"),
            ([float("inf")] + [0.0] * 15, "infinity"),
            ([0.0] * 16, "zeros"),
            (["a"] * 16, "numbers"),
            ("text", "numbers"),
        ],
    )
    def test_a_vector_that_cannot_be_meant_is_an_error(self, memory: Memory, vector: Any, names: str) -> None:
        with pytest.raises(InvalidInput, match=names):
            memory.similar(vector)
        with pytest.raises(InvalidInput, match=names):
            memory.add("text", embedding=vector)
        with pytest.raises(InvalidInput, match=names):
            memory.add_many(["fine", {"text": "text", "embedding": vector}])
        assert memory.count() == 0

    def test_the_message_names_the_model_and_its_dimension(self, memory: Memory) -> None:
        with pytest.raises(EmbeddingMismatch, match=r"embedding.*test-words.*16"):
            memory.add("text", embedding=[1.0] * 3)

    @pytest.mark.requirement("record.embed-one-and-batch")
    def test_one_text_or_many_are_embedded_alike(self, memory: Memory) -> None:
        memory.add("red boat")
        memory.add_many(["red boat", {"text": "green hill"}])
        [vector] = WordEmbedder().embed(["red boat"])
        assert vector is not None
        hits = memory.similar(vector.tolist(), threshold=0.99)
        assert texts(hits) == ["red boat", "red boat"]
        assert memory.stats().vectors == 3

    def test_without_an_embedder_words_still_work(self, open_memory: OpenMemory) -> None:
        memory = open_memory(embedder=None)
        id = memory.add("Miso sleeps on the sofa").id
        assert ids(memory.search("sofa")) == [id]
        assert memory.stats().vectors == 0
        with pytest.raises(EmbeddingMismatch, match="embedder=None"):
            memory.similar([1.0] * 16)
        with pytest.raises(EmbeddingMismatch, match="embedder=None"):
            memory.add("text", embedding=[1.0] * 16)

    def test_asking_for_meaning_without_an_embedder_is_an_error(self, open_memory: OpenMemory) -> None:
        memory = open_memory(embedder=None)
        memory.add("Miso sleeps on the sofa")
        with pytest.raises(InvalidInput, match="embedder"):
            memory.search("sofa", mode="vector")

    def test_a_failed_embedding_is_no_vector_and_a_job(self, open_memory: OpenMemory) -> None:
        memory = open_memory(embedder=FailingEmbedder())
        receipt = memory.add("Miso sleeps on the sofa", learn=False)
        assert receipt.status == "learning"
        assert len(receipt.jobs) == 1
        assert memory.get(receipt.id).text == "Miso sleeps on the sofa"
        assert ids(memory.search("sofa", mode="words")) == [receipt.id]
        assert memory.stats().vectors == 0
        assert sum(memory.stats().jobs.values()) == 1, "it waits, or is being tried again"
        assert memory.similar([1.0] * 16) == []
        assert memory.verify().ok
        many = memory.add_many(["one", "two"])
        assert len(many.jobs) == 2
        jobs = [job.id for job in memory.jobs.list()]
        assert [job.id for job in memory.jobs.list(limit=2)] == jobs[1:]
        assert [job.id for job in memory.jobs.list(limit=9, before=jobs[2])] == jobs[:2]
        assert memory.jobs.list("dead", limit=9) == memory.jobs.list(before=jobs[0]) == []
        with pytest.raises(InvalidInput, match="limit"):
            memory.jobs.list(limit=0)

    def test_no_write_waits_for_a_distant_model_and_nothing_is_paid_for_twice(self, open_memory: OpenMemory) -> None:
        distant = DistantEmbedder()
        memory = open_memory(embedder=distant)
        messages = ("Miso sleeps on the sofa", "Rex barks", "Miso sleeps on the sofa")
        receipt = memory.add_many([{"text": text, "learn": False} for text in messages])
        assert distant.asked == []
        assert len(receipt.jobs) == 3
        assert ids(memory.search("barks")) == [receipt.ids[1]]
        receipt.wait()
        assert memory.stats().vectors == 3
        memory.add("Rex barks").wait()
        paid = [text for text in distant.asked if text in ("Miso sleeps on the sofa", "Rex barks")]
        assert len(paid) == len(set(paid)) == 2
        [vector] = WordEmbedder("any").embed(["Rex barks"])
        assert vector is not None
        assert texts(memory.similar(vector.tolist(), limit=2)) == ["Rex barks"] * 2
        assert memory.stats().keys == 0
        assert memory.verify().ok

    def test_words_find_while_a_distant_model_is_away(self, open_memory: OpenMemory) -> None:
        distant = DistantEmbedder()
        memory = open_memory(embedder=distant)
        distant.away = True
        receipt = memory.add("Miso sleeps on the sofa")
        assert ids(memory.search("where does miso sleep?")) == [receipt.id]
        with pytest.raises(EmbeddingFailed):
            memory.search("sofa", mode="vector")
        with pytest.raises(JobFailed, match="cannot be reached"):
            receipt.wait(timeout=0.2)
        distant.away = False

    @pytest.mark.requirement("embed.online-change")
    def test_a_store_goes_to_a_distant_model_and_back(self, open_memory: OpenMemory) -> None:
        memory = open_memory()
        receipt = memory.add_many(["Miso sleeps on the sofa", "Rex barks"])
        memory.update(receipt.ids[0], pinned=True)
        distant = DistantEmbedder(dimension=8)
        assert memory.reembed(distant) == 3
        assert memory.stats().vectors == 3
        assert distant.asked == ["Miso sleeps on the sofa", "Rex barks"]
        assert memory.reembed(WordEmbedder()) == 3
        assert memory.reembed(distant) == 3
        assert distant.asked == ["Miso sleeps on the sofa", "Rex barks"]
        assert memory.verify().ok

    @pytest.mark.requirement("embed.online-change")
    def test_who_has_not_got_the_new_model_goes_by_words_and_loses_no_vector(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        quiet = Settings(worker=False)
        memory = open_memory(embedder=WordEmbedder("first-model"), settings=quiet)
        other = open_memory(embedder=WordEmbedder("first-model"), settings=quiet)
        kept = other.add("Miso sleeps on the sofa", learn=False)
        memory.reembed(WordEmbedder("second-model", 8))
        added = other.add("Rex sleeps in the kitchen", learn=False)
        changed = other.update(kept.id, metadata={"seen": True})
        assert not changed.jobs, "it keeps the vector that the change gave it"
        hits = other.search("who sleeps?", explain=True)
        assert sorted(ids(hits)) == sorted([kept.id, added.id])
        assert all("words_only" in hit.reasons for hit in hits)
        assert "second-model" in str(other.stats().words_only)
        assert added.wait().status == "learning", "it is left to who has the model"
        assert [job.attempts for job in other.jobs.list("waiting")] == [0]
        assert (other.verify().ok, other.verify().owed_vectors) == (True, 1)
        assert other.reembed(WordEmbedder("second-model", 8)) == 0
        assert added.wait().status == "done"
        for opened in (memory, other):
            assert ids(opened.search("Rex sleeps in the kitchen", mode="vector", limit=1)) == [added.id]
            assert (opened.verify().ok, opened.verify().owed_vectors) == (True, 0)

    @pytest.mark.requirement("extend.embedding-model")
    def test_vectors_of_another_model_are_refused_by_name(self, open_memory: OpenMemory) -> None:
        self.need_reopening()
        memory = open_memory(embedder=WordEmbedder("first-model"))
        memory.add("Miso sleeps on the sofa")
        memory.close()
        for other in (WordEmbedder("second-model"), WordEmbedder("first-model", 8)):
            with pytest.raises(EmbeddingMismatch, match=rf"first-model.*{other.name}.*reembed"):
                open_memory(embedder=other)
        assert len(open_memory(embedder=WordEmbedder("first-model")).search("sofa")) == 1

    def test_a_store_without_vectors_takes_another_model(self, open_memory: OpenMemory, clock: ManualClock) -> None:
        self.need_reopening()
        open_memory(embedder=WordEmbedder("first-model")).close()
        clock.advance()
        memory = open_memory(embedder=WordEmbedder("second-model"))
        memory.add("Miso sleeps on the sofa")
        assert memory.stats().vectors == 1
