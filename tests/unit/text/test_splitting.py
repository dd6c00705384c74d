"""Splitting: everything is covered, offsets are exact, sizes are bounded, words stay whole."""

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.text.splitting import ChunkSizes, find_headings, join_chunks, sentence_spans, split_text

SMALL = ChunkSizes(target=40, most=60, overlap=8)

words = st.text(alphabet="abcXYZ.!?0é世。#-", min_size=1, max_size=90)
gaps = st.sampled_from([" ", "  ", "\n", "\n\n", "\r\n\r\n", "\t", "\n# ", "\n\n## ", " " * 70, "\n```\n", "\n===\n"])
structured = st.lists(st.tuples(words, gaps), max_size=60).map(lambda pairs: "".join(word + gap for word, gap in pairs))
texts = st.one_of(structured, st.text(max_size=400))
sizes = st.sampled_from(
    [SMALL, ChunkSizes(target=8, most=8, overlap=1), ChunkSizes(target=20, most=90, overlap=0), ChunkSizes()]
)


@given(texts, sizes)
def test_chunks_cover_the_text_and_give_it_back(text: str, size: ChunkSizes):
    pieces = split_text(text, size)
    assert join_chunks([(piece.start, piece.end, text[piece.start : piece.end]) for piece in pieces]) == text
    assert all(0 < piece.end - piece.start <= size.most for piece in pieces)
    assert all(b.start <= a.end < b.end and a.start < b.start for a, b in pairwise(pieces))
    assert all(a.end - b.start <= size.overlap for a, b in pairwise(pieces))
    assert pieces == split_text(text, size)


@given(texts, sizes)
def test_no_word_is_cut_unless_it_is_longer_than_a_chunk(text: str, size: ChunkSizes):
    for piece in split_text(text, size):
        for cut in (piece.start, piece.end):
            if not 0 < cut < len(text) or text[cut - 1].isspace() or text[cut].isspace() or text[cut - 1] in "。！？":  # noqa: RUF001
                continue
            start, end = cut, cut
            while start > 0 and not text[start - 1].isspace():
                start -= 1
            while end < len(text) and not text[end].isspace():
                end += 1
            assert end - start > size.most


@given(texts)
def test_sentences_are_in_order_and_leave_out_nothing_but_space(text: str):
    found = sentence_spans(text)
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert "".join("".join(text[a:b].split()) for a, b in found) == "".join(text.split())


def test_a_chunk_ends_before_a_heading_and_knows_what_it_stands_under():
    body = "The cat sat on the mat. " * 15
    text = f"# Pets\n\n{body}\n\n## Cats\n\n{body}\n\n## Dogs\n\n{body}\n\nCars\n====\n\n{body}"
    pieces = split_text(text, ChunkSizes(target=400, most=600, overlap=50))
    assert [piece.headings for piece in pieces] == [("Pets",), ("Pets", "Cats"), ("Pets", "Dogs"), ("Cars",)]
    assert [text[piece.start :].split("\n", maxsplit=1)[0] for piece in pieces] == [
        "# Pets",
        "## Cats",
        "## Dogs",
        "Cars",
    ]


def test_a_chunk_ends_with_a_paragraph_and_repeats_its_last_sentence():
    paragraph = "Dr. Smith met the U.S. envoy in Lisbon. They talked about fish prices. Nobody was pleased."
    text = "\n\n".join([paragraph] * 6)
    pieces = split_text(text, ChunkSizes(target=200, most=300, overlap=40))
    assert len(pieces) > 2
    assert all(text[piece.start : piece.end].rstrip().endswith("Nobody was pleased.") for piece in pieces)
    assert all(text[piece.start :].startswith("Nobody was pleased.") for piece in pieces[1:])


def test_chunks_are_of_about_two_hundred_words():
    text = "\n\n".join("One of them went to the market and bought a fish there. " * 5 for _ in range(40))
    counts = [len(text[piece.start : piece.end].split()) for piece in split_text(text)]
    assert all(150 <= count <= 330 for count in counts[:-1])


def test_headings_of_markdown_and_none_in_fenced_code():
    text = "# One\ntext\n```\n# not this\n```\nTwo\n---\n- item\n---\n   ### Three ###\n#hashtag\n"
    assert [(heading.level, heading.title) for heading in find_headings(text)] == [(1, "One"), (2, "Two"), (3, "Three")]
    assert [text[heading.start :][:3] for heading in find_headings(text)] == ["# O", "Two", "###"]


def test_sentences_do_not_end_at_abbreviations():
    text = "Dr. A. Smith paid approx. 3.50 euros. Was it dear? e.g. for fish! 魚は高い。肉も高い。"
    assert [text[a:b] for a, b in sentence_spans(text)] == [
        "Dr. A. Smith paid approx. 3.50 euros.", "Was it dear? e.g. for fish!", "魚は高い。", "肉も高い。",
    ]  # fmt: skip


def test_splitting_takes_time_in_proportion():
    def seconds(text: str) -> float:
        best = 9.0
        for _ in range(3):
            start = time.thread_time()
            split_text(text)
            best = min(best, time.thread_time() - start)
        return best

    for unit in ("word ", "x", " ", "\n", "a. B", "# \n", "```\n", "。"):
        assert seconds(unit * 80_000) < 20 * seconds(unit * 10_000) + 0.05, unit


def test_sizes_that_would_never_end_are_refused():
    with pytest.raises(InvalidInput):
        ChunkSizes(target=100, most=200, overlap=25)
    with pytest.raises(InvalidInput):
        ChunkSizes(target=300, most=200, overlap=0)


def test_chunks_that_do_not_follow_on_each_other_are_refused():
    with pytest.raises(InvalidInput, match="missing"):
        join_chunks([(0, 3, "abc"), (4, 6, "ef")])
