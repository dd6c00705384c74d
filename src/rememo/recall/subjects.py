"""Whom a sentence is about: the speaker, or somebody whom the speaker knows."""

import re
from typing import Final

_KIN: Final = (
    r"(?:sister|brother|mother|father|mom|mum|dad|friend|mate|neighbou?r|colleague|coworker|buddy|boss|cousin|aunt|uncle|son|daughter|wife|husband|partner"
    r"|flatmate|roommate|parent|kid|boyfriend|girlfriend|niece|nephew|grandma|grandmother|grandpa|grandfather|ex|twin|in-law|hubby|missus|fianc[eé]e?|team next door|other team)s?"
)
_OPENERS: Final = r"(?:(?:so|and|but|also|oh|ok|okay|well|yes|yeah|fyi|btw|apparently|meanwhile|soo+)[,:!.]* )*"
_OF_OTHERS: Final = re.compile(rf"\b(?:my|his|her|their|our)(?: \w+){{0,2}}? {_KIN}\b|^(?:he|she|they)\b")
_OTHER_SUBJECT: Final = re.compile(
    rf"^{_OPENERS}(?:(?:my|our|his|her|the|their|a|another|\w+'s)(?: \w+){{0,2}}? {_KIN}(?:'s)?|{_KIN}(?= (?:[a-z']+ )?(?:is|was|has|had|got|gets|wants?|wanted|bought|moved|started|starts|thinks|thought|says|said|gave|sold|quit|left|does|did|\w+ed)\b)|he|she|they(?! (?:\w+ )?(?:me|us|my|our)\b))\b"
)


def speaks_of_others(sentence: str) -> bool:
    """Tell whether somebody whom the speaker knows occurs in a sentence in lower case."""
    return bool(_OF_OTHERS.search(sentence))


def other_subject(sentence: str) -> str:
    """Return the words for the person whom the speaker knows that a sentence in lower case begins with; else nothing."""
    match = _OTHER_SUBJECT.match(sentence)
    return "" if match is None else match.group()
