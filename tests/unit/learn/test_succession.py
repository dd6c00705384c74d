"""Which of several statements answers a question about a state, though nothing links them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from rememo import Memory
from rememo.engine.succession import Claim, StateQuestion, Succession
from rememo.learn.revise import answers
from rememo.learn.revise.succession import WEIGHTS, features
from rememo.model.hit import Hit
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.recall.analyze import Analyzer
from rememo.recall.tense import asks_for_past_state, asks_for_state

START = datetime(2024, 1, 5, 10, tzinfo=UTC)
LATER = START + timedelta(days=400)


@dataclass
class Constant:
    """Takes every later claim for what holds now, or none."""

    value: float

    def states(self, claim: Claim) -> bool:
        return "?" not in claim.text

    def utilities(self, question: StateQuestion, claims: Sequence[Claim]) -> list[float]:
        assert question.text
        return [0.0] * len(claims)

    def likelihood(self, question: StateQuestion, earlier: Claim, later: Claim) -> float:
        assert question.text
        assert earlier.at < later.at
        return self.value


HOME, BEFORE = StateQuestion(text="where do I live?"), StateQuestion(text="where did I live before?")
ALWAYS, NEVER = Constant(1.0), Constant(0.0)


def hit(id: str, *, days: int, score: float, user: str = "ana", role: str = "user") -> Hit:
    return Hit(
        record=Record(
            id=id, version=1, kind="message", text=f"statement {id}", data={"role": role}, scope=Scope(user=user),
            created_at=START, recorded_at=START, occurred_at=START + timedelta(days=days),
        ),
        score=score,
    )  # fmt: skip


def order(hits: list[Hit]) -> list[str]:
    return [found.id for found in hits]


def test_the_latest_of_all_that_answer_comes_first_and_the_others_name_it():
    hits = [hit("old", days=1, score=0.9), hit("new", days=9, score=0.5), hit("newer", days=20, score=0.4)]
    found = Succession(model=ALWAYS, question=HOME, past=False).ordered(hits)
    assert order(found)[0] == "newer"
    assert {one.id: (one.status, one.superseded_by) for one in found} == {
        "newer": ("current", None),
        "new": ("superseded", "newer"),
        "old": ("superseded", "newer"),
    }
    assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)


def test_the_earlier_comes_first_where_the_past_is_asked_for():
    hits = [hit("new", days=9, score=0.9), hit("old", days=1, score=0.5)]
    found = Succession(model=ALWAYS, question=BEFORE, past=True).ordered(hits)
    assert order(found) == ["old", "new"]
    assert {one.status for one in found} == {"unknown"}


def test_what_was_said_after_the_time_that_is_asked_for_comes_last():
    hits = [hit("after", days=90, score=0.9), hit("then", days=20, score=0.5), hit("before", days=1, score=0.4)]
    until = START + timedelta(days=30)
    found = Succession(model=ALWAYS, question=BEFORE, past=True, until=until).ordered(hits)
    assert order(found) == ["then", "before", "after"]


@pytest.mark.parametrize(
    "other",
    [
        hit("new", days=9, score=0.5, user="ben"),
        hit("new", days=9, score=0.5, role="assistant"),
        hit("new", days=1, score=0.5),
    ],
    ids=["another person", "an assistant", "the same moment"],
)
def test_only_later_words_of_the_same_person_take_a_place(other: Hit):
    hits = [hit("old", days=1, score=0.9), other]
    assert Succession(model=ALWAYS, question=HOME, past=False).ordered(hits) == hits


def test_nothing_moves_where_no_claim_succeeds_another():
    hits = [hit("old", days=1, score=0.9), hit("new", days=9, score=0.5)]
    assert Succession(model=NEVER, question=HOME, past=False).ordered(hits) == hits


def test_every_feature_has_a_weight():
    claim = Claim(text="I live in Rome.", at=START, score=0.5)
    later = Claim(text="I rent in Bari now.", at=LATER, score=0.4)
    terms = Analyzer("english").terms
    assert WEIGHTS.keys() == features(HOME, claim, later, terms_of=terms).keys()
    for row in answers.features(HOME, [claim, later], terms_of=terms):
        assert row.keys() == answers.WEIGHTS.keys()


def test_what_was_found_by_its_words_stays_first_where_all_was_said_at_once():
    with Memory(":memory:") as memory:
        view = memory.scope(user="ana", room="r")
        for text in ("The invoice for March is paid.", "We went hiking near Sintra.", "My cat is called Miso."):
            view.messages.add("user", text, at=START).wait()
        assert view.search("is the invoice paid?", at=LATER)[0].text == "The invoice for March is paid."


def test_what_answers_need_not_have_a_word_of_the_question():
    with Memory(":memory:") as memory:
        view = memory.scope(user="peter", room="r")
        view.messages.add("user", "I drive a Volkswagen Golf.", at=START).wait()
        view.messages.add("user", "what is a good gift for a retirement party?", at=START + timedelta(days=30)).wait()
        view.messages.add("user", "I sold the Golf and picked up a Tesla.", at=START + timedelta(days=90)).wait()
        first, *others = view.search("what car do I have?", at=LATER)
        assert "Tesla" in " ".join([first.text, *_sources(first)])
        assert "superseded" in {found.status for found in others}


def test_what_only_asks_or_is_about_a_friend_does_not_answer():
    with Memory(":memory:") as memory:
        view = memory.scope(user="ethan", room="r")
        view.messages.add("user", "I pay 950 euros rent per month.", at=START).wait()
        view.messages.add("user", "Can a landlord raise the rent every year?", at=START + timedelta(days=30)).wait()
        view.messages.add("user", "My friend Joe pays 1400 euros rent.", at=START + timedelta(days=60)).wait()
        first = view.search("how much rent do I pay?", at=LATER)[0]
        assert "950" in " ".join([first.text, *_sources(first)])


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
        view = memory.scope(user="ana", room="r")
        view.messages.add("user", before, at=START).wait()
        view.messages.add("user", "how long do I boil soba?", at=START + timedelta(days=60)).wait()
        view.messages.add("user", after, at=START + timedelta(days=200)).wait()
        assert after in [view.search(question, at=LATER)[0].text, *_sources(view.search(question, at=LATER)[0])]
        first = view.search(at_first, at=LATER)[0]
        assert before in [first.text, *_sources(first)]
        shown = view.context(question, max_tokens=500, at=LATER).text
        assert after in shown
        assert before not in shown


def _sources(found: Hit) -> list[str]:
    return [source.text for source in found.sources]


def test_a_filter_by_ids_lets_nothing_else_in():
    with Memory(":memory:") as memory:
        view = memory.scope(user="ana", room="r")
        old = view.messages.add("user", "The wifi password is tulip42.", at=START).wait()
        view.messages.add("user", "The wifi password is daffodil7.", at=LATER).wait()
        hits = view.search("what is the wifi password?", ids=[old.id], at=LATER)
        assert order(hits) == [old.id]
