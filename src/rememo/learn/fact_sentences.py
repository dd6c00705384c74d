"""Facts as sentences, for people, for models and for search."""

from rememo.extract.predicates import EVERY, FAVOURITE, RELATIONS

_PHRASES = {
    "name": "is called", "nickname": "is also called", "age": "is aged", "birthday": "was born on", "birth_year": "was born in",
    "born_in": "was born in", "from": "is from", "nationality": "has the nationality", "pronouns": "uses the pronouns",
    "religion": "has the religion", "trait": "is", "marital_status": "is", "has_relative": "has a relative:",
    "species": "is a", "breed": "is of the breed", "diet": "is", "afraid_of": "is afraid of", "allergic_to": "is allergic to",
    "intolerant_to": "is intolerant to", "owned_by": "belongs to", "learning": "is learning", "skill": "can",
    "married_to": "is married to", "degree": "has a degree:", "has_pet": "has a pet:", "has_condition": "has",
    "takes_medication": "takes", "habit": "has the habit:", "plans": "plans:", "appointment": "has an appointment:",
    "event": "experienced:", "member_of": "is a member of", "weight": "weighs",
}  # fmt: skip
_STATUSES = frozenset({"retired", "unemployed", "self-employed", "freelance", "freelancing"})
_STUDENTS = frozenset({"student", "undergraduate", "undergrad", "freshman", "sophomore"})
_NOUNS = frozenset({"email", "phone", "address", *RELATIONS})


def sentence(subject: str, predicate: str, object: str, *, denied: bool = False) -> str:
    """Return a fact in words: "ana lives in Lisbon"; a denied one says that it is not so."""
    words = predicate.replace("_", " ")
    object = "anyone or anything" if object == EVERY else object
    if predicate == "works_as" and object.lower() in _STATUSES:
        text = f"{subject} is {object}"
    elif predicate == "works_as" and object.lower().rsplit(" ", 1)[-1] in _STUDENTS:
        text = f"{subject} is a {object}"
    elif predicate in _NOUNS or predicate.startswith(FAVOURITE):
        text = f"{subject}'s {words} is {object}"
    else:
        text = f"{subject} {_PHRASES.get(predicate, words)} {object}"
    return f"not so, or no longer: {text}" if denied else text
