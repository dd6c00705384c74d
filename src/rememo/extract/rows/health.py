"""Allergies, illnesses, medicines and what somebody is like."""

from rememo.extract.pattern_row import PatternRow, change, ending, state, thing

ROWS: tuple[PatternRow, ...] = (
    state(
        "be", "[very|severely|also|deathly|super] allergic to <plain>", "allergic_to",
        "I'm allergic to nuts and eggs => allergic_to: nuts; allergic_to: eggs",
        "I'm vegetarian and allergic to nuts => diet: vegetarian; allergic_to: nuts",
        "I'm not allergic to cats => !allergic_to: cats",
        over="gone negated",
    ),
    state("be", "intolerant to|of <plain>", "intolerant_to", "I'm intolerant to soy => intolerant_to: soy", over="gone negated"),
    state("be", "<intolerance>", "intolerant_to", "I'm lactose intolerant => intolerant_to: lactose", over="gone negated"),
    state("have", "<allergen>", "allergic_to", "I have a peanut allergy => allergic_to: peanut", "I have a bad allergy to nuts => allergic_to: nuts", holds="now perfect", over="gone negated"),
    state("have", "<illness>", "has_condition", "I have asthma => has_condition: asthma", holds="now perfect", over="gone negated"),
    state("be", "[a|an] <CONDITION_ADJECTIVES> .", "has_condition", "I'm diabetic => has_condition: diabetic", over="gone negated"),
    state("be", "<CONDITION_ADJECTIVES> in one|my", "has_condition", "I'm deaf in one ear => has_condition: deaf", over="gone negated"),
    state("suffer", "from <plain>", "has_condition", "I suffer from migraines => has_condition: migraines", over="gone"),
    change("diagnose", "with <plain>", "has_condition", "I was diagnosed with ADHD => has_condition: ADHD", passive=True),
    change("diagnose", "as <CONDITION_ADJECTIVES>", "has_condition", "I was diagnosed as autistic => has_condition: autistic", passive=True),
    state("get", "[bad|terrible|frequent|really] <CONDITIONS>", "has_condition", "I get migraines => has_condition: migraines", holds="now", over="gone"),
    state("wear", "[contact|reading] glasses|lenses|contacts", "trait", "I wear glasses => trait: wears glasses", holds="now perfect", over="", value="wears glasses", confidence=0.8),
    state("be", "<TRAITS> .", "trait", "I'm left-handed => trait: left-handed", over="negated", confidence=0.8),
    state("be", "afraid|scared|terrified of <fear>", "afraid_of", "I'm terrified of spiders => afraid_of: spiders", over="gone", confidence=0.8),
    state("take", "<dose>", "takes_medication", "I take metformin => takes_medication: metformin", over="gone"),
    state("be", "on <dose>", "takes_medication", "I'm on sertraline => takes_medication: sertraline", over="gone", holds="now perfect"),
    state("be", "off <dose>", "takes_medication", "I'm off Lexapro now => !takes_medication: Lexapro", holds="", over="now perfect been"),
    ending("stop quit", "taking <dose>", "takes_medication", "I stopped taking sertraline => !takes_medication: sertraline"),
    ending("come", "off <dose>", "takes_medication", "I came off sertraline => !takes_medication: sertraline"),
    change("start begin", "taking <dose>", "takes_medication", "I started taking lisinopril => takes_medication: lisinopril"),
    ending("outgrow lose", "<allergen>", "allergic_to", "I've outgrown my peanut allergy => !allergic_to: peanut"),
    thing("...", "[finally|completely|all|totally] gone|cured|healed|better <condition_itself>", "has_condition", "My back pain is gone => !has_condition: back pain", "My phone is gone => ", holds="", over="now perfect"),
    thing("allergies allergy food_allergies", "<plain>", "allergic_to", "My allergies are peanuts and soy => allergic_to: peanuts; allergic_to: soy"),
    state("weigh", "<measure>", "weight", "I weigh 96 kilos => weight: 96 kilos", holds="now", over=""),
    state("be", "down|up to <measure>", "weight", "I'm down to 84 kilos => weight: 84 kilos", "I'm up to 12 km => ", holds="now", over=""),
    thing("weight", "<measure>", "weight", "My weight is 70 kg => weight: 70 kg"),
)  # fmt: skip
