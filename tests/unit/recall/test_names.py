import pytest

from rememo.recall.names import meant_persons, named_speakers

SPEAKERS = ["Melanie", "Anna Smith", "anna.b@example.com", "user", "assistant", "Theo"]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("What did Melanie paint?", {0}),
        ("what did melanie's son paint", {0}),
        ("Did you see Mel yesterday?", {0}),
        ("Where does Smith live?", {1}),
        ("What does Anna like?", {1, 2}),
        ("The weather was fine", set[int]()),
        ("Is the user or the assistant right?", set[int]()),
        ("nobody at all", set[int]()),
    ],
)
def test_speakers_are_named_by_any_word_of_their_label(text: str, named: set[int]):
    assert set(named_speakers(text, SPEAKERS)) == named


def test_a_full_name_is_not_a_word_to_look_for_but_a_nickname_is():
    assert named_speakers("What did Melanie paint?", SPEAKERS) == {0: frozenset({"Melanie"})}
    assert named_speakers("What did Mel paint?", SPEAKERS) == {0: frozenset()}


def test_a_nickname_of_two_is_nobodys():
    assert named_speakers("What did Mar do?", ["Maria", "Mark"]) == {}


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Where did I put my keys?", ("ben",)),
        ("I\u2019ve lost it", ("ben",)),
        ("What did you recommend?", ("helper",)),
        ("Can you remind me of it?", ()),
        ("Could you tell me what you said?", ("helper",)),
        ("I was wondering if you could remind me of the book you recommended", ("helper",)),
        ("I\u2019m looking back at my recipes, remind me", ("ben",)),
        ("What do I think of opera?", ("ben",)),
        ("What did I tell you?", ("ben", "helper")),
        ("Where is Anna?", ()),
    ],
)
def test_persons_stand_for_who_asks_and_who_is_asked(text: str, meant: tuple[str, ...]):
    assert meant_persons(text, asker="ben", addressee="helper") == meant


def test_unknown_persons_mean_nobody():
    assert meant_persons("What did I tell you?", asker=None, addressee=None) == ()
