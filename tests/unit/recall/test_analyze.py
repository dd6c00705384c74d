import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.recall.analyze import Analyzer, fingerprint

ENGLISH = Analyzer()


def test_words_are_case_folded_and_stemmed_and_function_words_left_out():
    assert ENGLISH.terms("We PAINTED the Houses") == ENGLISH.terms("painting houses")


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("Please check order-4711 today", "order-4711"),
        ("Please check order-4711 today", "4711"),
        ("the column user_id is null", "user_id"),
        ("the column user_id is null", "id user"),
        ("call getUserId() twice", "getuserid"),
        ("call getUserId() twice", "user"),
        ("it happened at 10:30", "10:30"),
        ("we paid $1,000 for it", "1000"),
        ("written in C++ and C#", "c++"),
        ("send me an e-mail", "email"),
        ("Caroline's birthday", "caroline"),
        ("my iPhone15 broke", "iphone 15"),
        ("wir trinken im Café", "cafe"),
        ("wir trinken im cafe", "café"),
        ("Mr O\u2019Brien came", "o'brien"),
        ("Mr O'Brien came", "obrien"),
        ("\uff26\uff55\uff4c\uff4c width", "full"),
        ("我的猫叫咪咪", "猫"),
        ("我住在东京都", "东京"),
        ("สวัสดีครับ", "สวัสดี"),
        ("나는 서울에 산다", "서울"),
        ("मेरी भाषा हिन्दी है", "हिन्दी"),
    ],
)
@pytest.mark.requirement("record.search-text")
def test_a_question_in_other_writing_asks_for_a_term_that_is_indexed(written: str, asked: str):
    assert set(ENGLISH.query(asked)) & set(ENGLISH.terms(written))


def test_an_identifier_is_more_than_its_parts():
    whole = set(ENGLISH.terms("order-4711")) - set(ENGLISH.terms("order 4711"))
    assert whole == {"order-4711"}


def test_one_han_character_of_a_longer_word_is_not_asked_for():
    assert "东" not in ENGLISH.query("东京")
    assert ENGLISH.query("猫") == ["猫"]


def test_stop_words_are_kept_when_there_is_nothing_else():
    assert ENGLISH.query("who are you") == ["who", "are", "you"]
    assert ENGLISH.content("who are you") == ["who", "are", "you"]
    assert ENGLISH.content("who are you", never_empty=False) == []


def test_content_words_stay_as_written():
    assert ENGLISH.content("I moved to Lisbon with Anna's cat!") == ["moved", "Lisbon", "Anna", "cat"]


@pytest.mark.parametrize("nothing", ["", "   ", "...", "\u200b", "—", "?!"])
def test_a_text_without_words_has_no_terms(nothing: str):
    assert ENGLISH.terms(nothing) == []
    assert ENGLISH.query(nothing) == []
    assert ENGLISH.content(nothing) == []


def test_the_language_decides_stems_and_stop_words():
    german = Analyzer("german")
    assert german.terms("die Häuser und das Haus") != ENGLISH.terms("die Häuser und das Haus")
    assert "und" not in german.terms("Häuser und Gärten")


def test_an_unknown_language_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="english"):
        Analyzer("klingon")


@given(st.text(max_size=200))
def test_whatever_is_asked_would_find_itself(text: str):
    assert set(ENGLISH.query(text)) <= set(ENGLISH.terms(text))


@given(st.text(max_size=200))
def test_terms_are_never_blank_and_the_cache_changes_nothing(text: str):
    first = ENGLISH.terms(text)
    assert first == ENGLISH.terms(text) == Analyzer().terms(text)
    assert all(term.strip() for term in first)


@given(st.lists(st.sampled_from(["red", "green", "user_id", "4711", "東京"]), min_size=1))
def test_the_fingerprint_depends_on_the_set_of_terms_only(words: list[str]):
    terms = ENGLISH.terms(" ".join(words))
    assert fingerprint(terms) == fingerprint(reversed(terms + terms))
    assert fingerprint(terms) != fingerprint([*terms, "other"])


@pytest.mark.parametrize("unit", ["x", "a-", "a'", "'s", "東", "1,", "é", "aB", "+", "_", ".", "a.b@", "\u0301", " a"])
def test_a_hundred_thousand_characters_take_well_under_a_second(unit: str):
    text = (unit * 100_000)[:100_000]
    start = time.process_time()
    ENGLISH.terms(text)
    ENGLISH.content(text)
    assert time.process_time() - start < 1.0


def test_threads_share_one_analyser():
    texts = [f"message{number} about Café-{number % 7} and painting houses" for number in range(400)]
    shared = Analyzer()
    barrier = threading.Barrier(4)

    def analyse() -> list[list[str]]:
        barrier.wait()
        return [shared.terms(text) for text in texts]

    with ThreadPoolExecutor(4) as pool:
        results = [future.result() for future in [pool.submit(analyse) for _ in range(4)]]
    expected = [Analyzer().terms(text) for text in texts]
    assert all(result == expected for result in results)


def test_more_pieces_than_are_remembered(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rememo.recall.analyze._REMEMBERED_PIECES", 10)
    small = Analyzer()
    text = " ".join(f"word{number}" for number in range(100))
    assert small.terms(text) == ENGLISH.terms(text)
    assert len(small._terms) <= 10  # pyright: ignore[reportPrivateUsage]  # the bound has no other outside
