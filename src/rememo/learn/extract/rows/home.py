"""Where somebody lives, comes from and has been."""

from rememo.learn.extract.table import Row, change, ending, state, thing
from rememo.learn.predicates import EVERY

ROWS: tuple[Row, ...] = (
    state(
        "live reside", "... in|near|outside|around <place>", "lives_in",
        "I live in Ghent => lives_in: Ghent",
        "We live in a studio flat in Bristol => lives_in: Bristol",
        "I used to live in Rome => !lives_in: Rome",
        "I live in the past => ",
        who="person pet stranger",
    ),
    state("live", "with ... in|near <place>", "lives_in", "i live w my parents in leeds => lives_in: leeds; lives_with: parents"),
    state(
        "live reside", "in <quarter>", "neighbourhood",
        "I live in the Alfama district of Lisbon => neighbourhood: Alfama; lives_in: Lisbon",
        over="gone negated",
    ),
    state(
        "live reside", "on|at [the|corner|of] <street>", "address",
        "we live on Maple Street => address: Maple Street",
        "I live at 22 Rue des Martyrs => address: 22 Rue des Martyrs",
    ),
    state("live", "on the <town>", "lives_in", "I live on the Upper West Side => lives_in: Upper West Side"),
    state("call", "<town> home", "lives_in", "I call Seattle home => lives_in: Seattle", holds="now", over=""),
    change("move", "[back] in with <lives_with>", "lives_with", "I've moved back in with my parents => lives_with: parents"),
    state(
        "rent", "... in <town>", "lives_in",
        "We're renting in Utrecht now => lives_in: Utrecht",
        holds="ing", over="", confidence=0.8,
    ),
    state(
        "be", "based|located|living in|near|outside|at [of] <place>", "lives_in",
        "I'm based in Berlin => lives_in: Berlin",
        "we're no longer based in Lyon => !lives_in: Lyon",
    ),
    state("be", "based out of <place>", "lives_in", "I'm based out of Berlin => lives_in: Berlin"),
    state(
        "be", "back [home|living] in <town>", "lives_in",
        "I'm back in Lisbon for good => lives_in: Lisbon",
        "I'm back in the office => ",
        holds="now perfect", over="", confidence=0.75,
    ),
    state("be", "(moving) in <town>", "lives_in", "We moved again, we're in Surrey now => lives_in: Surrey", "I'm in Paris now => ", holds="now", over="", confidence=0.75),
    state("live", "alone $", "lives_with", "I live alone now => !lives_with: *", holds="", over="now perfect been", value=EVERY),
    change(
        "move relocate emigrate immigrate", "[back|over|up|down|out|away|house|here|our|my|family|kids|home|whole] to|into <place>",
        "lives_in",
        "I moved to Lisbon => lives_in: Lisbon",
        "We relocated our family to Kyoto => lives_in: Kyoto",
        "I moved my desk to the window => ",
    ),
    change(
        "move relocate", "[back|over|up|down|out|house|to|into] [a|an|our|my|new|flat|apartment|house|place|on|at] <street>", "address",
        "I moved to 80 King Street => address: 80 King Street",
    ),
    change("move", "in together in <town>", "lives_in", "we moved in together in Bristol => lives_in: Bristol"),
    change(
        "move", "[back] in with ... in <town>", "lives_in",
        "I moved in with my sister in Graz => lives_in: Graz; lives_with: sister",
    ),
    ending(
        "move relocate", "... from <place> to", "lives_in",
        "I moved from Hamburg to Vienna => !lives_in: Hamburg; lives_in: Vienna",
    ),
    change("move relocate", "... from <place!> to <place>", "lives_in", "We relocated from Bonn to Ulm => !lives_in: Bonn; lives_in: Ulm"),
    ending("move", "out of <town>", "lives_in", "I moved out of Brooklyn => !lives_in: Brooklyn"),
    change("settle", "[down] in <place>", "lives_in", "We settled in Nantes => lives_in: Nantes"),
    state("be", "[originally] from <place>", "from", "I'm originally from Cork => from: Cork", holds="now", over="negated"),
    state("be", "a|an <role!> from <place>", "from", "I'm a chef from Gdańsk => works_as: chef; from: Gdańsk", holds="now", over=""),
    state(
        "be", "[a|an] <role!> ... living|based in|near <place>", "lives_in",
        "I'm a retired teacher living in Spain => works_as: retired teacher; lives_in: Spain",
        holds="now perfect", over="", confidence=0.85,
    ),
    state("come", "[originally] from <place>", "from", "I come from Slovenia => from: Slovenia", holds="now", over=""),
    state("be", "born [and|raised|bred] ... in|near <place>", "born_in", "I was born in Accra => born_in: Accra", holds="past", over=""),
    state(
        "be", "born and raised|bred ... in|near <place>", "grew_up_in",
        "I was born and raised in Turin => born_in: Turin; grew_up_in: Turin",
        holds="past", over="",
    ),
    state(
        "raise", "in|near|on|outside <place>", "grew_up_in",
        "I was raised in Leeds => grew_up_in: Leeds",
        "I was born in Accra but raised in Leeds => born_in: Accra; grew_up_in: Leeds",
        holds="past", over="", passive=None,
    ),
    state("grow", "up in|near|on|outside <place>", "grew_up_in", "I grew up in Leeds => grew_up_in: Leeds", holds="past", over=""),
    thing("home house apartment flat place", "in <place>", "lives_in", "My home is in Bergen => lives_in: Bergen", confidence=0.8),
    thing("home house apartment flat place", "on|at <street>", "address", "My apartment is on Baker Street => address: Baker Street"),
    thing("city town new_city", "<town>", "lives_in", "My new city is Bergen => lives_in: Bergen"),
    state("be", "in <town>", "lives_in", "I've been in Bergen since May => lives_in: Bergen", holds="since", over="", who="speaker", confidence=0.75),
    ending("move", "out of my|our <lived_with>", "lives_with", "I moved out of my parents' place => !lives_with: parents"),
    change("move", "out $", "event", "Tom moved out => Tom.event: moved out", value="moved out"),
    thing("hometown home_town home_country", "<town>", "from", "My hometown is Bari => from: Bari", confidence=0.8),
    thing("address home_address", "<street>", "address", "My new address is 5 Oak Lane => address: 5 Oak Lane"),
    change(
        "go travel fly", "[back|over|down|up|on|a|trip|holiday|vacation|twice|once|all|around|only|already] to <visited>", "visited",
        "I went to Vietnam in 2018 => visited: Vietnam",
        "I went to bed => ",
        confidence=0.85,
    ),
    change("visit", "<visited>", "visited", "We visited Prague and Vienna => visited: Prague; visited: Vienna", confidence=0.85),
    change(
        "be", "[back|over|only|once|already] to <visited>", "visited",
        "I've been to Peru and Bolivia => visited: Peru; visited: Bolivia",
        holds="perfect", confidence=0.85,
    ),
    state("be", "off [on|a|holiday|vacation|trip] to <off_to>", "plans", "I'm off to Rome on Friday => plans: off to Rome", holds="ahead", over="", confidence=0.8),
    state(
        "be", "in|at <doing>", "plans",
        "I'll be in London next week => plans: be in London",
        holds="ahead", over="", confidence=0.8,
    ),
)  # fmt: skip
