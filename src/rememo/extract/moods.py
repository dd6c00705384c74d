"""Which part of a sentence is asserted: questions, conditions and requests are cut away."""

from rememo.extract.tokens import Words
from rememo.text.wordlists import word_list, word_set

_WH = word_set("what what's which who whom whose where when why how")
_AUXILIARIES = word_set("do does did is are am was were can could would will should shall may might have has had any")
_OPENING = word_set(
    "so and but well hey hi hello oh ok okay yeah yes no nope please also then anyway , - ! lol haha hmm um",
    "thanks great cool wow or",
)
_INVERTED_AFTER = word_set("i you we he she they it my your there this that anyone anybody someone n't the our")
_REQUESTS = word_set(
    "tell give show find suggest recommend explain describe help list write draft create make generate book set",
    "remind call send add remove delete schedule order play open close search look compare calculate convert plan",
    "let act pretend imagine reply respond answer teach read check update change put turn name define discuss",
    "consider provide ignore stop start keep try use think take go",
)
_KEEPING = word_set("remember note add save store update remind record")
"""Requests to keep something: "Update my profile: I moved to Rome"."""
_DOUBT = word_set(
    "apparently supposedly allegedly maybe perhaps probably possibly presumably hypothetically wish hopefully supposedly allegedly"
)
_TELLING = frozenset(
    {("call", "me"), *(("send", mail) for mail in word_list("parcels mail letters deliveries packages"))}
)
_SUPPOSING = word_set("if unless whether suppose imagine")
_TAG_LENGTH = 4


def asserted(words: Words) -> int:
    """Return how many words from the start are asserted; 0 when nothing is."""
    low = words.low
    count = len(low)
    first = 0
    while first < count and low[first] in _OPENING:
        first += 1
    if first >= count or any(word in _DOUBT for word in low):
        return 0
    reminded = low[first : first + 2] == ["do", "n't"] and words.at(first + 2) == "forget"
    if (not reminded and _opens_question(words, first)) or low[first] in _SUPPOSING:
        return 0
    keeping = low[first] in _KEEPING or (low[first] == "use" and ("new" in low[first : first + 4] or "@" in low))
    if keeping and (":" in low or "@" in low or "that" in low[first : first + 4]):
        return count
    if low[first] in _REQUESTS and words.at(first + 1) not in ("you", "was"):
        # "Call me Bea" is the one request that tells something.
        # So does where to send what is meant for the speaker.
        telling = (low[first], words.at(first + 1)) in _TELLING
        return count if telling else 0
    if "?" not in low:
        return count
    for index in range(first + 1, count):
        if low[index - 1] in (",", "-", "and", "but", "so", ":", ";", ".", ")") and _opens_question(words, index):
            tag = count - index <= _TAG_LENGTH and low[index] not in _WH and low[index] != "any"
            return 0 if tag else index - 1
    return 0


def _opens_question(words: Words, index: int) -> bool:
    word = words.at(index)
    if word in _WH:
        return True
    if word == "any":
        return "?" in words.low
    if word == "can" and words.at(index + 1) == "n't" and "?" not in words.low:
        return words.at(index + 2) in _INVERTED_AFTER  # "can't eat gluten" has only lost its "I"
    return word in _AUXILIARIES and (
        words.at(index + 1) in _INVERTED_AFTER
        or (words.at(index + 1) not in ("not", "been", "to") and "?" in words.low)
    )
