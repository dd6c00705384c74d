"""What ranking does for people who ask."""

from dataclasses import replace

import numpy as np
import pytest

from rememo.errors import InvalidInput
from rememo.recall.explain import MEANINGS
from rememo.recall.rank import rank
from rememo.recall.types import Question, RecallSettings

from .arrays import DAY, MINUTE, Conversation, Line

DAY_IN_MINUTES = DAY // MINUTE

FILLER = [
    "The weather has been quite grey this week",
    "I finished reading that long novel yesterday",
    "Our neighbours painted their fence green",
    "The train was late again on Monday",
    "I cooked lentil soup for dinner",
]


def apart(texts: list[str], speaker: str = "anna") -> list[Line]:
    """Lines so far from each other in time that none lends to another."""
    return [Line(text=text, at=-number * DAY_IN_MINUTES, speaker=speaker) for number, text in enumerate(texts, 1)]


@pytest.mark.requirement("record.search-text")
def test_words_find_the_message_that_has_them():
    conversation = Conversation(lines=[*apart(FILLER), Line(text="My bicycle was stolen at the station")])
    assert conversation.found("Who stole the bicycle?", mode="words") == ["My bicycle was stolen at the station"]


@pytest.mark.requirement("search.semantic")
def test_meaning_finds_what_words_do_not():
    conversation = Conversation(lines=[*apart(FILLER), Line(text="We adopted a puppy")])
    assert conversation.found("pet dog", mode="words") == []
    assert conversation.found("pet dog")[0] == "We adopted a puppy"


def test_a_reply_is_found_by_the_words_of_what_it_replies_to():
    conversation = Conversation(
        lines=[
            *apart(FILLER),
            Line(text="Which city did your brother move to?", speaker="ben", at=0),
            Line(text="Lisbon, he loves the sea there", at=1),
        ]
    )
    assert "Lisbon, he loves the sea there" in conversation.found("city of the brother", mode="words")


def test_nothing_is_lent_across_a_long_silence_or_to_another_room():
    question = Line(text="Which city did your brother move to?", speaker="ben", at=0)
    late = Conversation(lines=[*apart(FILLER), question, Line(text="Lisbon of course", at=5 * 60)])
    elsewhere = Conversation(lines=[*apart(FILLER), question, Line(text="Lisbon of course", at=1, room="other")])
    for conversation in (late, elsewhere):
        assert conversation.found("city of the brother", mode="words") == [question.text]


def test_who_answers_is_preferred_to_who_changes_the_subject():
    before, asked, after = "Look at this cloud", "Where is the violin concert?", "In the old harbour hall"
    conversation = Conversation(
        lines=[
            *apart(FILLER),
            Line(text=before, at=0),
            Line(text=asked, speaker="ben", at=1),
            Line(text=after, at=2),
        ]
    )
    found = conversation.found("violin concert", mode="words")
    assert found.index(after) < found.index(before)


def test_long_messages_stand_for_themselves():
    topic = Line(text="violin concert", at=0)
    short, long = "lovely idea indeed", " ".join(f"subject{number}" for number in range(300))
    conversation = Conversation(lines=[*apart(FILLER), Line(text=short, at=-1), topic, Line(text=long, at=1)])
    found = conversation.found("violin concert", mode="words")
    assert found.index(short) < found.index(long)


def test_a_named_speaker_is_preferred():
    lines = [
        *apart(FILLER),
        Line(text="I love pottery", speaker="anna", at=0),
        Line(text="I love pottery", speaker="ben"),
    ]
    conversation = Conversation(lines=[*lines[:-1], Line(text="I love pottery", speaker="ben", at=DAY_IN_MINUTES)])
    ranking = conversation.ask("What does Anna love about pottery?")
    assert conversation.lines[int(ranking.documents[0])].speaker == "anna"
    assert ranking.parts["speaker"][0] > 0


