"""Values of things that have one at a time, whatever the thing: the last rows of all, where none before them knew more."""

from rememo.extract.pattern_row import PatternRow, state, thing

ROWS: tuple[PatternRow, ...] = (
    thing(
        "...", "<attribute>", "is",
        "My parking spot is number 14 => me's parking spot.is: number 14",
        "The budget for the kitchen is 18,000 euros => me's kitchen budget.is: 18,000 euros",
        "The app is hosted on Heroku => me's app.is_hosted_on: Heroku",
        "The backend is written in Django => me's backend.is_written_in: Django",
        "My guess is Friday => ",
        "My laptop is 5 years old => ",
        holds="now future", over="gone", confidence=0.8,
    ),
    thing("...", "about <about>", "is_about", "My thesis is about coral bleaching => me's thesis.is_about: coral bleaching", holds="now", confidence=0.8),
    state("run", "on|in <runs_on>", "is_on", "Our CI runs on Jenkins => me's CI.is_on: Jenkins", "My car runs on diesel => ", who="thing", holds="now", over="gone", confidence=0.8),
    state(
        "be", "<office_holder>", "is",
        "Jonas is our team lead => me's team lead.is: Jonas",
        "Margarethe is head of our department => me's department head.is: Margarethe",
        "Paris is the capital => ",
        holds="now", over="", who="person stranger none", confidence=0.8,
    ),
    state("be", "on call|duty|on-call <on_call>", "is", "Ewan is on call => me's on-call.is: Ewan", "I'm on call this week => me's on-call.is: me", holds="now", over="", who="person stranger", confidence=0.75),
    state("own maintain", "<component>", "is", "Dmitry owns the billing module => me's billing owner.is: Dmitry", "Dmitry owns a boat => ", holds="now", over="", who="stranger person", confidence=0.75),
)  # fmt: skip
