"""Which of several statements answers a question, and which of them no longer hold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from rememo import Memory
from rememo.engine.selection import Selection, fade
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.recall.analyze import Analyzer
from rememo.recall.answers.claim import Claim, ClaimQuestion
from rememo.recall.answers.encoding import MOST_CLAIM_TOKENS, Encoder
from rememo.recall.answers.selector import AnswerSelector, Verdict, reads_english
from rememo.recall.embed.word_vectors import word_vectors
from rememo.recall.tense import asks_for_past_state, asks_for_state

START = datetime(2024, 1, 5, 10, tzinfo=UTC)
LATER = START + timedelta(days=400)
HOME = ClaimQuestion(text="where do I live?", at=LATER, persons=frozenset({"ana"}))
CLAIMS = [
    Claim(text="I live in a flat in Lisbon.", at=START, score=1.0, speaker="ana"),
    Claim(text="how long do I boil soba?", at=START + timedelta(days=60), score=0.0, speaker="ana"),
    Claim(text="We moved to Porto last week!", at=START + timedelta(days=200), score=0.4, speaker="ana"),
]


# ---- what the network says


@pytest.fixture(scope="module")
def selector() -> AnswerSelector:
    return AnswerSelector(Analyzer("english").terms)


def test_the_statement_that_holds_now_answers_and_the_one_before_is_outdated(selector: AnswerSelector):
    verdicts = selector.select(HOME, CLAIMS)
    assert verdicts is not None
    lisbon, soba, porto = verdicts
    assert porto.answers > max(lisbon.answers, soba.answers)
    assert lisbon.outdated > 0.5 > max(soba.outdated, porto.outdated)


def test_verdicts_are_probabilities(selector: AnswerSelector):
    verdicts = selector.select(HOME, CLAIMS)
    assert verdicts is not None
    assert sum(np.exp(verdict.answers) for verdict in verdicts) == pytest.approx(1)
    assert all(0 <= verdict.outdated <= 1 for verdict in verdicts)


def test_the_order_in_which_claims_are_given_does_not_matter(selector: AnswerSelector):
    verdicts, reverse = selector.select(HOME, CLAIMS), selector.select(HOME, CLAIMS[::-1])
    assert verdicts is not None
    assert reverse is not None
    for verdict, other in zip(verdicts, reverse[::-1], strict=True):
        assert verdict.answers == pytest.approx(other.answers, abs=1e-4)
        assert verdict.outdated == pytest.approx(other.outdated, abs=1e-4)


@pytest.mark.parametrize("text", ["", "?", "\u0000", "x" * 100_000, "\U0001f680 " * 5_000, "I " * 50_000])
def test_odd_texts_get_a_verdict_too(selector: AnswerSelector, text: str):
    claims = [*CLAIMS, replace(CLAIMS[0], text=text)]
    verdicts = selector.select(HOME, claims)
    assert verdicts is None or all(np.isfinite([verdict.answers, verdict.outdated]).all() for verdict in verdicts)


def test_only_the_beginning_of_a_long_text_is_read():
    words = word_vectors()
    encoder = Encoder(words.vectors, words.tokenize, Analyzer("english").terms)
    encoded = encoder.encode(HOME, [Claim(text="word " * 100_000, at=START, score=1.0)])
    assert len(encoded.claims[0].tokens) == MOST_CLAIM_TOKENS


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("where do I live? I moved to Porto last week", True),
        ("wo wohne ich? Ich bin letzte Woche nach Bremen gezogen", False),
        ("¿dónde vivo? Me mudé a Sevilla la semana pasada", False),
        ("\u6211\u4f4f\u5728\u54ea\u91cc? \u6211\u4e0a\u5468\u642c\u5230\u4e86\u4e0a\u6d77", False),
    ],
)
def test_texts_in_other_languages_are_left_to_the_scores(selector: AnswerSelector, text: str, english: bool):
    question, _, statement = text.partition("?")
    assert reads_english([question, statement]) == english
    asked = ClaimQuestion(text=question, at=LATER)
    assert (selector.select(asked, [Claim(text=statement, at=START, score=1.0)]) is not None) == english


# ---- what search makes of it


@dataclass
class Fixed(AnswerSelector):
    """Prefers the claims in the order of their texts, and takes those that are named for outdated."""

    order: str
    outdated: str = ""

    def select(self, question: ClaimQuestion, claims: Sequence[Claim]) -> list[Verdict] | None:
        assert question.text
        return [
            Verdict(answers=-3.0 * self.order.index(claim.text), outdated=float(claim.text in self.outdated))
            for claim in claims
        ]


def hit(text: str, *, days: int, score: float, user: str = "ana", role: str = "user") -> Hit:
    return Hit(
        record=Record(
            id=f"id of {text}", version=1, kind="message", text=text, data={"role": role}, scope=Scope(user=user),
            created_at=START, recorded_at=START, occurred_at=START + timedelta(days=days),
        ),
        score=score,
    )  # fmt: skip


def select(selector: AnswerSelector, hits: Sequence[Hit], *, terms: int = 10, rejected: tuple[str, str] | None = None):
    pairs = frozenset({(f"id of {rejected[0]}", f"id of {rejected[1]}")}) if rejected else frozenset[tuple[str, str]]()
    return Selection(selector=selector, question=HOME, terms=terms, rejected=pairs).apply(hits)


OLD, NEW = hit("a", days=1, score=0.9), hit("b", days=9, score=0.5)


def test_what_answers_comes_first_and_what_it_replaced_names_it():
    found = select(Fixed("ba", "a"), [OLD, NEW])
    assert [(hit.text, hit.score, hit.status, hit.superseded_by) for hit in found] == [
        ("b", 0.9, "current", None),
        ("a", 0.9, "superseded", NEW.id),
    ]


def test_what_answers_nothing_keeps_its_score():
    found = select(Fixed("bca"), [OLD, NEW, hit("c", days=3, score=0.1)])
    assert [(hit.text, hit.score) for hit in found] == [("b", 0.9), ("a", 0.9), ("c", 0.1)]


def test_what_states_nothing_of_a_person_keeps_its_place():
    passage = replace(hit("p", days=2, score=0.95), record=replace(hit("p", days=2, score=0.95).record, kind="chunk"))
    found = select(Fixed("ba"), [passage, OLD, NEW])
    assert [(hit.text, hit.score) for hit in found] == [("p", 0.95), ("b", 0.9), ("a", 0.9)]


def test_what_was_not_found_leads_where_it_answers_and_is_dropped_where_it_does_not():
    unfound = [hit("c", days=20, score=0.0), hit("d", days=21, score=0.0)]
    found = select(Fixed("cabd"), [OLD, NEW, *unfound])
    assert [hit.text for hit in found] == ["c", "a", "b"]
    assert [hit.score for hit in found] == [0.9, 0.9, 0.5]


@pytest.mark.parametrize(
    "other",
    [
        hit("b", days=9, score=0.5, user="ben"),
        hit("b", days=9, score=0.5, role="assistant"),
        hit("b", days=1, score=0.5),
    ],
    ids=["another person", "an assistant", "the same moment"],
)
def test_only_later_words_of_the_same_person_replace_others(other: Hit):
    assert {hit.status for hit in select(Fixed("ba", "a"), [OLD, other])} == {"unknown"}


def test_a_pair_of_which_somebody_said_that_both_hold_is_not_marked():
    found = select(Fixed("ba", "a"), [OLD, NEW], rejected=("a", "b"))
    assert {hit.status for hit in found} == {"unknown"}


def test_scores_decide_in_a_large_scope():
    assert [hit.text for hit in select(Fixed("ba"), [OLD, NEW], terms=10_000)] == ["a", "b"]
    assert fade(10) == 1
    assert 0 < fade(600) < 1
    assert fade(10_000) == 0


# ---- over a memory


def tell(memory: Memory, *texts: str, user: str = "ana") -> Memory:
    view = memory.scope(user=user, room="r")
    for number, text in enumerate(texts):
        view.messages.add("user", text, at=START + timedelta(days=60 * number)).wait()
    return view


def first_text(view: Memory, question: str) -> str:
    found = view.search(question, at=LATER)[0]
    return " ".join([found.text, *(source.text for source in found.sources)])


def test_what_was_found_by_its_words_stays_first_where_nothing_changes():
    with Memory(":memory:") as memory:
        view = tell(memory, "The invoice for March is paid.", "We went hiking near Sintra.", "My cat is called Miso.")
        assert "invoice" in first_text(view, "is the invoice paid?")


def test_what_answers_need_not_have_a_word_of_the_question():
    with Memory(":memory:") as memory:
        view = tell(
            memory,
            "I drive a Volkswagen Golf.",
            "what is a good gift for a retirement party?",
            "I sold the Golf and picked up a Tesla.",
        )
        first, *others = view.search("what car do I have?", at=LATER)
        assert "Tesla" in " ".join([first.text, *(source.text for source in first.sources)])
        assert "superseded" in {found.status for found in others}


def test_what_only_asks_or_is_about_a_friend_does_not_answer():
    with Memory(":memory:") as memory:
        view = tell(
            memory,
            "I pay 950 euros rent per month.",
            "Can a landlord raise the rent every year?",
            "My friend Joe pays 1400 euros rent.",
        )
        assert "950" in first_text(view, "how much rent do I pay?")


@pytest.mark.requirement("conflict.policy")
@pytest.mark.parametrize(
    ("before", "after", "question", "at_first"),
    [
        (
            "Primary on-call: Ji-ho.",
            "Primary on-call: Anders.",
            "who is on call?",
            "who was on call before Anders?",
        ),
        (
            "I go to the climbing hall in Ehrenfeld every Thursday.",
            "Thursdays I do judo these days.",
            "what do I do on Thursdays?",
            "what did I use to do on Thursdays?",
        ),
    ],
)
def test_statements_that_nothing_links_are_ordered_by_the_question(
    before: str, after: str, question: str, at_first: str
):
    with Memory(":memory:") as memory:
        view = tell(memory, before, "how long do I boil soba?", after)
        assert after in first_text(view, question)
        assert before in first_text(view, at_first)
        shown = view.context(question, max_tokens=500, at=LATER).text
        assert after in shown
        assert before not in shown


def test_the_answer_is_about_the_right_thing_among_many_like_it():
    with Memory(":memory:") as memory:
        view = tell(
            memory,
            "I live in Lisbon.",
            "My sister lives in Oslo.",
            "I drive a Golf.",
            "I moved to Porto.",
            "My phone number is 555-0000.",
            "My sister is back in Bergen.",
            "Actually my number is 555-9999.",
        )
        assert "Porto" in first_text(view, "where do I live?")
        assert "Bergen" in first_text(view, "where does my sister live?")
        assert "555-9999" in first_text(view, "what's my phone number?")
        assert "Golf" in first_text(view, "what car do I drive?")


def test_what_is_about_the_same_thing_but_answers_something_else_replaces_nothing():
    with Memory(":memory:") as memory:
        view = tell(memory, "My piano is from Porto", "I play the piano here")
        hits = view.search("Where is my piano from?", at=LATER)
        assert {hit.status for hit in hits if "Porto" in hit.text} <= {"current", "unknown"}


def test_a_filter_by_ids_lets_nothing_else_in():
    with Memory(":memory:") as memory:
        view = memory.scope(user="ana", room="r")
        old = view.messages.add("user", "The wifi password is tulip42.", at=START).wait()
        view.messages.add("user", "The wifi password is daffodil7.", at=LATER).wait()
        assert [hit.id for hit in view.search("what is the wifi password?", ids=[old.id], at=LATER)] == [old.id]


@pytest.mark.parametrize(
    ("question", "now", "past"),
    [
        ("where do I live?", True, False),
        ("Who's the head of our department?", True, False),
        ("what is the wifi password", True, False),
        ("Where did I live before Porto?", False, True),
        ("who was tech lead in autumn 2023?", False, True),
        ("What did Ana paint last week?", False, False),
        ("What books has Melanie read?", False, False),
        ("I live in Rome.", False, False),
        ("Could you write a card? It is for my aunt, who lives in Bari.", False, False),
    ],
)
def test_plain_questions_for_a_state_are_told_from_others(question: str, now: bool, past: bool):
    assert (asks_for_state(question), asks_for_past_state(question)) == (now, past)


def test_a_question_that_follows_at_once_is_answered_by_what_was_said_last():
    with Memory(":memory:") as memory:
        view = memory.scope(user="ana", room="r")
        view.messages.add("user", "I live in Lisbon.")
        view.messages.add("user", "I moved to Porto.")
        assert memory.search("where does ana live?")[0].text == "ana lives in Porto"
