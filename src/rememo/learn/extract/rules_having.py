"""What somebody has: relatives, pets, illnesses, allergies, degrees, things, appointments."""

from rememo.learn.extract import lexicon
from rememo.learn.extract.clauses import Clause
from rememo.learn.extract.finder import Finder, Span
from rememo.learn.extract.people import singular, title
from rememo.learn.extract.phrases import after_determiner, items, phrase_end, points_elsewhere
from rememo.learn.extract.wordlists import word_set
from rememo.learn.predicates import RELATION_WORDS

_COUNTS = word_set("two three four five six seven eight nine ten twin several 2 3 4 5 6 7 8 9 10")
_DEGREES = word_set(
    "degree bachelor bachelor's master master's masters phd doctorate mba diploma bsc msc ba ma llb bachelors"
)
_NAMING = frozenset({"named", "called"})
_THROUGH = frozenset({"'s", "of"})
_LONGEST_RELATIVE = 3


def having(finder: Finder, clause: Clause) -> bool:
    """Read what follows "have", "have got" or "own"; True when something was found."""
    words = finder.words
    start = clause.rest
    if words.at(start) == "got":
        start += 1
    if clause.modal == "can" and clause.negated and not clause.past:
        return _cannot_have(finder, clause, start)
    if clause.past and not clause.negated and not clause.modal and _baby(finder, clause):
        return True
    if (
        clause.modal
        or start >= clause.end
        or words.low[start] == "to"
        or (clause.past and not clause.perfect and not clause.used_to)
    ):
        return False
    if words.low[start] in ("his", "her", "their", "your", "its", "this", "that", "these", "those"):
        return False
    before = len(finder.facts)
    over = clause.ends or clause.negated
    at = start
    while at < clause.end:
        begin, end = next(items(words, at, clause.end, through=frozenset({"'s"}), times=finder.time_starts), (at, at))
        if begin == end:
            break
        at = _item(finder, clause, begin, end, over=over)
        if words.at(at) not in (",", "and", "or", "plus"):
            break
        while words.at(at) in (",", "and", "or", "plus", "also"):
            at += 1
    return len(finder.facts) > before


def _item(finder: Finder, clause: Clause, begin: int, end: int, *, over: bool) -> int:
    """Read one thing that is had; returns the word after it and after the names that belong to it."""
    words = finder.words
    low = words.low
    naming = next((at for at in range(begin, end) if low[at] in _NAMING), end)
    noun_end = naming
    if noun_end == begin:
        return end
    head, pair = low[noun_end - 1], f"{words.at(noun_end - 2)} {low[noun_end - 1]}" if noun_end - 2 >= begin else ""
    if low[noun_end - 1] == "'s":
        return end
    names, after = (
        finder.reader.names_at(words, noun_end, clause.end)
        if naming < end or words.at(noun_end) in (",", "-", "(", ":") or words.capital(noun_end)
        else ((), noun_end)
    )
    if naming < end and not names and words.lower_case and words.at(naming + 1).isalpha():
        names, after = (title(words.low[naming + 1]),), naming + 2
    if pair in lexicon.SPECIES or head in lexicon.SPECIES:
        if not names and words.at(begin - 1) not in ("a", "an") and head == singular(head) and head != "sheep":
            return end  # "some chicken" is for dinner
        pets(finder, clause, words.slice(begin, noun_end), pair if pair in lexicon.SPECIES else head, names, over=over)
        return after if names else end
    if head in RELATION_WORDS or pair in RELATION_WORDS:
        _relatives(finder, clause, begin, noun_end, names, over=over)
        return after if names else end
    if over and clause.negated and not clause.no_longer and words.at(clause.end) != "anymore":
        _lacks(finder, clause, begin, noun_end)
        return end
    _thing(finder, clause, begin, noun_end, over=over)
    return end


_FORBIDDEN = word_set(
    "dairy gluten nuts sugar caffeine alcohol lactose eggs soy wheat shellfish meat milk peanuts spicy"
)


def _cannot_have(finder: Finder, clause: Clause, start: int) -> bool:
    """Read "can't have dairy"."""
    words = finder.words
    before = len(finder.facts)
    for begin, end in items(words, start, clause.end, times=finder.time_starts):
        if words.low[begin] not in _FORBIDDEN:
            break
        finder.add(clause, "avoids", words.slice(begin, end), ends=False)
    return len(finder.facts) > before


def _baby(finder: Finder, clause: Clause) -> bool:
    """Read "had a baby girl named Olive"."""
    words = finder.words
    at = after_determiner(words, clause.rest, clause.end)
    at += words.at(at) in ("beautiful", "healthy", "lovely", "little")
    if (
        words.at(at) != "baby"
        or words.at(at + 1) not in ("girl", "boy")
        or words.at(at + 2) not in _NAMING
        or not clause.subject.speaker
    ):
        return False
    end = finder.reader.name_end(words, at + 3, clause.end)
    if end == at + 3:
        return False
    finder.add(clause, "daughter" if words.low[at + 1] == "girl" else "son", words.slice(at + 3, end))
    return True


