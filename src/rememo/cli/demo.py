"""`rememo demo`: a short life of a memory, told while it happens."""

import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import typer

from rememo.cli.output import console
from rememo.memory import Memory
from rememo.model.hit import Hit

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
_TALK = [
    (0, "ana", "Good morning! I live in Lisbon and I work as a nurse at the city hospital."),
    (0, "helper", "Nice to meet you, Ana. How do you like Lisbon?"),
    (0, "ana", "I love it, above all the trams. My cat Miso is less sure about the hills."),
    (12, "ana", "I booked the ferry to the Azores for the second week of July."),
    (12, "helper", "Shall I remind you to find somebody for Miso?"),
    (12, "ana", "Yes please, my brother Rui can probably feed her."),
    (40, "ana", "The migration of our ward to the new software was a disaster, we lost a whole day."),
]


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(demo)


def demo(
    file: Annotated[Path | None, typer.Argument(help="Where to keep it; a temporary file unless given.")] = None,
) -> None:
    """Watch a memory remember, find, correct itself and travel in time."""
    with tempfile.TemporaryDirectory() as folder:
        moment = _START
        with Memory(file or Path(folder) / "demo.db", clock=lambda: moment) as memory:
            chat = memory.scope(user="ana", room=f"demo {datetime.now(UTC):%H:%M:%S}", agent="helper")
            _title("It remembers: one durable write a message, findable when the call returns")
            for day, speaker, text in _TALK:
                moment = max(moment + timedelta(minutes=2), _START + timedelta(days=day))
                chat.add(
                    text, kind="message", data={"role": "user" if speaker == "ana" else "assistant", "name": speaker}
                )
                console.print(f"  [dim]{moment:%d %B %H:%M}[/]  [bold]{speaker}[/]: {text}")

            _title("It finds, with no model and no key")
            for question in ("Who feeds the cat while she travels?", "when did they lose a whole day?"):
                _show(question, chat.search(question, limit=2, explain=True))

            _title("It corrects itself, and keeps what it knew")
            moment += timedelta(minutes=2)
            home = chat.add("Ana lives in Lisbon", kind="fact", id=f"home-{chat.bound.room}")
            before = moment
            moment += timedelta(days=60)
            chat.update(home.id, text="Ana lives in Porto")
            console.print(f"  today:            {chat.get(home.id).text}")
            console.print(f"  as known in {before:%B}: {chat.get(home.id, known_at=before).text}")
            _show("where does she live", chat.search("where does Ana live", kind="fact", limit=1))
            _show(
                f"the same, as of {before:%d %B}",
                chat.as_of(before).search("where does Ana live", kind="fact", limit=1),
            )

            _title("It undoes")
            name = f"before the purge {chat.bound.room}"
            memory.snapshot(name)
            moment += timedelta(minutes=1)
            console.print(f"  cleared {chat.clear()} records; {chat.count()} left")
            moment += timedelta(minutes=1)
            chat.rollback(name)
            console.print(f"  rolled back: {chat.count()} are there again")

            _title("It can prove itself")
            checked = memory.verify()
            console.print(f"  verify: {'sound' if checked.ok else checked.faults}, {dict(checked.checked)}")


def _title(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def _show(question: str, hits: list[Hit]) -> None:
    console.print(f"  [italic]{question}[/]")
    for hit in hits:
        why = ", ".join(f"{name} {part:.2f}" for name, part in hit.reasons.items() if part >= 0.01)  # noqa: PLR2004
        console.print(f"    {hit.score:.2f}  {hit.text}" + (f"  [dim]({why})[/]" if why else ""))
