"""`rememo chat`: talk to a memory. Without a model it answers by what it remembers."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.markup import escape

from rememo.cli.memory_location import default_location, open_memory, without_password
from rememo.cli.output import console
from rememo.cli.records import Tenant
from rememo.errors import InvalidInput

if TYPE_CHECKING:
    from rememo.memory import Memory

_HELP: Final = "/facts what I know of you   /context what a model would be shown   /forget take back the last   /quit"
_HITS: Final = 3
_MOST_FACTS: Final = 1_000


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(chat)


def chat(
    file: Annotated[
        str | None, typer.Argument(help="The memory's file; else what REMEMO_URL says, else rememo.db.")
    ] = None,
    user: Annotated[str, typer.Option(help="Who you are.")] = "me",
    room: Annotated[str | None, typer.Option(help="The conversation; a new one unless given.")] = None,
    tenant: Tenant = "default",
) -> None:
    """Talk to a memory: it keeps what you say, learns facts, and answers with what it remembers."""
    place = file or default_location()
    with open_memory(place, make=True, tenant=tenant) as memory:
        user_view = memory.scope(user=user)
        conversation = user_view.scope(room=room or f"chat {datetime.now(UTC):%Y-%m-%d %H:%M:%S}", agent="rememo")
        console.print(f"Remembering in {escape(without_password(place))}. {_HELP}", style="dim", highlight=False)
        while (line := _read_line()) is not None:
            if line in ("/quit", "/exit"):
                break
            try:
                if line.startswith("/"):
                    _run_command(user_view, conversation, line)
                elif line:
                    _reply(user_view, conversation, line)
            except InvalidInput as error:  # one line that cannot be kept does not end the talk
                console.print(escape(f"  {error}"), style="red", highlight=False)


def _read_line() -> str | None:
    """Return the next line; None at the end."""
    try:
        return console.input("[bold]you[/]> ").strip()
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None


def _reply(user_view: "Memory", conversation: "Memory", message: str) -> None:
    # Before it is stored: what was just said would be the best answer to itself. The answer is not stored at all: it
    # only says again what is.
    hits = user_view.search(message, limit=_HITS)
    before = {fact.id for fact in user_view.facts.list(limit=_MOST_FACTS)}
    conversation.messages.add("user", message).wait()
    learned = [fact for fact in user_view.facts.list(limit=_MOST_FACTS) if fact.id not in before]
    recalled = "".join(f"\n  · {hit.record.text} ({hit.record.at:%d %b %Y})" for hit in hits)
    console.print(f"[bold]memory[/]> {escape(f'I remember:{recalled}' if hits else 'noted')}", highlight=False)
    for fact in learned:
        console.print(
            escape(f"  learned: {fact.subject} {fact.predicate} {fact.object}"), style="green", highlight=False
        )


def _run_command(user_view: "Memory", conversation: "Memory", line: str) -> None:
    name, _, rest = line.partition(" ")
    match name:
        case "/facts":
            for fact in user_view.facts.list(limit=_MOST_FACTS):
                console.print(escape(f"  {fact.subject} {fact.predicate} {fact.object}"), highlight=False)
        case "/context":
            console.print(escape(conversation.context(rest or "what do you know about me?").text), highlight=False)
        case "/forget":
            if messages := conversation.messages.history(limit=1):
                conversation.delete(messages[-1].id)
                console.print(escape(f"  forgotten: {messages[-1].content}"), highlight=False)
        case _:
            console.print(f"  {_HELP}", style="dim", highlight=False)
