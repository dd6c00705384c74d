"""Search by vector: exact order, models that change, and embeddings that fail."""

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
from rememo.testing.clock import ManualClock
from rememo.testing.embedders import FailingEmbedder, NetworkEmbedder, WordEmbedder

HOUR = timedelta(hours=1)


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
        hits_above = view.similar(question.tolist(), limit=limit, threshold=0.3)
        assert ids(hits_above) == [added.ids[int(i)] for i in expected if cosines[i] >= 0.3]

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
        distant = NetworkEmbedder()
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
        distant = NetworkEmbedder()
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
        distant = NetworkEmbedder(dimension=8)
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
        second = other.add("Miso sleeps on the sofa", learn=False)
        memory.reembed(WordEmbedder("second-model", 8))
        added = other.add("Rex sleeps in the kitchen", learn=False)
        changed = other.update(second.id, metadata={"seen": True})
        assert not changed.jobs, "it keeps the vector that the change gave it"
        hits = other.search("who sleeps?", explain=True)
        assert sorted(ids(hits)) == sorted([second.id, added.id])
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
