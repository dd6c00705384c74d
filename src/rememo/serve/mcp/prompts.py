"""The prompts of the MCP server."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from rememo.errors import InvalidInput, NotFound
from rememo.serve.mcp.resources import read_resource
from rememo.serve.mcp.serializer import fact_item, fact_line
from rememo.text.fence import fenced

if TYPE_CHECKING:
    from rememo.memory import Memory

_MOST_FACTS: Final = 200
_MOST_TOKENS: Final = 2_000
_QUERY: Final = "what is known about the user: preferences, people, places, work, plans, projects"


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptTemplate:
    """A prompt; its arguments with their descriptions, and whether they are required."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, tuple[str, bool]]
    render: "Callable[[Memory, Mapping[str, str]], str]"


def _write_about_me(memory: "Memory", arguments: Mapping[str, str]) -> str:
    user = arguments.get("user") or None
    view = memory.scope(user=user)
    who = view.bound.user
    lines = [fact_line(fact_item(fact)) for fact in view.facts.list(limit=_MOST_FACTS)]
    context = view.context(_QUERY, max_tokens=_MOST_TOKENS, threshold=0.0).text
    facts = fenced("\n".join(lines)) if lines else ""
    memories = "\n\n".join(filter(None, (facts, context))) or "(Nothing is remembered yet.)"
    return (
        f"What do you know about {'me' if user is None else user}{'' if who is None or user else f' ({who})'}? Answer from"
        " what is remembered below, grouped by subject, in plain sentences. Say what is certain, what is uncertain or"
        " contradicted, and since when it holds where that is known. Do not add anything that does not stand there, and"
        " tell me that I can have any of it corrected or forgotten.\n\n"
        f"{memories}"
    )


def _write_summary(memory: "Memory", arguments: Mapping[str, str]) -> str:
    room = arguments.get("room") or memory.bound.room
    if not room:
        raise InvalidInput("say which room: room is one of " + ", ".join(memory.rooms()[:20]))
    try:
        transcript = read_resource(memory, f"rememo://rooms/{quote(room, safe='')}")
    except NotFound:
        rooms = ", ".join(memory.rooms()[:20]) or "none yet"
        raise NotFound(f"there is no room {room!r} here; the rooms are: {rooms}") from None
    return (
        f"Summarise the room {room!r} from what was said in it, below: what it was about, what was decided, what is open and"
        " who does it, and what I should remember. Keep names, numbers and dates as they stand there.\n\n"
        f"{transcript}"
    )


PROMPTS: Final = (
    PromptTemplate(
        name="what_do_you_know_about_me",
        title="What do you know about me?",
        description="Tells what is remembered about the user, and how certain it is.",
        arguments={"user": ("Whom it is about, if not the user of this server.", False)},
        render=_write_about_me,
    ),
    PromptTemplate(
        name="summarise_room",
        title="Summarise this room",
        description="Sums up a conversation, chat or project from what was said in it.",
        arguments={"room": ("The room.", True)},
        render=_write_summary,
    ),
)


def render_prompt(memory: "Memory", name: str, arguments: Mapping[str, str]) -> str:
    """Return the text of a prompt; raises `NotFound` when there is none of this name."""
    for prompt in PROMPTS:
        if prompt.name == name:
            if unknown := set(arguments) - set(prompt.arguments):
                raise InvalidInput(f"{name} has no argument {min(unknown)!r}; it takes {', '.join(prompt.arguments)}")
            return prompt.render(memory, arguments)
    raise NotFound(f"there is no prompt {name!r}; there are {', '.join(prompt.name for prompt in PROMPTS)}")
