"""Things that take each other's place: who has switched to one of a class has mostly left another of it."""

from typing import Final

_CLASSES: Final = (
    "coffee tea espresso latte cappuccino matcha decaf cocoa soda cola juice water kombucha beer wine whisky",
    "bus train car bike bicycle cycle cycling metro subway tram walk walking scooter taxi carpool drive driving",
    "windows linux mac macos ubuntu fedora debian chromeos",
    "iphone android pixel samsung nokia blackberry",
    "vim emacs neovim vscode pycharm intellij sublime eclipse cursor zed",
    "chrome firefox safari edge opera brave",
    "postgresql postgres mysql sqlite mongodb oracle mariadb redis dynamodb cassandra",
    "python java rust go golang typescript javascript ruby kotlin swift scala php",
    "react vue angular svelte",
    "aws azure gcp heroku vercel netlify",
    "slack teams discord zoom whatsapp telegram signal",
    "notion obsidian evernote trello asana jira linear",
    "spotify tidal deezer netflix hulu",
    "github gitlab bitbucket",
    "running yoga swimming pilates cycling crossfit boxing climbing tennis golf football basketball volleyball",
    "guitar piano violin drums cello flute saxophone ukulele bass",
    "spanish french german italian portuguese japanese chinese korean arabic russian dutch swedish",
    "vegan vegetarian pescatarian keto paleo omnivore",
    "milk oat soy almond",
    "butter margarine oil",
    "glasses contacts",
)

CLASS_OF: Final = {word: number for number, line in enumerate(_CLASSES) for word in line.split()}
"""Words and the class each belongs to."""


def classes_in(words: str) -> frozenset[int]:
    """Return the classes of the words of a phrase."""
    return frozenset(CLASS_OF[word] for word in words.replace(",", " ").split() if word in CLASS_OF)
