"""Notes in the third person: "the user" and the person's own name are read as "I", so that every rule applies to them."""

from rememo.extract.clauses import Clause, read_group
from rememo.extract.people import Subject
from rememo.extract.tokens import Words
from rememo.text import verbs
from rememo.text.wordlists import word_set

_THE_USER = (("the", "user"), ("user",), ("the", "customer"), ("customer",), ("the", "client"), ("client",))
_NOT_OWNED = frozenset({"a", "an", "not", "been"})
"""After these, the "'s" of "the user's" is the verb."""
_SUBJECTLESS = word_set(
    "lives works likes loves hates dislikes prefers enjoys speaks plays owns has is studies drives eats drinks avoids uses",
    "attends teaches collects",
)
"""First words of notes that leave out whom they are about: "Prefers tea", "Is allergic to nuts"."""


def read_as_first_person(words: Words, speaker: str) -> bool:
    """Put "i" or "my" in the place of words that name the speaker as a subject or an owner; tells whether there are any.

    A note that begins with a verb is about the speaker too.

    Where they stand in the text stays known. A name that no verb follows may be anybody's object, and is left alone.
    """
    own = tuple(Words(speaker, 0, len(speaker)).low)
    names = (own, *_THE_USER) if own else _THE_USER
    replaced = False
    if words.at(0) in _SUBJECTLESS and words.at(1) != ":" and _has_verb(words, 0):
        words.insert(0, "i")
        replaced = True
    index = 0
    while index < len(words):
        name = next((name for name in names if tuple(words.low[index : index + len(name)]) == name), None)
        if name is not None:
            after = index + len(name)
            if words.at(after) == "'s" and not _is_verb(words, after):
                words.join(index, after + 1, "my")
                replaced = True
            elif _has_verb(words, after):
                words.join(index, after, "i")
                replaced = True
        index += 1
    return replaced


def _is_verb(words: Words, index: int) -> bool:
    """Tell whether "'s" here is "is" or "has" and no possessive."""
    following = words.at(index + 1)
    return following in _NOT_OWNED or verbs.FORMS.get(following, ("", ""))[1] in ("ing", "past", "participle")


def _has_verb(words: Words, index: int) -> bool:
    """Tell whether what follows is a verb in the form that goes with a name: "user works", not "user name"."""
    clause = Clause(words, index, Subject(index), index, "", "", index, len(words))
    if not read_group(words, index, len(words), clause):
        return False
    inflected = clause.form != "base" or words.low[clause.verb_at] in verbs.SAME_AS_BASE
    return inflected or clause.verb_at > index + len(clause.adverbs)