def pets(
    finder: Finder,
    clause: Clause,
    phrase: str,
    species: str,
    names: tuple[str, ...],
    *,
    over: bool,
    when: Span = (None, None),
) -> None:
    """Note pets, by their names when they have any."""
    if not names:
        finder.add(clause, "has_pet", phrase, ends=over, when=when)
        if species == singular(species) and not over:
            finder.reader.meet_nameless("has_pet", species)
        return
    for name in names:
        finder.add(clause, "has_pet", name, ends=over, when=when)
        if not over:
            finder.add(clause, "species", singular(species), subject=name)
        finder.reader.meet(name, "")


def _relatives(finder: Finder, clause: Clause, begin: int, end: int, names: tuple[str, ...], *, over: bool) -> None:
    words = finder.words
    head = words.low[end - 1]
    pair = f"{words.at(end - 2)} {head}"
    predicate = RELATION_WORDS.get(pair) or RELATION_WORDS[head]
    if over:
        return
    for name in names:
        finder.add(clause, predicate, name)
        finder.reader.meet(name, "")
    if not names and predicate not in (
        "friend",
        "doctor",
        "teacher",
        "vet",
        "dentist",
        "coach",
        "therapist",
        "colleague",
        "boss",
        "hairdresser",
        "mentor",
    ):
        if (
            words.low[begin] in ("no", "any", "including", "great", "good", "lovely", "wonderful", "bad", "difficult")
            or end - begin > _LONGEST_RELATIVE
        ):
            return
        finder.add(clause, "has_relative", words.slice(begin, end), confidence=0.85)
        if not head.endswith("s"):
            finder.reader.meet_nameless(predicate)


def _lacks(finder: Finder, clause: Clause, begin: int, end: int) -> None:
    if finder.words.low[end - 1] in lexicon.POSSESSIONS or finder.words.low[end - 1] in lexicon.CONDITIONS:
        predicate = "owns" if finder.words.low[end - 1] in lexicon.POSSESSIONS else "has_condition"
        finder.add(clause, predicate, finder.words.slice(begin, end), ends=True, confidence=0.7)


def _thing(finder: Finder, clause: Clause, begin: int, end: int, *, over: bool) -> None:
    words = finder.words
    low = words.low
    head = low[end - 1]
    pair = f"{words.at(end - 2)} {head}" if end - begin > 1 else ""
    whole = " ".join(low[begin:end])
    if head in ("allergy", "allergies", "intolerance"):
        _allergy(finder, clause, begin, end)
    elif (
        head in lexicon.CONDITIONS
        or pair in lexicon.CONDITIONS
        or whole in lexicon.CONDITIONS
        or (head in ("disease", "disorder", "syndrome") and end - begin > 1)
    ):
        if head != "allergies":
            stop = end + 1 if words.at(end) == "'s" else end
            finder.add(clause, "has_condition", words.slice(begin, stop), when=finder.since(clause), ends=over)
    elif any(word in _DEGREES for word in low[begin:end]) and clause.subject.name:
        _degree(finder, clause, begin, end)
    elif _appointment(finder, clause, begin, end):
        return
    elif (
        head in lexicon.POSSESSIONS
        or pair in lexicon.POSSESSIONS
        or _brand(finder, begin, end)
        or clause.lemma == "own"
    ) and not points_elsewhere(words, begin, end):
        if low[begin] in ("same", "similar", "great", "good", "question", "problem") or (
            clause.lemma == "own" and low[clause.rest] in ("it", "up", "the", "my", "your")
        ):
            return
        stop = (
            phrase_end(words, begin, clause.end, through=frozenset({"in"}), times=finder.time_starts)
            if words.at(end) == "in" and words.capital(end + 1)
            else end
        )
        finder.add(clause, "owns", words.slice(begin, stop), when=finder.since(clause), ends=over, confidence=0.85)


def _brand(finder: Finder, begin: int, end: int) -> bool:
    words = finder.words
    last = words.capital(end - 1) or words.low[end - 1][0].isdigit()
    return last and any(words.low[at] in lexicon.POSSESSIONS and words.capital(at) for at in range(begin, end))


def _allergy(finder: Finder, clause: Clause, begin: int, end: int) -> None:
    words = finder.words
    head = words.low[end - 1]
    predicate = "intolerant_to" if head == "intolerance" else "allergic_to"
    if words.at(end) == "to":
        for first, after in items(words, end + 1, clause.end):
            finder.add(clause, predicate, words.slice(first, after), ends=clause.negated)
        return
    first = begin
    while first < end - 1 and words.low[first] in (
        "severe",
        "mild",
        "bad",
        "serious",
        "terrible",
        "slight",
        "strong",
        "food",
    ):
        first += 1
    if (
        first < end - 1
        and not clause.negated
        and words.low[first] not in ("seasonal", "skin", "any", "no", "many", "several")
    ):
        finder.add(clause, predicate, words.slice(first, end - 1))


