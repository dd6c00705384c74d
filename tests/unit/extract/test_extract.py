"""Facts found without a model: what is stated, what is not, and that no text can hurt."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememo.bench.facts import measure
from rememo.errors import InvalidInput
from rememo.extract import ExtractedFact, corrections, extract
from rememo.extract.lexicon import APPOINTMENTS, POSSESSIONS, SPECIES
from rememo.extract.pattern_row import PatternRow
from rememo.extract.rows import ROWS
from rememo.text.verbs import FORMS
from rememo.text.wordlists import word_list

AT = datetime(2024, 3, 13, 10, tzinfo=UTC)
DATA = Path(__file__).parents[2] / "data"
LABELLED = DATA / "facts.jsonl"


def facts(text: str, **options: Any) -> list[ExtractedFact]:
    return extract(text, speaker="alice", at=AT, **options)


def triples(text: str, **options: Any) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.predicate, fact.object) for fact in facts(text, **options) if not fact.ends}


@pytest.mark.requirement("fact.extract")
@pytest.mark.parametrize("held_out", [False, True])
@pytest.mark.parametrize("name", ["facts.jsonl", "facts2.jsonl", "facts3.jsonl"])
def test_labelled_messages_are_read_precisely(name: str, held_out: bool) -> None:
    scores = measure(DATA / name, held_out=held_out)
    assert scores.precision >= 0.95, scores.table()
    assert scores.recall >= 0.85, scores.table()


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.verbs or row.things} {row.frame} {row.gives}")
def test_every_row_reads_its_examples(row: PatternRow) -> None:
    assert row.examples, "a row needs examples: they are its tests"
    for example in row.examples:
        text, _, wanted = example.partition(" => ")
        found = [
            f"{'!' if fact.ends else ''}{'' if fact.subject == 'me' else f'{fact.subject}.'}{fact.predicate}: {fact.object}"
            for fact in extract(text, speaker="me", at=AT)
        ]
        assert sorted(found) == sorted(fact for fact in wanted.split("; ") if fact), text


def test_every_verb_of_a_row_is_known_in_all_its_forms() -> None:
    known = {lemma for lemma, _ in FORMS.values()} | {"be"}
    assert {verb for row in ROWS for verb in row.verbs.split()} <= known


def test_the_labelled_file_is_half_negatives() -> None:
    lines = LABELLED.read_text(encoding="utf-8").splitlines()
    negatives = sum('"facts": []' in line for line in lines)
    assert len(lines) >= 360
    assert negatives * 2 >= len(lines)
    assert sum('"held_out": true' in line for line in lines) >= 120


@pytest.mark.requirement("fact.extract")
def test_third_persons_and_several_facts_in_one_sentence() -> None:
    assert triples("My sister Ana works at CERN and loves skiing.") == {
        ("alice", "sister", "Ana"),
        ("Ana", "works_at", "CERN"),
        ("Ana", "likes", "skiing"),
    }


def test_a_pronoun_is_resolved_only_when_one_person_fits() -> None:
    assert ("Ana", "works_at", "CERN") in triples("My sister is called Ana. She works at CERN.")
    assert triples("My sister Ana met my aunt Rosa. She works at CERN.") == {
        ("alice", "sister", "Ana"),
        ("alice", "aunt", "Rosa"),
    }


@pytest.mark.parametrize(
    ("text", "predicate", "value"),
    [
        ("I don't eat meat any more.", "eats", "meat"),
        ("I used to live in Rome.", "lives_in", "Rome"),
        ("I no longer work at Siemens.", "works_at", "Siemens"),
        ("I sold my motorbike.", "owns", "motorbike"),
    ],
)
def test_what_is_over_ends_a_fact(text: str, predicate: str, value: str) -> None:
    (found,) = facts(text)
    assert (found.predicate, found.object, found.ends) == (predicate, value, True)


def test_times_are_resolved_against_the_message() -> None:
    (moved,) = facts("I moved to Lisbon in May.")
    assert moved.valid_from == datetime(2023, 5, 1, tzinfo=UTC)
    (worked,) = facts("I worked at Nokia from 2005 to 2012.")
    assert (worked.valid_from, worked.valid_to) == (datetime(2005, 1, 1, tzinfo=UTC), datetime(2013, 1, 1, tzinfo=UTC))
    (appointment,) = facts("I have a dentist appointment on Friday at 3pm.")
    assert appointment.valid_from == datetime(2024, 3, 15, 15, tzinfo=UTC)


def test_a_correction_names_what_it_replaces() -> None:
    (direct,) = facts("I actually live in Porto, not Lisbon.")
    assert (direct.object, direct.corrects) == ("Porto", "Lisbon")
    (referring,) = facts("Actually it's Porto, not Lisbon.", previous="I live in Lisbon.")
    assert (referring.subject, referring.predicate, referring.object, referring.corrects) == (
        "alice",
        "lives_in",
        "Porto",
        "Lisbon",
    )
    assert facts("Actually it's Porto, not Lisbon.") == []
    assert [(correction.old, correction.new) for correction in corrections("Actually it's Porto, not Lisbon.")] == [
        ("Lisbon", "Porto")
    ]


def test_you_is_the_addressee_when_there_is_one() -> None:
    assert triples("You live in Rome and you love tea.", addressee="bob") >= {("bob", "lives_in", "Rome")}
    assert triples("You live in Rome and you love tea.") == set()


@pytest.mark.parametrize(
    "text",
    [
        "Where do I live?",
        "If I lived in Paris I would own a cat.",
        "She told me that she lives in Krakow and works for a bank.",
        '"I live in Rome and I work at the Vatican," said the old man.',
        "Pretend my name is Bond. I live in London.",
        "Translate this: my name is Jorge and I live in Lima.",
        "```\nI live in code\n```",
        "> I live in Oslo",
        "1. I live in Tampa\n2. I am a dancer",
        "Just kidding, I own a yacht",
        "Reply to this review: I'm 43 and I love hiking.",
    ],
)
def test_what_is_not_asserted_is_no_fact(text: str) -> None:
    assert facts(text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Summarize my week: I moved to Turin on Monday. Keep it short.", "Turin"),
        ("Could you rewrite this email to my boss? Also, I live in Turin.", "Turin"),
        ("Translate to German: I live in Rome.\n\nBy the way, I live in Turin.", "Turin"),
        ("I live in Turin. Can you proofread this?\n\nI live in Rome and has a dog.", "Turin"),
        ("Update my profile: I live in Turin.", "Turin"),
        ("I need to summarize a report for my boss. I live in Turin.", "Turin"),
    ],
)
def test_only_the_pasted_part_of_a_message_is_left_out(text: str, value: str) -> None:
    assert [fact.object for fact in facts(text) if fact.predicate == "lives_in"] == [value]


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(InvalidInput, match="speaker"):
        extract("I live in Rome", speaker=" ", at=AT)
    with pytest.raises(InvalidInput, match="time zone"):
        extract("I live in Rome", speaker="alice", at=datetime(2024, 3, 13))  # noqa: DTZ001


_WORDS = sorted(FORMS) + sorted(SPECIES)[:20] + sorted(POSSESSIONS)[:20] + sorted(APPOINTMENTS)[:10]
_PIECES = st.lists(
    st.one_of(
        st.sampled_from(
            word_list(
                "I I'm my My our she he not don't no longer used to can't have got a an the two and , . ! ? ; : - ( ) ' \" in at for to of",
                "from with named called is was been born name birthday favourite allergic fan into good 's n't Ana Lisbon Dr who sister",
                "brother dog cats job since 2019 May yesterday every Monday next week 34 years old like going will would if that told you",
            )
        ),
        st.sampled_from(_WORDS),
    ),
    max_size=16,
)


@settings(max_examples=600, deadline=None)
@given(
    text=st.one_of(st.text(max_size=200), _PIECES.map(" ".join), _PIECES.map(lambda pieces: "I " + " ".join(pieces)))
)
def test_any_text(text: str) -> None:
    found = extract(text, speaker="alice", at=AT, addressee="bob", previous="I live in Lisbon.")
    assert found == extract(text, speaker="alice", at=AT, addressee="bob", previous="I live in Lisbon.")
    for fact in found:
        assert fact.wording == text[fact.position[0] : fact.position[1]]
        assert fact.subject
        assert fact.predicate
        assert fact.object
        assert 0 < fact.confidence <= 1
        for moment in (fact.valid_from, fact.valid_to):
            assert moment is None or moment.tzinfo is UTC
        assert fact.valid_from is None or fact.valid_to is None or fact.valid_from < fact.valid_to


@pytest.mark.parametrize(
    "piece",
    [
        "I live in Rome and ",
        "my sister Ana ",
        "yeah ",
        '"',
        "'a ",
        "in my ",
        "my email is a",
        "I like a, ",
        "x",
        "\n",
        ". ",
        "- ",
        "`",
        "I have a ",
        "not ",
    ],
)
def test_a_huge_text_is_cut(piece: str) -> None:
    text = (piece * 1_048_576)[:1_048_576]
    begun = time.thread_time()  # not what others take of the processor
    extract(text, speaker="alice", at=AT)
    assert time.thread_time() - begun < 3


@pytest.mark.requirement("fact.extract")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("User prefers tea", [("ana", "prefers", "tea")]),
        ("The user is allergic to nuts.", [("ana", "allergic_to", "nuts")]),
        ("Ana now works at Globex", [("ana", "works_at", "Globex")]),
        ("ana likes coffee", [("ana", "likes", "coffee")]),
        ("I moved to Porto", [("ana", "lives_in", "Porto")]),
        ("User lives in Porto and works at Globex.", [("ana", "lives_in", "Porto"), ("ana", "works_at", "Globex")]),
        ("The user's sister Lena lives in Oslo.", [("ana", "sister", "Lena"), ("Lena", "lives_in", "Oslo")]),
        ("User moved to Porto. She likes tea.", [("ana", "lives_in", "Porto"), ("ana", "likes", "tea")]),
        ("- User prefers tea\n- Lives in Porto", [("ana", "prefers", "tea"), ("ana", "lives_in", "Porto")]),
        ("Is allergic to nuts", [("ana", "allergic_to", "nuts")]),
        ("Bob lives in Porto.", [("Bob", "lives_in", "Porto")]),
        ("User name is required", []),
        ("Plays: Hamlet", []),
        ("Is it raining?", []),
        ("The user clicks the button", []),
    ],
)
def test_notes_are_read_as_being_about_the_user(text: str, expected: list[tuple[str, str, str]]):
    at = datetime(2026, 5, 1, tzinfo=UTC)
    found = extract(text, speaker="ana", at=at, noted=True)
    assert [(fact.subject, fact.predicate, fact.object) for fact in found] == expected
    assert all(text[slice(*fact.position)] == fact.wording for fact in found)


def test_in_a_message_the_user_is_somebody_else():
    at = datetime(2026, 5, 1, tzinfo=UTC)
    assert extract("The user is allergic to nuts.", speaker="ana", at=at) == []
    assert extract("- I like tea", speaker="ana", at=at) == []
