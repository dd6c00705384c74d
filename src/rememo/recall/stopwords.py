# ruff: noqa: RUF001 - Cyrillic words look like Latin ones
"""Function words that carry no topic, by snowball language name.

They are left out of the index and of what is embedded. A language without a list keeps all its words: that costs
space and some precision, never a hit.
"""

from typing import Final

_ENGLISH = """
a about above after again against all almost also although always am among an and another any anybody anyone anything
are aren't around as at away back be became because been before being below between both but by can can't cannot could
couldn't did didn't do does doesn't doing don't done down during each either else ever every everybody everyone
everything few for from further had hadn't has hasn't have haven't having he he'd he'll he's hence her here here's hers
herself him himself his how how's however i i'd i'll i'm i've if in instead into is isn't it it'd it'll it's its itself
just let's maybe me might mine more most much must mustn't my myself neither never no nobody none nor not nothing
now of off often oh ok okay on once one one's only onto or other others ought our ours ourselves out over own per perhaps
please quite rather really shall shan't she she'd she'll she's should shouldn't since so some somebody someone something
sometimes still such than that that'd that'll that's the their theirs them themselves then there there's these they
they'd they'll they're they've this those though through thus till to together too toward towards under unless until up
upon us very was wasn't we we'd we'll we're we've well were weren't what what'll what's whatever when when's whenever
where where's whether which while who who'd who'll who's whoever whom whose why why's will with within without won't
would wouldn't yeah yes yet you you'd you'll you're you've your yours yourself yourselves d ll m re s t ve ain't gonna
gotta wanna dont doesnt didnt cant wont isnt im ive thats whats hey hi hello wow haha lol um uh
"""

_GERMAN = """
aber alle allem allen aller alles als also am an ander andere anderem anderen anderer anderes auch auf aus bei bin bis
bist da damit dann das dass dein deine deinem deinen deiner dem den denn der des dich die dies diese diesem diesen
dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch euer eure für gegen gewesen hab
habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist ja jede
jedem jeden jeder jedes jetzt kann kein keine keinem keinen keiner können könnte mal man manche mein meine meinem meinen
meiner mich mir mit muss nach nein nicht nichts noch nun nur ob oder ohne schon sehr sein seine seinem seinen seiner
selbst sich sie sind so sollte sondern um und uns unser unsere unter viel vom von vor wann war waren warum was weil
welche welchem welchen welcher welches wenn wer werde werden wie wieder will wir wird wirst wo wollen wollte würde
würden zu zum zur zwar zwischen
"""

_FRENCH = """
à ai aie ait alors as au aucun aussi autre aux avait avec avez avoir avons bien c ça car ce cela ces cet cette chez
comme comment d dans de des donc dont du elle elles en encore es est et étaient était été être eu eux fait faire font
ici il ils j je jusque l la là le les leur leurs lui m ma mais me même mes moi moins mon n ne ni nos notre nous on ont
ou où par pas peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se sera ses si son
sont sous suis sur t ta te tes toi ton tous tout toute toutes très tu un une vos votre vous y
"""

_SPANISH = """
a al algo alguna algunas alguno algunos ante antes aquel aquella aquello como con cual cuales cuando cuándo de del desde
donde dónde dos durante e el él ella ellas ellos en entre era eran eres es esa esas ese eso esos esta está están estaba
estar estas este esto estos estoy fue fueron ha hace hacia han has hasta hay he hemos la las le les lo los más me mi mí
mis mucho muchos muy nada ni no nos nosotros nuestra nuestro o os otra otras otro otros para pero poco por porque qué que
quien quién se sea ser si sí siempre sin sobre son soy su sus también tan tanto te tengo ti tiene tienen todo todos tu tú
tus un una unas uno unos usted y ya yo cómo cuál
"""

_ITALIAN = """
a abbia agli ai al alla alle allo anche ancora avere aveva c che chi ci come con contro così cosa cui da dagli dai dal
dalla dalle dallo degli dei del della delle dello di dopo dove è e ed era erano essere fa fra gli ha hai hanno ho i il in
io l la le lei li lo loro lui ma me mi mia mie miei mio molto ne negli nei nel nella nelle nello no noi non nostra nostro
o ogni per perché però più poi quale quali quando quanto quella quelle quelli quello questa queste questi questo qui se
sei si sì sia siamo sono sta stata stato su sua sue sugli sui sul sulla sulle suo suoi tra tu tua tuo tutti tutto un una
uno vi voi
"""

_PORTUGUESE = """
a à ao aos aquela aquele aquilo as às até com como da das de dela dele deles depois do dos e é ela elas ele eles em
entre era eram essa esse esta está estão estar estava este estou eu foi foram há isso isto já lhe mais mas me mesmo meu
meus minha minhas muito na não nas nem no nos nós nossa nosso num numa o onde os ou para pela pelas pelo pelos por porque
qual quando que quem se sem ser será seu seus só sua suas também te tem têm tenho ter teu tinha tu tua tudo um uma umas uns
você vocês
"""

_DUTCH = """
aan al alle alles als altijd andere ben bij daar dan dat de der deze die dit doch doen door dus een eens en er ge geen
geweest haar had heb hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij jou jouw kan kon kunnen maar
me meer men met mij mijn moet na naar niet niets nog nu of om omdat onder ons ook op over reeds te tegen toch toen tot u
uit uw van veel voor waar waarom wanneer want waren was wat we wel werd wezen wie wij wil worden wordt zal ze zelf zich
zij zijn zo zonder zou
"""

_RUSSIAN = """
а без более бы был была были было быть в вам вас весь во вот все всё всех вы где да даже для до его ее её если есть еще ещё
же за здесь и из или им их к как ко когда которые который кто ли мне можно мой моя мы на над надо нас не него нее нет ни
них но ну о об он она они оно от очень по под при про с со так также такой там то тогда того тоже только том тот ты у уже
чего чем что чтобы эта эти это этого этот я
"""

STOPWORDS: Final[dict[str, frozenset[str]]] = {
    "english": frozenset(_ENGLISH.split()),
    "porter": frozenset(_ENGLISH.split()),
    "german": frozenset(_GERMAN.split()),
    "french": frozenset(_FRENCH.split()),
    "spanish": frozenset(_SPANISH.split()),
    "italian": frozenset(_ITALIAN.split()),
    "portuguese": frozenset(_PORTUGUESE.split()),
    "dutch": frozenset(_DUTCH.split()),
    "russian": frozenset(_RUSSIAN.split()),
}

_ASKING = """
remind reminded remember remembered recall recalled mention mentioned mentions tell told telling say said saying says talk
talked talking discuss discussed discussing conversation conversations chat chats chatted previous previously earlier
wonder wondering wondered many much
"""

ASKING: Final[dict[str, frozenset[str]]] = {"english": frozenset(_ASKING.split())}
"""Words with which one asks a memory: they speak of the talking, not of what was talked about.

Left out of questions that have other words; what is remembered keeps them.
"""

_TOPICLESS = """
know knows known knew happen happens happened happening new recent recently lately anything everything something
"""

TOPICLESS: Final[dict[str, frozenset[str]]] = {"english": frozenset(_TOPICLESS.split())}
"""Words that ask for whatever there is: they name no topic, but what is remembered may well have them."""

_CHATTER = "hey hi hello wow haha lol um uh oh ok okay yes yeah please"

CHATTER: Final[dict[str, frozenset[str]]] = {
    "english": frozenset(_CHATTER.split()),
    "porter": frozenset(_CHATTER.split()),
}
"""Stop words that somebody may well look for by themselves: indexed, but asked for and embedded only where nothing else is."""
