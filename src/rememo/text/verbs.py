"""Verb forms the rules know: from a form to its dictionary form and what kind of form it is."""

from typing import Literal

from rememo.text.wordlists import word_list, word_set

Form = Literal["base", "third", "past", "participle", "ing"]

_REGULAR = word_list(
    "live work like love enjoy adore hate dislike loathe despise prefer own play study learn visit move relocate",
    "graduate retire adopt attend start finish complete pass fail join celebrate host hike climb watch travel",
    "cook bake paint volunteer major code program suffer diagnose raise resign turn call name marry divorce train",
    "teach book plan schedule enrol enroll sign return land purchase order rent lease launch publish renovate",
    "repaint plant organise organize walk jog practise practice meditate stretch commute garden tutor babysit",
    "clean phone email text listen swim quit die earn perform exhibit record donate deliver present defend submit",
    "apply interview hire fire lay break injure sprain fracture recover stop grow cycle stay camp tour explore",
    "race compete welcome rescue foster avoid follow keep switch settle immigrate emigrate upgrade replace",
    "install assemble crochet knit sew brew ferment journal blog stream coach referee mentor help manage lead",
    "found co-found open close use take speak know eat drink drive ride run wake get go give see meet have buy",
    "sell win lose fly begin smoke pick promote employ reside date set read write make build draw sing bring leave spend",
    "sleep find hurt cut come become hit say tell think rehome misplace scrap crash total wreck trash ditch drop swap cancel steal",
    "include inherit dump disappear vanish ski surf dance gamble vape fast postpone reschedule push escape trade tie dig care touch wear fall head change support depart collect separate engage split sack dismiss resume migrate christen accept let put rent reach expect",
    "report transfer weigh rename delete uninstall outgrow subscribe pay step stand hand pack kick prescribe deploy host appoint elect downgrade maintain",
)
_IRREGULAR = (
    "quit quits quit quit quitting; break breaks broke broken breaking; swim swims swam swum swimming; grow grows grew grown growing; "
    "take takes took taken taking; speak speaks spoke spoken speaking; know knows knew known knowing; eat eats ate eaten eating; "
    "drink drinks drank drunk drinking; drive drives drove driven driving; ride rides rode ridden riding; run runs ran run running; "
    "wake wakes woke woken waking; get gets got gotten getting; go goes went gone going; give gives gave given giving; "
    "see sees saw seen seeing; meet meets met met meeting; have has had had having; buy buys bought bought buying; "
    "sell sells sold sold selling; win wins won won winning; lose loses lost lost losing; fly flies flew flown flying; "
    "begin begins began begun beginning; read reads read read reading; write writes wrote written writing; "
    "make makes made made making; build builds built built building; draw draws drew drawn drawing; sing sings sang sung singing; "
    "teach teaches taught taught teaching; bring brings brought brought bringing; leave leaves left left leaving; "
    "spend spends spent spent spending; sleep sleeps slept slept sleeping; find finds found found finding; hurt hurts hurt hurt hurting; "
    "cut cuts cut cut cutting; come comes came come coming; become becomes became become becoming; hit hits hit hit hitting; "
    "say says said said saying; tell tells told told telling; think thinks thought thought thinking; keep keeps kept kept keeping; "
    "lead leads led led leading; sew sews sewed sewn sewing; lay lays laid laid laying; die dies died died dying; "
    "study studies studied studied studying; marry marries married married marrying; plan plans planned planned planning; "
    "stop stops stopped stopped stopping; jog jogs jogged jogged jogging; knit knits knitted knitted knitting; "
    "blog blogs blogged blogged blogging; prefer prefers preferred preferred preferring; apply applies applied applied applying; "
    "program programs programmed programmed programming; babysit babysits babysat babysat babysitting; "
    "enrol enrols enrolled enrolled enrolling; do does did done doing; set sets set set setting; stand stands stood stood standing; bear bears bore borne bearing; submit submits submitted submitted submitting; travel travels travelled travelled travelling; "
    "tie ties tied tied tying; dig digs dug dug digging; wear wears wore worn wearing; fall falls fell fallen falling; "
    "split splits split split splitting; steal steals stole stolen stealing; let lets let let letting; put puts put put putting; "
    "drop drops dropped dropped dropping; swap swaps swapped swapped swapping; cancel cancels cancelled cancelled cancelling; "
    "scrap scraps scrapped scrapped scrapping; outgrow outgrows outgrew outgrown outgrowing; pay pays paid paid paying; transfer transfers transferred transferred transferring; step steps stepped stepped stepping"
)
_EXTRA = {
    "canceled": ("cancel", "past"),
    "totalled": ("total", "past"),
    "traveled": ("travel", "past"),
    "traveling": ("travel", "ing"),
    "practising": ("practise", "ing"),
}


def _regular(base: str) -> tuple[str, str, str, str, str]:
    stem = base.removesuffix("e")
    third = f"{base}es" if base.endswith(("s", "sh", "ch", "x", "z", "o")) else f"{base}s"
    return base, third, f"{stem}ed", f"{stem}ed", f"{base if base.endswith(('ee', 'ye', 'oe')) else stem}ing"


def _table() -> dict[str, tuple[str, Form]]:
    forms: dict[str, tuple[str, Form]] = {}
    irregular = [tuple(row.split()) for row in _IRREGULAR.split(";")]
    irregular_bases = {row[0] for row in irregular}
    rows = irregular + [_regular(base) for base in _REGULAR if base not in irregular_bases]
    kinds: tuple[Form, ...] = ("base", "third", "past", "participle", "ing")
    for row in rows:
        for word, kind in zip(row, kinds, strict=True):
            forms.setdefault(word, (row[0], kind))
    for word, (base, kind) in _EXTRA.items():
        forms[word] = (base, "past" if kind == "past" else "ing")
    return forms


FORMS: dict[str, tuple[str, Form]] = _table()
"""A word and the verb and form it may be; a past that is also a participle counts as past."""
FORMS["'ve"] = ("have", "base")
SAME_AS_BASE = word_set("quit put cut set let hit hurt read split come run become")
"""Verbs whose past or participle looks like the form that stands after "I"."""

ADVERBS = word_set(
    "really just also still currently actually now recently usually normally typically generally always already",
    "only even finally absolutely totally definitely literally both all presently honestly truly simply genuinely",
    "mostly mainly officially happily proudly temporarily permanently eventually ever quite very so kinda pretty",
    "deeply secretly personally lately regularly often sometimes occasionally soon then completely passionately",
    "freaking fucking bloody dearly especially particularly primarily basically obviously clearly apparently",
    "technically formerly previously once newly freshly",
)
HEDGES = word_set(
    "apparently supposedly allegedly practically basically literally technically obviously clearly hardly barely",
    "almost nearly",
)
"""Adverbs with which a sentence says less, or other, than it seems to."""

HABITUAL = frozenset({"usually", "normally", "typically", "generally", "regularly"})
MODALS = word_set("would could should might may must shall ought 'd")
BE = word_set("am is are was were be been being 'm 're 's")
