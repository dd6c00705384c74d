"""Habits that begin and end, appointments and trips; what is merely done is read by its time, see ``extract.doings``."""

from rememo.extract.pattern_row import PatternRow, change, ending, state, thing

ROWS: tuple[PatternRow, ...] = (
    change("start begin resume", "[doing] <activity>", "habit", "I started running => habit: running", "I've started going to therapy => habit: going to therapy", "I started the server => ", confidence=0.85),
    change("pick", "up <activity>", "habit", "I picked up knitting => habit: knitting", confidence=0.85),
    change("take", "up <hobby>", "habit", "I took up pottery => habit: pottery", confidence=0.85),
    ending("stop quit", "[doing] <activity>", "habit", "I stopped running because of my knee => !habit: running", "I stopped running for a minute => ", confidence=0.85),
    ending("give", "up <activity>", "habit", "I gave up smoking => !habit: smoking", confidence=0.85),
    state("smoke", "$", "habit", "I smoke => habit: smoking", "I don't smoke anymore => !habit: smoking", holds="now", over="gone", value="smoking", confidence=0.85),
    state("smoke", "any more|anymore", "habit", "I don't smoke any more => !habit: smoking", holds="", over="gone", value="smoking", confidence=0.85),
    state("smoke", "$", "habit", "I haven't smoked in two years => !habit: smoking", holds="", over="never", value="smoking", confidence=0.85),
    state("run jog swim cycle hike climb meditate ski surf dance knit paint garden blog gamble vape fast volunteer", "[any|more|anymore] $ <verb_itself>", "habit", "I don't run anymore => !habit: run", "I used to swim => !habit: swim", holds="", over="gone", confidence=0.85),
    state("go", "<gone_to>", "habit", "I don't go to the gym anymore => !habit: go to the gym", "I'm not going to Rome anymore => !plans: going to Rome", holds="", over="gone", confidence=0.85),
    state("have get", "<appointment>", "appointment", "I have a dentist appointment tomorrow => appointment: dentist appointment", "I have a meeting => ", holds="ahead", over=""),
    thing("...", "<coming>", "appointment", "My exam is on Friday => appointment: exam", holds="ahead", confidence=0.85),
    state("have book", "<trip>", "plans", "I have a holiday in Crete planned for October => plans: holiday in Crete", holds="ahead", over="", confidence=0.8),
    state("book plan", "<trip>", "plans", "I booked a flight to Lima for next Tuesday => plans: flight to Lima", holds="planned ahead", over="", confidence=0.8),
    state("leave start begin depart", "<coming>", "appointment", "My flight to Tokyo leaves on April 3rd => appointment: flight to Tokyo", holds="ahead", over="", who="thing", confidence=0.85),
    ending("quit leave", "the|my gym $", "habit", "I quit the gym => !habit: go to the gym", value="go to the gym"),
    change("postpone reschedule move push", "<moved>", "appointment", "My exam was postponed to next Monday => appointment: exam", who="thing", passive=True, holds="planned ahead", confidence=0.85),
    change("postpone reschedule move push", "<moved_object>", "appointment", "We postponed the wedding to July 10th => appointment: wedding", holds="planned ahead", confidence=0.85),
    ending("cancel", "<off>", "appointment", "I cancelled my dentist appointment => !appointment: dentist appointment", "I cancelled my trip to Rome => !plans: trip to Rome"),
    ending("cancel", "<off_itself>", "appointment", "My meeting with Karl is cancelled => !appointment: meeting with Karl", passive=True, who="thing", over="now past perfect"),
    thing("...", "off|cancelled|canceled <off_itself>", "appointment", "My trip to Rome is off => !plans: trip to Rome", holds="", over="now"),
    state("take", "up <hobby>", "habit", "I'm taking up pottery => habit: pottery", holds="ing", over="", confidence=0.85),
    state("smoke", "... pack|packs|packet|cigarettes|cigs|roll-ups", "habit", "I smoke about a pack a day => habit: smoking", holds="now been", over="gone", value="smoking", confidence=0.85),
    ending("pack", "in <activity>", "habit", "I packed in smoking => !habit: smoking", confidence=0.85),
    ending("kick quit", "the|my cigarettes|cigs|fags", "habit", "I've kicked the cigarettes => !habit: smoking", value="smoking", confidence=0.85),
    ending("call", "off <off>", "appointment", "We called off the party => !appointment: party"),
    ending("call", "<off> off", "appointment", "I'm calling the party off => !appointment: party", over="past perfect ing"),
)  # fmt: skip
