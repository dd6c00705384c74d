"""`rememo demo`: a narrated tour of a memory's features."""

import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rememo.cli.output import console, join_counts

if TYPE_CHECKING:
    from rememo.collections.document import Passage
    from rememo.memory import Memory
    from rememo.model.fact import Fact
    from rememo.model.hit import Hit

_START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def add_to(cli: typer.Typer) -> None:
    """Add the commands of this group."""
    cli.command()(demo)


def demo(
    file: Annotated[Path | None, typer.Argument(help="Where to keep it; a temporary file unless given.")] = None,
) -> None:
    """Watch a memory remember, find, learn, correct itself and travel in time."""
    from rememo.memory import Memory

    with tempfile.TemporaryDirectory() as folder:
        now = [_START]
        with Memory(file or Path(folder) / "demo.db", clock=lambda: now[0]) as memory:
            _run(memory.scope(user="ana", room=f"demo {datetime.now(UTC):%H:%M:%S}", agent="helper"), now)
            checked = memory.verify()
            _print_title("It can prove itself")
            console.print(f"  verify: {'sound' if checked.ok else checked.faults}, {join_counts(checked.checked)}")


def _run(chat: "Memory", now: list[datetime]) -> None:
    from rememo.serve.demo import HANDBOOK, MESSAGES

    _print_title("It remembers: one durable write a message, findable when the call returns")
    for day, role, text in MESSAGES:
        now[0] = max(now[0] + timedelta(minutes=2), _START + timedelta(days=day))
        chat.messages.add(role, text).wait()
        console.print(f"  [dim]{now[0]:%d %B %H:%M}[/]  [bold]{role}[/]: {text}")

    _print_title("It finds, with no model and no key")
    for question in ("Who feeds the cat while she travels?", "when did they lose a whole day?"):
        _print_hits(question, chat.search(question, kind="message", limit=2, explain=True))

    _print_title("It learns, and every fact names its source")
    _print_facts(chat.facts.list(subject="ana"))
    graph = chat.relationships.graph("ana", depth=2)
    console.print("  who is who: " + "; ".join(f"{edge.entity} -{edge.type}-> {edge.target}" for edge in graph.edges))

    _print_title("It corrects itself, and keeps what was true")
    spring, now[0] = now[0], now[0] + timedelta(days=60)
    chat.messages.add("user", "Good news: I moved to Porto on 1 June!").wait()
    _print_hits("where does Ana live?", chat.search("where does Ana live?", kind="fact", limit=1))
    then = chat.facts.list(subject="ana", predicate="lives_in", valid_at=spring)
    console.print(f"  on {spring:%d %B} it was {', '.join(fact.object for fact in then)}")
    facts_then = chat.as_of(spring).facts.list(subject="ana", predicate="lives_in")
    console.print(f"  and on {spring:%d %B} it knew {', '.join(fact.object for fact in facts_then)}")

    _print_title("It asks where it must not decide")
    chat.facts.policy("favourite_colour", "ask")
    now[0] += timedelta(days=1)
    chat.messages.add("user", "My favourite colour is blue.").wait()
    for conflict in chat.facts.conflicts():
        console.print(
            f"  {conflict.subject} {conflict.predicate}: {' or '.join(fact.object for fact in conflict.facts)}?"
        )
        now[0] += timedelta(minutes=1)
        chat.facts.resolve(conflict, keep="blue")
    _print_facts(chat.facts.list(subject="ana", predicate="favourite_colour"))

    _print_title("It reads documents")
    now[0] += timedelta(minutes=1)
    chat.documents.add(title="The cat's handbook", text=HANDBOOK, media_type="text/markdown")
    _print_hits("where is the dry food?", chat.documents.search("where is the dry food?", limit=1))

    _print_title("It undoes")
    now[0] += timedelta(minutes=1)
    before = now[0]
    now[0] += timedelta(minutes=1)
    console.print(f"  cleared {chat.clear()} records; {chat.count()} left")
    now[0] += timedelta(minutes=1)
    chat.rollback(before)
    console.print(f"  rolled back: {chat.count()} are there again")


def _print_title(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def _print_hits(question: str, hits: "Iterable[Hit | Passage]") -> None:
    console.print(f"  [italic]{question}[/]")
    for hit in hits:
        why = ", ".join(f"{name} {part:.2f}" for name, part in hit.reasons.items() if part >= 0.01)  # noqa: PLR2004
        text = " ".join(hit.text.split())
        console.print(f"    {hit.score:.2f}  {text}" + (f"  [dim]({why})[/]" if why else ""))


def _print_facts(facts: "Iterable[Fact]") -> None:
    for fact in facts:
        console.print(f'  {fact.record.text}  [dim](confidence {fact.confidence:.1f}, from "{fact.wording}")[/]')
