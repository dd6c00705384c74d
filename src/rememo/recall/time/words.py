"""The words of the grammar: English time vocabulary, all in lower case."""

from rememo.text.wordlists import word_list, word_set

UNITS: dict[str, str] = {
    "minute": "minute", "minutes": "minute", "min": "minute", "mins": "minute",
    "hour": "hour", "hours": "hour", "hr": "hour", "hrs": "hour",
    "day": "day", "days": "day",
    "night": "day", "nights": "day",
    "week": "week", "weeks": "week", "wk": "week", "wks": "week",
    "fortnight": "fortnight", "fortnights": "fortnight",
    "weekend": "weekend", "weekends": "weekend",
    "month": "month", "months": "month",
    "quarter": "quarter", "quarters": "quarter",
    "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "decade": "decade", "decades": "decade",
}  # fmt: skip

NUMBERS: dict[str, tuple[int, int, int]] = {
    word: (value, value, value)
    for value, word in enumerate(
        word_list(
            "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen",
            "eighteen nineteen twenty",
        ),
        start=1,
    )
}
"""Number words as (least, best, most): "a few" is a range, "three" is not."""
NUMBERS.update({"thirty": (30, 30, 30), "forty": (40, 40, 40), "fifty": (50, 50, 50), "sixty": (60, 60, 60)})
NUMBERS.update({"few": (2, 3, 4), "couple": (2, 2, 2), "several": (3, 4, 7), "dozen": (12, 12, 12)})

MONTHS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
            "september sep sept", "october oct", "november nov", "december dec",
        ),
        start=1,
    )
    for name in names.split()
}  # fmt: skip

AMBIGUOUS_MONTHS = word_set("may march mar april june august jan dec sep oct nov jun jul aug feb apr")
"""Months that are also verbs, names or fragments: they need a preposition or a number beside them."""

WEEKDAYS: dict[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "monday mon", "tuesday tue tues", "wednesday wed weds", "thursday thu thur thurs", "friday fri",
            "saturday sat", "sunday sun",
        )
    )
    for name in names.split()
}  # fmt: skip
PLURAL_WEEKDAYS: dict[str, int] = {f"{name}s": number for name, number in WEEKDAYS.items() if name.endswith("day")}
SHORT_WEEKDAYS = frozenset(name for name in WEEKDAYS if not name.endswith("day"))

SEASONS: dict[str, int] = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The first month of each (northern, meteorological) season of three months."""

PARTS: dict[str, tuple[int, int]] = {
    "morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 30), "lunchtime": (11, 14),
}  # fmt: skip
"""Parts of a day in hours; the night runs into the next day."""

STAGES: dict[str, tuple[int, int]] = {
    "early": (0, 1), "beginning": (0, 1), "start": (0, 1), "mid": (1, 2), "middle": (1, 2), "late": (2, 3), "end": (2, 3),
}  # fmt: skip
"""Thirds of a longer stretch: "early May", "the end of the year"."""

DEICTIC: dict[str, int] = {
    "last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1, "upcoming": 1, "following": 1,
}  # fmt: skip

HOLIDAYS: dict[tuple[str, ...], tuple[int, int]] = {
    ("christmas", "eve"): (12, 24), ("christmas", "day"): (12, 25), ("christmas",): (12, 25), ("xmas",): (12, 25),
    ("boxing", "day"): (12, 26), ("new", "year", "'", "s", "eve"): (12, 31), ("new", "years", "eve"): (12, 31),
    ("new", "year", "'", "s", "day"): (1, 1), ("new", "years", "day"): (1, 1), ("new", "year", "'", "s"): (1, 1),
    ("new", "years"): (1, 1), ("valentine", "'", "s", "day"): (2, 14), ("valentines", "day"): (2, 14),
    ("valentine", "'", "s"): (2, 14), ("halloween",): (10, 31), ("easter",): (0, 0), ("thanksgiving",): (0, 1),
}  # fmt: skip
"""Days with a name; month 0 marks a computed one."""

HOLIDAY_PHRASES: dict[str, list[tuple[str, ...]]] = {}
for _phrase in HOLIDAYS:
    HOLIDAY_PHRASES.setdefault(_phrase[0], []).append(_phrase)

PREPOSITIONS = frozenset(
    {"in", "on", "at", "during", "around", "about", "over", "for", "of", "throughout", "within", "circa"}
)
AFTER = frozenset({"since", "after", "from", "following"})
BEFORE = frozenset({"before", "until", "till", "til", "by", "through"})
MONTH_OPENERS = (
    PREPOSITIONS | AFTER | BEFORE | frozenset(DEICTIC) | frozenset(STAGES) | {"every", "each", "between", "and", "to"}
)

ORDINALS: dict[str, int] = {
    word: number
    for number, word in enumerate(
        word_list(
            "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth",
            "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth",
        ),
        start=1,
    )
}
AFTER_A_DAY_NUMBER = frozenset(
    {"", ".", ",", "!", "?", ";", ":", ")", "at", "and", "in", "for", "with", "i", "we", "she", "he", "they", "to", "but", "so",
     "because", "when", "if", "is", "was", "or", "then", "it", "from", "until", "till", "by", "not", "that", "as", "since", "before", "after", "on", "which", "now", "while", "though", "basis"}
)  # fmt: skip
"""What may follow "on the 3rd" for it to be a date and not a floor or an attempt."""

EVERY = frozenset({"every", "each"})
NAMED_WEEKDAYS = frozenset({"black", "good", "cyber", "super", "ash", "palm", "giving"})
"""Words that make a weekday the name of an occasion: "Black Friday" is no day of last week."""
ADVERBS: dict[str, str] = {
    "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month", "yearly": "year", "annually": "year",
}  # fmt: skip

COUNTED_THINGS = frozenset({
    "dollars", "euros", "pounds", "people", "words", "steps", "calories", "miles", "km", "kilometers", "kilometres", "meters",
    "metres", "feet", "bucks", "usd", "users", "characters", "tokens", "pieces", "items", "times", "percent", "kg", "ml", "mg",
    "ms", "seconds", "pages", "followers", "subscribers", "sq", "square",
})  # fmt: skip
"""Nouns after which "in 2000" is an amount and no year."""

TRIGGERS = frozenset(
    {"yesterday", "today", "tonight", "tomorrow", "noon", "midnight"}
    | {"weekday", "weekdays", "weeknights"} | set(UNITS) | set(MONTHS) | set(WEEKDAYS) | set(PLURAL_WEEKDAYS) | set(SEASONS) | set(PARTS) | set(ADVERBS)
    | {phrase[0] for phrase in HOLIDAYS if phrase[0] != "new"} | {"eve"} | set("0123456789")
)  # fmt: skip
"""A text without any of these (and without an anchor's words) holds no time expression."""
