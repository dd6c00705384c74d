"""English forms that no stemming rule leads back to their word: "bought" to "buy", "children" to "child".

A form that is also a word of its own stands here only if the form is what people mostly mean by it: "left" and "found"
do, "rose", "bit" and "lives" do not.
"""

from typing import Final

_FORMS = """
arise arose arisen; awake awoke awoken; beat beaten; become became; begin began begun; bend bent; bite bitten;
bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought;
catch caught; choose chose chosen; come came; creep crept; deal dealt; dig dug; dive dove; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grow grew grown;
hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known; lead led; lean leant;
leap leapt; learn learnt; leave left; lend lent; lose lost; make made; mean meant; meet met; mistake mistook mistaken;
overcome overcame; pay paid; prove proven; ride rode ridden; ring rang rung; rise risen; run ran; say said; see saw seen;
seek sought; sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk;
sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; speed sped; spend spent; spin spun;
spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove; swear swore
sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn; tell told; think thought;
throw threw thrown; understand understood; wake woke woken; wear wore worn; weave wove woven; weep wept; win won;
withdraw withdrew withdrawn; write wrote written;
child children; foot feet; goose geese; knife knives; loaf loaves; man men; mouse mice;
person people; shelf shelves; tooth teeth; wife wives; wolf wolves; woman women
"""


def _by_form() -> dict[str, str]:
    by_form: dict[str, str] = {}
    for line in _FORMS.replace("\n", " ").split(";"):
        word, *forms = line.split()
        by_form |= dict.fromkeys(forms, word)
    return by_form


IRREGULAR: Final[dict[str, dict[str, str]]] = {"english": _by_form()}
"""By snowball language name: each irregular form and the word it belongs to."""
