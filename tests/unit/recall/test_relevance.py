"""Scores mean the same whatever the size of the scope, and a question without a topic is answered by time."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory
from rememo.recall.relevance import FLOOR, calibrate

NOW = datetime(2026, 5, 20, 12, tzinfo=UTC)
HANDFUL = [
    "I live in Lisbon.", "My cat is called Miso.", "I work at Acme as a designer.", "The invoice for March is paid.",
    "We went hiking near Sintra.", "I am allergic to peanuts.", "My sister Eva visits in June.",
]  # fmt: skip
ANSWERED = [
    "Where do I live?", "what is the cat's name?", "where did we hike?", "what am I allergic to?", "when does Eva visit?",
    "is the invoice paid?", "what's my job?",
]  # fmt: skip
FOREIGN = ["favourite pizza", "what is my favourite pizza?", "Who won the world cup?", "explain quantum entanglement"]


@pytest.fixture(scope="module")
def memory() -> Iterator[Memory]:
    with Memory(":memory:", clock=lambda: NOW) as memory:
        chat = memory.scope(user="ana", room="r1")
        for number, text in enumerate(HANDFUL):
            chat.messages.add("user", text, at=NOW - timedelta(days=len(HANDFUL) - number)).wait()
        yield memory


def test_calibrating_keeps_the_order_and_the_ends():
    for terms in (0, 1, 40, 700, 5_000, 1_000_000):
        scores = [calibrate(score / 10, terms) for score in range(11)]
        assert scores == sorted(scores)
        assert (scores[0], scores[-1]) == (0.0, 1.0)
    assert calibrate(0.3, 10**6) == pytest.approx(0.3)
    assert [calibrate(0.3, terms) for terms in (10, 100, 1_000)] == sorted(
        (calibrate(0.3, terms) for terms in (10, 100, 1_000)), reverse=True
    )


@pytest.mark.parametrize("question", ANSWERED)
def test_what_a_handful_of_records_answers_lies_above_the_floor(memory: Memory, question: str):
    assert memory.scope(user="ana").search(question, threshold=FLOOR)


@pytest.mark.parametrize("question", FOREIGN)
def test_what_it_does_not_answer_lies_below(memory: Memory, question: str):
    view = memory.scope(user="ana")
    assert view.search(question)  # there is a best of what there is
    assert view.search(question, threshold=FLOOR) == []


def test_the_same_holds_among_hundreds_of_other_records(memory: Memory):
    with Memory(":memory:", clock=lambda: NOW) as large:
        with large.batch() as batch:
            for number in range(400):
                text = f"Minutes of meeting {number}: the committee discussed topic {number % 37} and adjourned early."
                batch.scope(user="ana", room=f"m{number % 9}").add(text, kind="message", occurred_at=NOW)
        chat = large.scope(user="ana", room="r1")
        for text in HANDFUL:
            chat.messages.add("user", text, at=NOW).wait()
        view = large.scope(user="ana")
        assert [question for question in ANSWERED if not view.search(question, threshold=FLOOR)] == []
        assert [question for question in FOREIGN if view.search(question, threshold=FLOOR)] == []


def test_words_alone_have_the_same_floor():
    with Memory(":memory:", embedder=None, clock=lambda: NOW) as memory:
        chat = memory.scope(user="ana", room="r1")
        for text in HANDFUL:
            chat.messages.add("user", text, at=NOW).wait()
        assert [question for question in FOREIGN if chat.search(question, threshold=FLOOR)] == []
        assert chat.search("is the invoice paid?", threshold=FLOOR)[0].text == "The invoice for March is paid."
        assert chat.search("allergic", threshold=FLOOR)


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("What did I say yesterday?", "Eva"),
        ("what did I tell you two days ago?", "peanuts"),
        ("what did I say?", "Eva"),
        ("what do you know about me?", "Eva"),
        ("what happened on 17 May 2026?", "Sintra"),
    ],
)
def test_a_question_without_a_topic_is_answered_by_whose_and_when(memory: Memory, question: str, first: str):
    hits = memory.scope(user="ana").search(question, threshold=FLOOR)
    assert first in hits[0].text
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_time_in_which_nothing_was_said_is_not_answered_by_it(memory: Memory):
    assert memory.scope(user="ana").search("what did I say in August 2019?", threshold=FLOOR) == []


def test_a_greeting_is_looked_up_by_its_word():
    with Memory(":memory:", embedder=None) as memory:
        memory.add("They played Hello twice.")
        memory.add("Something else entirely.")
        assert [hit.text for hit in memory.search("hello", threshold=FLOOR)] == ["They played Hello twice."]


def test_reasons_still_add_up(memory: Memory):
    for hit in memory.scope(user="ana").search("where did we hike near Sintra?", explain=True):
        if not hit.sources:  # a fact takes the score of what it was learned from
            assert sum(hit.reasons.values()) == pytest.approx(hit.score, abs=1e-6)