def _degree(finder: Finder, clause: Clause, begin: int, end: int) -> None:
    words = finder.words
    stop = end
    if words.at(end) in ("in", "of"):
        stop = phrase_end(words, end + 1, clause.end, times=finder.time_starts)
        while (
            words.at(stop) == "and"
            and words.at(stop + 1).isalpha()
            and words.at(stop + 2) in ("", ".", ",", "from", "at")
        ):
            stop += 2
    finder.add(clause, "degree", words.slice(begin, max(stop, end)), ends=clause.negated)
    if words.at(stop) in ("from", "at") and words.capital(after_determiner(words, stop + 1, clause.end)):
        first = after_determiner(words, stop + 1, clause.end)
        after = first
        while after < clause.end and (words.capital(after) or words.low[after] == "of"):
            after += 1
        finder.add(clause, "studied_at", words.slice(first, after), ends=clause.negated)


def _appointment(finder: Finder, clause: Clause, begin: int, end: int) -> bool:
    words = finder.words
    if words.low[end - 1] not in lexicon.APPOINTMENTS or clause.negated or clause.lemma not in ("have", "get"):
        return False
    coming = [
        time
        for time in finder.times_of(clause, "future")
        if time.end > finder.at and not time.recurring and time.direction == "in"
    ]
    if not coming:
        return False
    time = coming[0]
    if len(coming) > 1 and coming[0].precision == "day" and coming[1].precision in ("hour", "minute"):
        time = coming[1] if coming[0].start <= coming[1].start < coming[0].end else time
    stop = end
    if words.at(end) in ("with", "to", "at", "for", "in") and words.start[end] not in finder.time_starts:
        named = finder.reader.name_end(words, end + 1, clause.end)
        stop = named if named > end + 1 else end
    finder.add(clause, "appointment", words.slice(begin, stop), when=(time.start, time.end))
    return True


def owning(finder: Finder, clause: Clause) -> bool:
    """Read "I own two bikes", "I drive a Honda"."""
    words = finder.words
    if clause.lemma == "own":
        return having(finder, clause)
    if (
        clause.modal
        or clause.progressive
        or clause.negated
        or clause.perfect
        or (clause.past and not clause.used_to)
        or words.at(clause.rest) not in ("a", "an", "my", "our")
    ):
        return False
    begin = after_determiner(words, clause.rest, clause.end)
    end = phrase_end(words, begin, clause.end, times=finder.time_starts)
    if end == begin:
        return False
    vehicle = (
        words.low[end - 1] in lexicon.VEHICLES
        or any(words.capital(at) for at in range(begin, end))
        or _lower_brand(finder, begin, end)
    )
    if vehicle and not (words.low[end - 1] in ("bus", "taxi", "truck") and words.low[clause.rest] in ("a", "an")):
        finder.add(clause, "owns", words.slice(begin, end), ends=clause.ends or clause.negated, confidence=0.85)
        return True
    return False


def _lower_brand(finder: Finder, begin: int, end: int) -> bool:
    return finder.words.lower_case and any(word in lexicon.POSSESSIONS for word in finder.words.low[begin:end])


def acquiring(finder: Finder, clause: Clause) -> bool:
    """Read "bought a kayak", "adopted a kitten called Pixel", "got a dog", "sold my motorbike"."""
    words = finder.words
    if (
        clause.modal
        or clause.negated
        or clause.progressive
        or not (clause.past or clause.perfect)
        or clause.adverbs & {"almost", "nearly"}
    ):
        return False
    if words.at(clause.rest) in ("myself", "ourselves"):
        clause.rest += 1
    before = len(finder.facts)
    over = clause.lemma == "sell"
    when = finder.since(clause, change=True)
    for begin, end in items(words, clause.rest, clause.end, times=finder.time_starts):
        naming = next((at for at in range(begin, end) if words.low[at] in _NAMING), end)
        if naming == begin:
            break
        head, pair = words.low[naming - 1], f"{words.at(naming - 2)} {words.low[naming - 1]}"
        if (head in lexicon.SPECIES or pair in lexicon.SPECIES) and clause.lemma in (
            "adopt",
            "get",
            "rescue",
            "buy",
            "foster",
        ):
            names, _after = finder.reader.names_at(words, naming, clause.end)
            pets(
                finder,
                clause,
                words.slice(begin, naming),
                pair if pair in lexicon.SPECIES else head,
                names,
                over=False,
                when=when,
            )
            if names:
                break
        elif clause.lemma in ("buy", "get", "sell", "purchase") and (
            head in lexicon.POSSESSIONS or pair in lexicon.POSSESSIONS or _brand(finder, begin, naming)
        ):
            if clause.lemma == "get" and words.low[clause.rest] not in ("a", "an", "my", "our"):
                break
            finder.add(clause, "owns", words.slice(begin, naming), when=when, ends=over, confidence=0.85)
        else:
            break
    return len(finder.facts) > before
