"""Values of things that are nobody's verb: "the gate code is 4471", "budget for the kitchen: 18,000 euros", "they raised my rent to 790".

A statement of a key and its value is read as one of the speaker's own: "our gate code is 4471". The rows then read it, the last of them
as a value that the next one of the same thing ends.
"""

from rememo.extract.clauses import Clause
from rememo.extract.fact_finder import FactFinder
from rememo.extract.lexicon import SPECIES
from rememo.extract.readers.attributes import OFFICES, PARTICIPLES, component_key, key_end, owned_key, value_at
from rememo.extract.tokens import Words
from rememo.text import verbs
from rememo.text.wordlists import word_set

_KEYS = word_set(
    "code passcode password pin wifi network deadline budget rent salary standup stand-up retro retrospective meeting sync demo",
    "offsite venue reception wedding course rehearsal reservation room address extension handle username backend frontend database",
    "stack scheduler pipeline ci build builds branch docs documentation release hosting domain editor framework provider plan",
    "supervisor maintainer captain treasurer chair secretary conductor landlord proposal application report paper thesis review",
    "party picnic club choir hotel hostel appointment flight train gate platform spot locker floor lead head coordinator organiser",
    "organizer moderator on-call production staging backup theme shift allowance limit target goal quota lease handover timezone divorce",
)
"""Things that have a value, and are the speaker's own matter also when "the" stands before them."""
_VAGUE_KEYS = word_set(
    "number size date time language version app service server key name project website site repo level price cost fee dose",
    "class position team job role office contact owner manager director president teacher coach producer host colour color",
)
"""Things that have a value when it is said which one: "the project language"."""
_BARE_KEYS = word_set(
    "home standup stand-up retro retrospective budget deadline rent departure production staging rehearsal practice"
)
"""Things that stand without any article: "standup is at 9:15"."""
_NOT_LABELS = word_set(
    "user assistant ai human system bot agent me you todo to-do summary question answer q a example examples input output result",
    "results task tasks instructions instruction subject re fwd from to cc note notes update updates context background source",
    "sources link links warning error info fyi ps edit correction reminder reason goal goals step steps option options tip tips",
)
_SPOKEN = word_set(
    "i we you he she they it me a an is are was have has had got do does did will would can could be been this that"
)
"""Words of a sentence, not of a label."""
_LABEL_ENDS = 6
_LONGEST_KEY = 7
_OPENING = word_set(", ; : - ( and but so because since then now also ok okay btw fyi well anyway that")
_CHANGED = word_set(
    "changed raised lowered extended updated reset cut increased reduced bumped set dropped upgraded switched renamed moved shifted",
    "pushed brought revised shortened doubled adjusted migrated",
)
_OWNED = word_set("my our the")


def own_values(words: Words, *, noted: bool) -> None:
    """Write "our" where a thing with a value has no owner yet, and "is" for the colon behind one.

    "Mine is a dachshund" is read as what one has.
    """
    low = words.low
    if low[0] == "mine" and low[1] in ("'s", "is") and words.at(2) in ("a", "an") and not SPECIES.isdisjoint(low[3:6]):
        low[0], low[1] = "i", "have"
    colon = low.index(":") if ":" in low else 0
    if 0 < colon <= _LABEL_ENDS and colon < len(low) - 1 and _is_label(words, colon, noted=noted):
        low[colon] = "is"
        if low[0] in _OWNED:
            low[0] = "our"
        else:
            words.insert(0, "our")
        return
    if low[0] in _BARE_KEYS and words.at(1) in verbs.BE:
        words.insert(0, "our")
        return
    if "the" not in low:
        return
    for at in range(len(low) - 2):
        if low[at] == "the" and (not at or low[at - 1] in _OPENING or low[at - 1] in verbs.ADVERBS):
            end = _be_after(words, at + 1)
            if end and (_is_key(low, at + 1, end) or _is_made(words, at + 1, end)):
                low[at] = "our"


def _be_after(words: Words, first: int) -> int:
    """Return where the verb stands behind a noun and what belongs to it, 0 when none does."""
    for at in range(first, min(first + _LONGEST_KEY, len(words))):
        if words.low[at] in verbs.BE or words.low[at] == "will":
            return at if at > first else 0
        if not words.low[at].replace("-", "").isalpha():
            return 0
    return 0


def _is_key(low: list[str], first: int, end: int) -> bool:
    noun = key_end(low, first, end)
    return noun > first and (low[noun - 1] in _KEYS or (low[noun - 1] in _VAGUE_KEYS and noun - first > 1))