def test_my_means_the_asking_user():
    lines = [Line(text="pottery class", speaker=speaker, at=day) for day, speaker in enumerate(["anna", "ben"])]
    conversation = Conversation(lines=[*apart(FILLER), *lines], settings=RecallSettings(session_gap=0))
    for asker in ("anna", "ben"):
        first = int(conversation.ask("When is my pottery class?", asker=asker).documents[0])
        assert conversation.lines[first].speaker == asker


def test_a_time_in_the_question_prefers_what_was_said_then():
    lines = [Line(text="went hiking in the hills", at=-days * DAY_IN_MINUTES) for days in (3, 40, 400)]
    conversation = Conversation(lines=[*apart(FILLER), *lines], settings=RecallSettings(fold=False))
    ranking = conversation.ask("Where did we go hiking last month?")
    assert conversation.lines[int(ranking.documents[0])].at == -40 * DAY_IN_MINUTES
    assert ranking.parts["time"][0] > 0


def test_now_prefers_the_newest_and_otherwise_age_does_not_count():
    lines = [Line(text=f"I live in town{days}", at=-days * DAY_IN_MINUTES) for days in (300, 20)]
    conversation = Conversation(lines=[*apart(FILLER), *lines])
    assert conversation.found("Where do we live now?", mode="words")[0] == "I live in town20"
    ages = conversation.ask("Where do we live?", mode="words")
    assert ages.scores[0] == pytest.approx(ages.scores[1])


def test_importance_and_trust_weigh_in():
    def first(line: Line, other: Line) -> str:
        lines = [*apart(FILLER), line, other]
        conversation = Conversation(lines=lines, settings=RecallSettings(fold=False))
        return lines[int(conversation.ask("violin concert").documents[0])].room

    plain = Line(text="violin concert", room="plain")
    # The plain one is later, so it would win a tie.
    assert first(plain, Line(text="violin concert", room="other", at=-1)) == "plain"
    assert first(plain, Line(text="violin concert", room="other", at=-1, importance=1)) == "other"
    doubtful = Line(text="violin concert", room="doubtful", trust=0.4)
    assert first(doubtful, Line(text="violin concert", room="other", at=-1)) == "other"


def test_who_says_the_same_again_is_folded_into_one_hit():
    again = [Line(text=text, at=day * DAY_IN_MINUTES) for day, text in enumerate(["My cat is Miso", "My cat is MISO!"])]
    conversation = Conversation(
        lines=[*apart(FILLER), *again, Line(text="My cat is Miso", speaker="ben", room="other")]
    )
    ranking = conversation.ask("cat Miso", mode="words")
    said_by_anna = len(FILLER), len(FILLER) + 1
    assert ranking.documents.tolist()[0] == said_by_anna[1]
    assert ranking.folded[0] == (said_by_anna[0],)
    assert len(FILLER) + 2 in ranking.documents.tolist()


def test_a_filter_leaves_the_best_of_the_eligible():
    conversation = Conversation(lines=[*apart(FILLER), Line(text="violin concert"), Line(text="violin lesson", at=600)])
    eligible = [True] * len(conversation.lines)
    eligible[len(FILLER)] = False
    ranking = conversation.ask("violin concert", mode="words", eligible=eligible)
    assert ranking.documents.tolist() == [len(FILLER) + 1]


def test_the_score_says_how_much_of_the_question_is_found():
    conversation = Conversation(
        lines=[*apart(FILLER), Line(text="a violin concert in Lisbon"), Line(text="a violin", at=DAY_IN_MINUTES)]
    )
    ranking = conversation.ask("violin concert Lisbon", mode="words")
    assert ranking.documents.tolist() == [len(FILLER), len(FILLER) + 1]
    assert ranking.scores[0] > 2 * ranking.scores[1] > 0
    assert len(conversation.ask("violin concert Lisbon", mode="words", threshold=float(ranking.scores[0]))) == 1


