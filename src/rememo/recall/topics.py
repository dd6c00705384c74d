"""Topics: words by the matter they belong to.

Two statements may be about the same thing without a common word: "I sold the Ford" and "I drive a Kia".

A table: each row is a topic and its words, as they are written in lower case. A word may stand in several rows. Topics are
narrow where people have one of a kind: one home, one job, one editor.
"""

import re
from collections.abc import Iterator
from typing import Final

TABLE: Final = {
    "home": (
        "live lives living lived moved moving move relocate relocated relocating based settled home house flat "
        "apartment rent renting rented landlord tenant neighbourhood neighborhood terrace keys roommate flatmate lease "
        "mortgage city town street condo studio loft cottage houseboat villa suburb downtown staying stay share parents "
        "bedroom dorm"
    ),
    "job": (
        "work works working worked job jobs employed employer company boss office career position role promoted "
        "promotion hired fired freelance freelancer freelancing self-employed contractor accountant engineer teacher "
        "teaching teach nurse barista developer manager designer lawyer doctor driver chef cook baker plumber "
        "electrician waiter journalist editor writer translator analyst consultant intern internship shifts salary "
        "resigned quit joined retire retired retirement head director lead laid redundant startup firm agency studio "
        "offer notice"
    ),
    "love": (
        "married marry wedding wed husband wife spouse partner boyfriend girlfriend dating date engaged engagement "
        "fiance fiancee fiancé fiancée proposed divorce divorced single separated broke split relationship together "
        "knot honeymoon bride groom ex seeing"
    ),
    "diet": (
        "vegan vegetarian pescatarian meat steak chicken beef pork fish bacon eat eats eating ate diet dairy milk "
        "cheese gluten bread keto paleo carnivore plant-based sugar lactose calories fasting meal meals carbs seafood "
        "shellfish eggs"
    ),
    "allergy": (
        "allergic allergy allergies intolerant intolerance coeliac celiac nuts peanuts shellfish pollen lactose gluten "
        "penicillin"
    ),
    "drink": (
        "coffee tea espresso latte cappuccino matcha decaf cocoa soda cola juice kombucha drink drinks drinking wine "
        "beer alcohol sober teetotal whisky gin rum cocktail booze bottle bottles pub caffeine"
    ),
    "smoke": "smoke smokes smoking smoked smoker cigarette cigarettes cig cigs vape vaping nicotine pack tobacco",
    "pet": (
        "dog dogs cat cats puppy kitten parrot hamster rabbit bird pet pets aviary shelter vet goldfish horse pony "
        "tortoise turtle snake budgie adopted rehomed breed"
    ),
    "car": (
        "car cars drive drives driving drove vehicle van truck motorbike motorcycle scooter tesla toyota ford kia volvo "
        "bmw audi honda fiesta mazda skoda renault peugeot hyundai nissan golf electric licence license"
    ),
    "commute": (
        "commute commuting bus train bike bicycle cycle cycling tram metro subway walk walking car drive driving "
        "carpool ferry tube"
    ),
    "phone": "phone number mobile cell sim reach call ring text",
    "device": "iphone android pixel samsung nokia phone laptop macbook thinkpad mac tablet ipad chromebook computer handset",
    "os": "windows linux mac macos ubuntu fedora debian chromeos arch mint",
    "editor": "vim emacs neovim vscode vs code pycharm intellij sublime eclipse cursor zed editor ide",
    "browser": "chrome firefox safari edge opera brave browser vivaldi",
    "database": "postgresql postgres mysql sqlite mongodb mongo oracle mariadb redis dynamodb cassandra database db storage",
    "lang": (
        "python java rust go golang typescript javascript ruby kotlin swift scala php perl elixir haskell c++ written "
        "rewritten rewrote backend"
    ),
    "frontend": "react vue angular svelte frontend next.js nextjs jquery htmx",
    "hosting": (
        "aws azure gcp heroku vercel netlify fly.io deploy deploys deployed deployment deployments hosting hosted host "
        "cloud server servers kubernetes render hetzner digitalocean cluster production"
    ),
    "chat": "slack teams discord zoom whatsapp telegram signal channel meet",
    "tools": "notion obsidian evernote trello asana jira linear todoist confluence tickets tracker notes",
    "media": (
        "spotify tidal deezer netflix hulu disney subscription subscribe subscribed subscriber streaming membership "
        "member plan premium cancel cancelled newspaper magazine"
    ),
    "repo": (
        "github gitlab bitbucket repo repository branch ci jenkins actions pipeline tests pytest unittest linter "
        "license licence mit apache"
    ),
    "contact": "email mail e-mail inbox gmail outlook handle insta instagram twitter username user account nickname screen",
    "secret": "password passcode pin code wifi wi-fi network key login combination",
    "address": (
        "deliver deliveries delivery ship shipping parcel parcels address package packages post street road lane avenue "
        "flat floor"
    ),
    "study": (
        "school university college uni degree phd master masters master's bachelor course study studies studying "
        "studied student thesis major academy primary class grade defended graduated graduate graduation enrolled exam "
        "semester physics law medicine biology chemistry history economics engineering"
    ),
    "instrument": (
        "guitar piano violin drums cello flute saxophone sax ukulele bass trumpet clarinet harp banjo keyboard "
        "instrument band orchestra choir"
    ),
    "sport": (
        "running run runs jogging yoga swimming swim pilates cycling crossfit boxing climbing bouldering tennis golf "
        "football soccer basketball volleyball rowing karate judo squash badminton padel hockey gym gyms fitness "
        "workout train training trainer marathon team sport"
    ),
    "craft": (
        "chess knitting knit crochet pottery painting drawing sewing gardening woodworking photography baking hobby "
        "hobbies ceramics birdwatching fishing reading"
    ),
    "tongue": (
        "spanish french german italian portuguese japanese chinese mandarin korean arabic russian dutch swedish "
        "norwegian polish turkish greek english language languages learn learning duolingo tutor fluent"
    ),
    "event": (
        "appointment meeting flight fly flying train trip travel travelling conference dentist doctor hairdresser "
        "deadline due reservation table booked booking party wedding reception schedule scheduled event venue ceremony "
        "call session class club standup sync interview exam concert show release launch kickoff review retro demo "
        "holiday vacation gig rehearsal leaves departs"
    ),
    "trip": (
        "trip holiday vacation flight fly flying travel travelling going visit rome paris cruise camping hotel booked "
        "tickets honeymoon itinerary"
    ),
    "money": (
        "budget spend cost costs price pay paying salary rent euros dollars pounds afford fee fees loan savings save "
        "bank"
    ),
    "health": (
        "asthma flu cold sick ill illness medication pills tablets dose mg doctor diagnosed condition diabetes blood "
        "pressure pregnant injury injured knee back ankle wrist broken recovered gone cured healthy pain migraine "
        "therapy physio cast crutches covid surgery"
    ),
    "taste": (
        "favourite favorite prefer prefers preferred like likes love loves enjoy enjoys hate hates dislike dislikes "
        "best top"
    ),
    "music": "band song songs music artist singer album genre jazz rock pop metal techno classical listen listening",
    "screen": "movie movies film films series show book books novel author reading watch watching podcast game games",
    "colour": "colour color blue green red yellow purple orange black white pink teal",
    "reply": (
        "answers answer replies reply responses response short long detailed concise brief formal informal casual tone "
        "bullet bullets emojis emoji sentences text units metric imperial celsius fahrenheit call name language english"
    ),
    "owner": (
        "owner owns maintainer maintains handles handle responsible lead leads treasurer chair secretary manager boss "
        "assigned account belongs looks reports report runs charge reviewer contact supervisor mentor captain coach"
    ),
    "size": "size wear wears shoe shoes shirt trousers dress ring weigh weight kg kilos pounds stone height tall cm",
    "family": (
        "son daughter child children kid kids baby mother father mom mum dad sister brother parents grandma grandmother "
        "aunt uncle cousin niece nephew twins toddler"
    ),
    "lost": "lost lose missing found lent borrowed returned stolen misplaced keys wallet ring",
    "sleep": "sleep wake waking bed alarm morning mornings night nights shift shifts early late",
    "zone": "timezone time zone utc gmt cet est pst",
    "bank": "bank insurance insurer provider broadband electricity contract tariff supplier carrier",
    "team": "team people members engineers headcount staff size",
    "vision": "glasses contacts lenses laser",
    "hair": "hair beard blonde brunette dyed shaved",
    "name": "name surname maiden called named pronouns nickname call",
    "faith": "church mosque religion religious atheist buddhist catholic",
    "duty": "on-call oncall call duty rota handover shift cover",
    "seat": "seat window aisle row",
    "parking": "parking spot space garage bay permit number",
    "support": "support supporter fan club scarf shirt football team",
    "scent": "perfume scent smell cologne rose cedar lavender",
    "builds": "release releases builds build branch trunk main master stable tag pipeline",
    "chat tool": "slack zulip teams discord mattermost talk chat message messages",
    "plan": "plan plans planning going moving party wedding marathon surgery operation renovation renovating project",
    "baby": "pregnant pregnancy weeks baby born birth arrived newborn expecting due trimester",
    "breakfast": "breakfast oatmeal porridge cereal toast fasting skip lunch dinner",
    "display": "dark light mode theme font screen",
    "room": "room rooms gate platform hall building floor desk office moved",
    "news": "newspaper paper edition digital magazine news subscription",
    "reading": "kindle e-reader paper book books audiobooks read reading novel",
    "kit": "guitar telecaster camera lens bike tent board skis snowboard surfboard",
    "energy": "electricity gas heating solar panels bill meter tariff",
    "garden": "garden allotment plot vegetables hens chickens eggs bees greenhouse",
    "club": "club group society choir captain coach chair member league team harriers",
    "holiday": "beach mountains sea camping skiing holiday holidays vacation",
    "child care": "kindergarten nursery school primary preschool daycare childminder",
}
_TOPICS_OF: Final[dict[str, set[str]]] = {}
for _topic, _words in TABLE.items():
    for _word in _words.split():
        _TOPICS_OF.setdefault(_word, set()).add(_topic)
_WORD: Final = re.compile(r"[^\W\d_][\w.+'-]*")


def find_topics(sentence: str) -> frozenset[str]:
    """Return the topics that the words of a plain sentence belong to."""
    return frozenset(topic for word in _words_of(sentence) for topic in _TOPICS_OF.get(word, ()))


def _words_of(sentence: str) -> Iterator[str]:
    for match in _WORD.finditer(sentence):
        word = match.group().rstrip(".'-+")
        yield word.removesuffix("'s")