def _is_made(words: Words, first: int, end: int) -> bool:
    """Tell whether it is said how something is made or where it runs: "the app is hosted on Heroku"."""
    return end - first == 1 and words.low[first] in _VAGUE_KEYS and words.at(end + 1) in PARTICIPLES


def _is_label(words: Words, colon: int, *, noted: bool) -> bool:
    low = words.low
    first = int(low[0] in _OWNED)
    while first < colon and low[first] in ("new", "current", "updated"):
        first += 1
    if first == colon or not all(low[at].replace("-", "").isalpha() for at in range(first, colon)):
        return False
    if not _SPOKEN.isdisjoint(low[first:colon]):
        return False
    if not noted:  # several lines of labels are a form that was pasted
        return "\n" not in words.text.strip() and _is_key(low, first, colon)
    verb = verbs.FORMS.get(low[first], ("", ""))[1] == "third"  # "Plays: Hamlet"
    return not verb and _NOT_LABELS.isdisjoint(low[:colon])


def read_changed_values(finder: FactFinder, limit: int) -> None:
    """Read "they raised my rent to 790", "I changed my provider to Nova": whoever did it, the thing has another value."""
    words = finder.words
    low = words.low
    if "to" not in low or _CHANGED.isdisjoint(low):
        return
    for at in range(limit - 3):
        if low[at] not in _CHANGED or low[at + 1] not in _OWNED or words.at(at - 1) in ("n't", "not", "to", "if"):
            continue
        to = next((index for index in range(at + 2, min(at + 2 + _LONGEST_KEY, limit - 1)) if low[index] == "to"), 0)
        if not to or not (low[at + 1] != "the" or _is_key(low, at + 2, to)):
            continue
        key = owned_key(finder, finder.speaker, at + 2, to)
        clause = Clause(words, at, finder.own_subject(at), at, "change", "past", to + 1, limit)
        for value in value_at(finder, clause, to + 1) if key else ():
            finder.add(clause, "is", value.text, subject=key, confidence=0.8)


def read_successors(finder: FactFinder, limit: int) -> None:
    """Read "Mehmet has taken over as (our) tech lead", "Aisha took over billing"."""
    words = finder.words
    low = words.low
    if "over" not in low:
        return
    for at in range(1, limit - 2):
        if low[at] not in ("took", "taken", "takes") or low[at + 1] != "over":
            continue
        name = at - (low[at - 1] in ("has", "'s", "have"))
        begin = name
        while begin and words.capital(begin - 1) and low[begin - 1] != "i":
            begin -= 1
        is_office = low[at + 2] == "as"
        first = at + 2 + is_office
        first += words.at(first) in _OWNED
        end = first
        while end < limit and low[end].replace("-", "").isalpha() and low[end] not in _STOPS:
            end += 1
        if begin == name or end == first or (is_office and low[key_end(low, first, end) - 1] not in OFFICES):
            continue
        clause = Clause(words, begin, finder.own_subject(at), at, "take", "past", at + 2, end)
        key = owned_key(finder, finder.speaker, first, end) if is_office else component_key(finder, first, end)
        if key:
            finder.add(clause, "is", words.slice(begin, name), subject=key, confidence=0.8)


_STOPS = word_set("and but so because from since while when now this last next after before")


def read_new_values(finder: FactFinder, limit: int) -> None:
    """Read "they gave me a new parking spot, number 52", "I've got a new locker: 212"."""
    words = finder.words
    low = words.low
    if "new" not in low or _GIVEN.isdisjoint(low):
        return
    at = low.index("new")
    end = next((index for index in range(at + 1, min(at + 1 + _LONGEST_KEY, limit)) if low[index] in (",", ":")), 0)
    opened = words.at(at - 1) in ("a", "the", "my", "our") and (
        words.at(at - 2) == "me" or words.at(at - 2) in ("got", "have", "'ve")
    )
    if not end or not opened or not all(low[index].replace("-", "").isalpha() for index in range(at + 1, end)):
        return
    key = owned_key(finder, finder.speaker, at + 1, end)
    clause = Clause(words, max(at - 2, 0), finder.own_subject(at), at, "get", "past", end + 1, limit)
    figures = any(map(str.isdigit, words.at(end + 1) + words.at(end + 2)))
    already_read = any(fact.wording and fact.position[0] >= words.start[0] for fact in finder.facts)
    for value in value_at(finder, clause, end + 1) if key and figures and not already_read else ():
        finder.add(clause, "is", value.text, subject=key, confidence=0.8)


_GIVEN = word_set("gave got have 've assigned given")
READINGS = (read_changed_values, read_successors, read_new_values)
"""All of them, like those of ``sentence_patterns``."""
