"""One form for subjects, predicates and objects, whoever wrote them."""

import pytest

from rememo.extract.predicates import (
    PREDICATES,
    favourite,
    normalise_object,
    normalise_predicate,
    normalise_subject,
    predicate,
)


@pytest.mark.requirement("fact.create-query-update")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("lives in", "lives_in"),
        ("moved to", "lives_in"),
        ("Lives_In", "lives_in"),
        ("is allergic to", "allergic_to"),
        ("works for", "works_at"),
        ("favorite color", "favourite_colour"),
        ("my favourite film", "favourite_film"),
        ("mum", "mother"),
        ("is married to", "married_to"),
        ("invented by", "invented_by"),
        ("  ", ""),
    ],
)
def test_predicates_have_one_form(text: str, name: str) -> None:
    assert normalise_predicate(text) == name


def test_normal_forms_stay() -> None:
    for name in PREDICATES:
        assert normalise_predicate(name) == name


def test_wordings_belong_to_one_predicate() -> None:
    seen: dict[str, str] = {}
    for known in PREDICATES.values():
        for wording in known.wordings:
            assert seen.setdefault(wording, known.name) == known.name


def test_inverses_are_known() -> None:
    assert all(known.inverse is None or known.inverse in PREDICATES for known in PREDICATES.values())


@pytest.mark.requirement("conflict.policy")
def test_values_are_single_or_multi() -> None:
    assert predicate("lives_in").values == "single"
    assert predicate("likes").values == "multi"
    assert predicate(favourite("tea")).values == "single"
    assert predicate("met_at_a_party").values == "multi"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("I", "alice"),
        ("the user", "alice"),
        ("Alice", "alice"),
        ("my mum", "alice's mother"),
        ("My best friend", "alice's best friend"),
        ("  Ana  Gomes ", "Ana Gomes"),
    ],
)
def test_subjects(text: str, subject: str) -> None:
    assert normalise_subject(text, "alice") == subject


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("the Netherlands.", "Netherlands"),
        ("a  cat", "cat"),
        ("The Crown", "The Crown"),
        ('"Dune"', "Dune"),
        ("  ", ""),
        ("a", "a"),
    ],
)
def test_objects(text: str, value: str) -> None:
    assert normalise_object(text) == value