def test_the_score_does_not_depend_on_the_scale_of_the_embedder():
    conversation = Conversation(lines=[*apart(FILLER), Line(text="We adopted a puppy")])
    question = conversation.question("pet dog")
    near = conversation.candidates(question)
    mean, deviation = near.vector_prior
    crowded = replace(
        near, vector_scores=0.8 + 0.1 * near.vector_scores, vector_prior=(0.8 + 0.1 * mean, 0.1 * deviation)
    )
    plain, scaled = (rank(question, candidates, conversation.timeline) for candidates in (near, crowded))
    assert plain.documents.tolist() == scaled.documents.tolist()
    np.testing.assert_allclose(plain.scores, scaled.scores, rtol=1e-3)


def test_how_many_of_the_nearest_were_fetched_does_not_change_the_scores():
    lines = [Line(text=f"subject{number} of the day", at=-number * DAY_IN_MINUTES) for number in range(40)]
    conversation = Conversation(lines=[*lines, Line(text="We adopted a puppy")])
    question = conversation.question("pet dog", limit=3)
    every = replace(conversation.candidates(question), vector_background=(0.05, 0.1))
    nearest = np.argsort(-every.vector_scores)[:10]
    some = replace(every, vector_documents=every.vector_documents[nearest], vector_scores=every.vector_scores[nearest])
    all_fetched, some_fetched = (rank(question, candidates, conversation.timeline) for candidates in (every, some))
    assert len(all_fetched) > 0
    assert all_fetched.documents.tolist() == some_fetched.documents.tolist()
    assert all_fetched.scores.tolist() == some_fetched.scores.tolist()


@pytest.mark.requirement("explain")
def test_a_hit_says_why_it_was_found():
    conversation = Conversation(
        lines=[
            *apart(FILLER),
            Line(text="How was the violin concert?", speaker="ben", at=0),
            Line(text="Wonderful, the hall was full", at=1),
        ]
    )
    question = conversation.question("What did Anna say about the violin concert today?")
    candidates = conversation.candidates(question)
    ranking = rank(question, candidates, conversation.timeline)
    answer = ranking.documents.tolist().index(len(FILLER) + 1)
    parts = {name: float(part[answer]) for name, part in ranking.parts.items() if part[answer]}
    assert {"neighbours", "answers", "speaker", "time"} <= set(parts) <= set(MEANINGS)
    assert "words" not in parts
    assert sum(parts.values()) == pytest.approx(ranking.scores[answer], abs=0.02)


@pytest.mark.parametrize("limit", [0, -1, 1_001])
def test_a_limit_out_of_bounds_is_refused(limit: int):
    with pytest.raises(InvalidInput, match="limit"):
        Conversation(lines=apart(FILLER)).ask("novel", limit=limit)


@pytest.mark.parametrize("threshold", [-0.1, 1.1, float("nan")])
def test_a_threshold_out_of_bounds_is_refused(threshold: float):
    with pytest.raises(InvalidInput, match="threshold"):
        Conversation(lines=apart(FILLER)).ask("novel", threshold=threshold)


def test_a_question_is_understood_once():
    conversation = Conversation(lines=[Line(text="hello", speaker="Anna Smith"), Line(text="hi", speaker="Ben")])
    question = conversation.question("What did Anna buy last week, and do you know it now?")
    assert isinstance(question, Question)
    assert question.speakers == (conversation.timeline.speaker_names.index("Anna Smith"),)
    assert "anna" not in question.terms
    assert "Anna" not in question.meaning
    assert [window.text for window in question.windows] == ["last week"]
    assert question.wants_recent


def test_a_question_that_is_only_a_name_looks_for_the_name():
    conversation = Conversation(lines=[Line(text="hello", speaker="Anna")])
    question = conversation.question("Anna?")
    assert question.terms == ("anna",)
    assert question.meaning == "Anna?"


def test_words_about_remembering_are_not_looked_for_unless_there_is_nothing_else():
    conversation = Conversation(lines=[Line(text="hello")])
    assert conversation.question("Can you remind me of the violin we talked about?").terms == ("violin",)
    assert conversation.question("What did we talk about?").terms == ("talk",)
