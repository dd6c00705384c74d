"""Signals of change: how a sentence shows that something is over, has another value now, or was said wrongly.

A table: each row is a kind of signal, its pattern and sentences that carry it, which are its tests. Patterns are tried on a
sentence in lower case with plain apostrophes; all repetition in them is bounded, so time is linear in the text.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

SignalKind = Literal["ended", "left", "now", "changed", "corrected", "instead", "new", "again", "negated", "news"]


@dataclass(frozen=True, slots=True)
class SignalRow:
    """One row of the table."""

    kind: SignalKind
    pattern: re.Pattern[str]
    examples: tuple[str, ...]
    """Sentences that carry the signal; tests try them."""


def _row(kind: SignalKind, pattern: str, *examples: str) -> SignalRow:
    return SignalRow(kind, re.compile(pattern), examples)


TABLE: Final = (
    _row("ended",
         r"\bno longer\b|\bany ?more\b|(?<!never )(?<!not )(?<!n't )\b(?:gave up|given up|giving up|quit|quitting|stopped|dropped|ditched|sold|cancelled|canceled"
         r"|cancelling|called off|got rid of|gave (?:the|my|our|him|her|it|them) .{0,25}?(?:away|back|to (?:my|a|an|the|his|her|our)\b)|gave (?:him|her|it|them) away|handed .{0,30}?(?:back|over|in)|broke up|broken up|split up|split from|stepped down|stepping down"
         r"|resigned|is over|'s over|over with|(?:is|are|was|'s|'re) (?:gone|off|dead|closed|finished|done|history|cancelled)|done with|no more|packed it in"
         r"|packed in|let .{1,30}? go|laid off|died|passed away|put down|put to sleep|fell through|shut down|moved out|came off|calling .{1,25}? off|called .{1,25}? off|isn't happening|not happening|pulled the plug|threw (?:the|my|it|them|out|away)|deleted|run out|ran out|has to wait|out of business|scrapped|retired"
         r"|outgrew|outgrown|turned up|on hold|goodbye|expired|last day|unsubscribed|returned|separated|divorced)\b",
         "i no longer use vim", "i don't like jazz anymore", "i sold the toyota last week", "sara and i broke up", "rex died yesterday",
         "the sauna is off"),
    _row("left",
         r"(?<!never )(?<!not )(?<!n't )\b(?:left|leaving|lost|finished|ended|gone|closed|haven't|hasn't|off|dead|give up|stopping|dropping|free of|without"
         r"|until|used to|instead|wrong)\b",
         "i left the company", "one year without a cigarette"),
    _row("now",
         r"(?<!right )(?<!until )(?<!by )\bnow\b(?! that)|\bnowadays\b|\bthese days\b|\bfrom now on\b|\bfrom today\b|\bfrom (?:next|this) |\bas of\b"
         r"|\bas from\b|\bwith (?:immediate )?effect\b|\bgoing forward\b|\bstarting (?:today|tomorrow|next|this|mon|tue|wed|thu|fri|in|from)"
         r"|\beffective\b|\bsince (?:yesterday|last|the first|the start|v\d|this|early|mid|new year|mon|tue|wed|thu|fri|sat|sun|jan|feb|mar|apr"
         r"|may|jun|jul|aug|sep|oct|nov|dec)|\blately\b|\bcurrently\b|\bat the moment\b|\bfor good\b",
         "i cycle to work now", "standup is at 10:30 from now on", "i've been in spokane since last week"),
    _row("changed",
         r"\b(?:switch(?:ed|ing|es)?|chang(?:ed|ing)|room change|change of (?:plan|job|address|number)|new direction|migrat\w+|upgrad\w+|downgrad\w+|convert\w+|transferr\w+|shifted|swapp\w+|replac\w+"
         r"|traded|exchang\w+|rewritten|rewrote|rebrand\w*|renamed|relocat\w+|moved|moving|rescheduled|postponed|pushed|bumped|delayed"
         r"|brought forward|moved up|raised|lowered|cut to|reduced|increased|promoted|became|become|turned into|put me|made (?:me|him|her) (?:the |a |an )?(?:head|chair|lead|manager|captain|director|partner|permanent)|been made"
         r"|belongs to|looks after|took over|taken over|takes over|handed over|ported|transitioned|went back|gone back|steps? in|stepped in|extended|rebooked|gave me|merged|went with|settled on"
         r"|decided on|opted|gone for|overtaken|overtook|taking over|put .{1,25}? down to|moved on)\b",
         "we migrated the project from mysql to postgresql", "the deadline was pushed to march 15", "colin took over as treasurer"),
    _row("corrected",
         r"\b(?:i meant|i mean|correction|my mistake|my bad|scratch that|i was wrong|got that wrong|typo|misspoke|mix(?:ed|ing) up|make (?:it|that)|wrong"
         r"|should be|it's actually|actually)\b|^(?:sorry|wait|oops|no,|not \w+ but)",
         "sorry, i meant 9am, not 7am", "actually make it six people"),
    _row("instead", r"\binstead\b|\brather than\b|\bin place of\b|\bnot (?:to |at |on |in )?(?:the|my|a|\d)|, not \w",
         "i take the train instead of the bus", "it is on tuesday, not on monday"),
    _row("new",
         r"\bnew\b|\bfirst (?:day|week|month)\b|\bjust (?:got|bought|started|moved)\b|\bgot (?:the keys|an?|my|married|engaged)\b|\bbought\b"
         r"|\bpicked up\b|\btook up\b|\btaken up\b|\bstarted\b|\bstarting\b|\bjoined\b|\badopted\b|\bsigned (?:up|with|for)\b|\bpassed\b"
         r"|\bmarried\b|\bengaged\b|\bdivorce",
         "my new manager is tom", "first day at the bakery", "we bought a tesla"),
    _row("again", r"\bagain\b|\bback (?:to|in|together|on|at|with|home)\b|\bafter all\b", "i eat meat again", "nils and i are back together"),
    _row("negated", r"n't\b|\bwon't\b|\bnot\b|\bnever\b|\bonly\b|\bno\b", "i'm not allergic to peanuts", "we can only spend 11,500"),
    _row("news",
         r"\bupdate\b|\bheads up\b|\bnews\b|\bchange of plan|\bturns out\b|\bturned out\b|\bfyi\b|\bguess (?:what|who)\b|\bbtw\b|\bfinally\b"
         r"|\bofficial",
         "heads up, we've rewritten the backend", "turns out i was right"),
)  # fmt: skip
STRONG: Final = frozenset({"ended", "now", "changed", "corrected", "instead"})
"""Signals that say by themselves that something is otherwise than before."""
TELLING: Final = STRONG | {"left", "new", "again"}
"""Those and the ones that say so where the matter is the same."""
_BEFORE, _AFTER = 4, 5
"""Words on either side of a signal that name what has ended."""
_ENDED: Final = re.compile(f"{TABLE[0].pattern.pattern}|{TABLE[1].pattern.pattern}")


def find_signals(sentence: str) -> dict[SignalKind, str]:
    """Return the signals that a plain sentence carries, each with its wording."""
    matches: Iterator[tuple[SignalKind, re.Match[str] | None]] = (
        (row.kind, row.pattern.search(sentence)) for row in TABLE
    )
    return {kind: match.group().strip() for kind, match in matches if match is not None}


def ended_words(sentence: str) -> str:
    """Return the words of a plain sentence that stand around its signals of an end."""
    parts: list[str] = []
    for match in _ENDED.finditer(sentence):
        parts += sentence[: match.start()].rsplit(maxsplit=_BEFORE)[-_BEFORE:]
        parts.append(match.group())
        parts += sentence[match.end() :].split(maxsplit=_AFTER)[:_AFTER]
    return " ".join(parts)
