"""Stored summaries of messages, whoever asks for them: a limit, a policy, `update` or `compress`.

A stored summary is a record of kind `summary`. Its text says how many messages it covers and from when to when, then a line a
turn. Its data names its sources by id, and those of them that are still there beside it.
"""

import logging
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

from rememo.engine.engine import Engine
from rememo.errors import Closed, InvalidInput, StorageError
from rememo.llm.gateway import model_for
from rememo.model.check import check_function, check_text, dump_json
from rememo.model.data_schemas import matches_schema
from rememo.model.derived_names import summary_name
from rememo.model.filters import Filter
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.model.times import to_utc
from rememo.store.writes import Put, Revise, Write
from rememo.summary.extractive import Summariser, SummaryLine, choose, condense, join_by_turn
from rememo.summary.model_summariser import ModelSummariser
from rememo.summary.salience import Turn
from rememo.text.fence import without_recalled
from rememo.text.tokens import default_counter

MOST_MESSAGES = 100
"""A summary that covers so many is complete; the next one begins."""
MAX_TOKENS = 600
"""The default length of a summary."""
EXTRACTIVE = "extractive"
"""The writer of summaries that no model wrote."""

_SMALL = 20
"""A summary of fewer messages is extended."""
_SHARE, _LEAST = 0.15, 60
"""What is kept of short conversations: a share of their tokens, but so many at least."""
_SPARE = 0.75
"""How far an overflowing summary is shortened, so that the next message does not make it overflow again."""
_TOO_LONG = 3
"""How many times longer than asked a model's summary may be."""
_MACHINES = frozenset({"assistant", "system", "tool"})
_log = logging.getLogger("rememo.summaries")

_summarisers: WeakKeyDictionary[Engine, Summariser] = WeakKeyDictionary()


def use_summariser(engine: Engine, summariser: Summariser | None) -> None:
    """Let a summariser write the summaries that are made in this process from now on; None goes back to extracted sentences."""
    if summariser is None:
        _summarisers.pop(engine, None)
        return
    if not callable(getattr(summariser, "summarise", None)) or isinstance(summariser, type):
        raise InvalidInput(f"a summariser must have a method summarise(text, *, max_tokens), not be {summariser!r}")
    check_function(summariser.summarise, "summarise()")
    _summarisers[engine] = summariser


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How a summary is made."""

    made_by: str
    """`limit`, `policy`, `update` or `compress`."""
    kept: bool = False
    """Whether the messages stay beside it."""
    max_tokens: int = MAX_TOKENS
    by_sentences: bool = False
    """Whether it is made of extracted sentences, whatever summariser there is."""


# ---- reading


def read_summaries(
    engine: Engine, scope: Scope, *, limit: int | None = None, known_at: datetime | None = None
) -> list[Record]:
    """Return the stored summaries within a scope, oldest first; of more than `limit`, the latest."""
    filter = Filter(scope=scope, kinds=("summary",), known_at=known_at)
    return [record for record in engine.store.read(filter, engine.now(), limit=limit) if is_stored_summary(record)]


def is_stored_summary(record: Record) -> bool:
    """Return whether a record is a summary that Rememo made, and not a plain record of that kind."""
    return record.kind == "summary" and matches_schema("summary", record.data)


def summarised_ids(summaries: Iterable[Record]) -> set[str]:
    """Return the ids of messages that summaries cover and that are still stored."""
    return {id for summary in summaries for id in summary.data.get("kept", ())}


# ---- writing


def summary_write(
    engine: Engine, room: Scope, records: Sequence[Record], options: SummaryOptions, summaries: Sequence[Record] = ()
) -> Put | Revise:
    """Return the write of a summary that covers messages: added to the last of `summaries` while that is small.

    It carries the labels that all of them share, so that no view sees through it what it could not see before.
    """
    scope = Scope(tenant=room.tenant, room=room.room, agent=_shared(records, "agent"), user=_shared(records, "user"))
    last = _growing(summaries, scope, len(records), options)
    if last is None:
        fields = _fields(engine, records, options, ids=[record.id for record in records])
        # Two workers that are at the same messages make the same id, and one of them is refused.
        return engine.drafts.put(
            scope,
            {**fields, "id": engine.ids.derive(scope.tenant, summary_name(scope, records[0].id))}
            if options.kept
            else fields,
        )
    sources: list[str] = last.data["sources"]
    fields = _fields(engine, records, options, ids=[*sources, *(record.id for record in records)], last=last)
    if options.kept:
        fields["data"]["kept"] = [*last.data["kept"], *(record.id for record in records)]
    if last.data.get("left_out"):
        fields["data"]["left_out"] = last.data["left_out"]
    return engine.drafts.revise(last, fields)


def rewrite_summary(
    engine: Engine, summary: Record, records: Sequence[Record], *, kept: list[str], left_out: list[str]
) -> Write | None:
    """Return the write of a summary made anew of its current sources; None when it is up to date."""
    if _made_of(records) == summary.data.get("made_of") and summary.data.get("left_out", []) == left_out:
        return None
    options = SummaryOptions(
        made_by=summary.data["made_by"], kept=False, max_tokens=summary.data.get("max_tokens", MAX_TOKENS)
    )
    fields = _fields(engine, records, options, ids=[record.id for record in records])
    fields["data"] |= {"kept": kept} | ({"left_out": left_out} if left_out else {})
    return engine.drafts.revise(summary, fields)


def rewrite_without(engine: Engine, summary: Record, erased: Container[str]) -> Revise | None:
    """Return the write of a summary made anew of the sources that are not erased; None when it has none left.

    It is made of extracted sentences: nobody waits for a model while a summary still says what is to be erased. Where there
    is a writer (`has_writer`), `rewrite_summary` makes it anew whenever that is asked for.
    """
    scope = Scope(tenant=summary.scope.tenant)
    beside_it: set[str] = set(summary.data.get("kept", ()))
    lost = [id for id in summary.data.get("left_out", ()) if id not in erased]
    records: list[Record] = []
    remaining: list[str] = []
    for id in summary.data["sources"]:
        versions = [] if id in erased else engine.store.history(scope, id)
        if not versions:
            continue
        if id in beside_it and versions[-1].superseded_at is not None:
            lost.append(id)  # it was deleted since, and comes back into the summary if it is restored
            continue
        records.append(versions[-1])
        remaining += [id] if id in beside_it else []
    if not records:
        return None
    records.sort(key=lambda record: record.at)
    limit = summary.data.get("max_tokens", MAX_TOKENS)
    options = SummaryOptions(made_by=summary.data["made_by"], max_tokens=limit, by_sentences=True)
    fields = _fields(engine, records, options, ids=[record.id for record in records])
    fields["data"] |= {"kept": remaining} | ({"left_out": lost} if lost else {})
    if has_writer(engine, options.made_by):
        del fields["data"]["made_of"]
    return engine.drafts.revise(summary, fields)


def has_writer(engine: Engine, made_by: str) -> bool:
    """Return whether a summariser or a model writes summaries here."""
    return engine in _summarisers or (engine.models is not None and made_by != "limit")


def release_messages(engine: Engine, room: Scope, leaving: Iterable[str]) -> tuple[list[Write], set[str]]:
    """Return the writes that remove leaving messages from the summaries that cover them, and the ids of these messages."""
    leaving_ids = set(leaving)
    writes: list[Write] = []
    covered: set[str] = set()
    for summary in read_summaries(engine, Scope(tenant=room.tenant, room=room.room)):
        kept: list[str] = summary.data.get("kept", [])
        if not leaving_ids.isdisjoint(kept):
            covered |= leaving_ids.intersection(kept)
            writes.append(
                engine.drafts.revise(
                    summary, {"data": {**summary.data, "kept": [id for id in kept if id not in leaving_ids]}}
                )
            )
    return writes, covered


def _growing(summaries: Sequence[Record], scope: Scope, more: int, options: SummaryOptions) -> Record | None:
    """Return the last summary if more messages belong into it.

    The answer depends on the summaries alone where messages stay: of two workers at the same messages, either both add to
    one version or both make the same id, and one of them is refused.
    """
    for summary in reversed(summaries):
        if (
            summary.data["made_by"] == options.made_by
            and summary.scope == scope
            and bool(summary.data.get("kept")) == options.kept
        ):
            count = len(summary.data["sources"])
            return summary if count < _SMALL or (not options.kept and count + more <= MOST_MESSAGES) else None
    return None


def _fields(
    engine: Engine, records: Sequence[Record], options: SummaryOptions, *, ids: list[str], last: Record | None = None
) -> dict[str, Any]:
    times = [record.at for record in records]
    trust = [record.trust for record in records]
    if last is not None:
        times += [to_utc(last.data["from"], "from"), to_utc(last.data["to"], "to")]
        trust.append(last.trust)
    since, until = min(times), max(times)
    text = _text(engine, records, options, last)
    data: dict[str, Any] = {
        "made_by": options.made_by,
        "writer": text.writer,
        "count": len(ids),
        "from": since.isoformat(),
        "to": until.isoformat(),
        "sources": ids,
        "kept": ids if options.kept else [],
        "gist": text.gist,
        "worth": round(text.worth, 3),
        "machines": sorted({*_machines(records), *(() if last is None else last.data.get("machines", ()))}),
        "max_tokens": options.max_tokens,
    }
    if last is None:
        data["made_of"] = _made_of(records)
    if text.fallback is not None:
        data["fallback"] = text.fallback
    return {
        "text": "\n".join([heading(len(ids), since, until), *text.lines]),
        "kind": "summary",
        "data": data,
        "occurred_at": until,
        "trust": min(trust),
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _SummaryText:
    lines: list[str]
    writer: str
    gist: str
    """The one line that says most."""
    worth: float
    fallback: str | None = None
    """Why a model that was to write did not."""


def _text(engine: Engine, records: Sequence[Record], options: SummaryOptions, last: Record | None) -> _SummaryText:
    max_tokens = options.max_tokens
    turns = turns_of(records)
    counter = default_counter()
    spoken = sum(counter.count(turn.text) for turn in turns)
    budget = min(max_tokens, max(_LEAST, int(_SHARE * spoken)))
    summariser = (
        None if options.by_sentences else _summarisers.get(engine) or _model_summariser(engine, records, options)
    )
    failed = None
    if summariser is not None:
        try:
            return _written(engine, summariser, turns, max_tokens, last)
        except (StorageError, Closed):
            raise
        except Exception as error:  # noqa: BLE001 - a model may fail in any way; there is a summary all the same
            failed = f"{type(error).__name__}: {error}"[:500]
            _log.warning("a summary is made of sentences, because its writer failed: %s", failed)
    chosen = choose(turns, max_tokens=budget, counter=counter, analyzer=engine.analyzer)
    lines = join_by_turn(turns, chosen)
    best = max(chosen, key=lambda sentence: sentence.worth, default=None)
    gist, worth = ("", 0.0) if best is None else (f"{turns[best.place].speaker}: {best.text}", best.worth)
    if last is not None:
        if last.data.get("worth", 0.0) > worth:
            gist, worth = last.data.get("gist", ""), last.data["worth"]
        lines = [*summary_lines(last), *lines]
        if sum(counter.count(line.text) for line in lines) > max_tokens:
            machines = {*_machines(records), *last.data.get("machines", ())}
            lines = _fewer(engine, lines, int(max_tokens * _SPARE), machines, last.at)
    return _SummaryText(lines=_format_lines(lines), writer=EXTRACTIVE, gist=gist, worth=worth, fallback=failed)


def _written(
    engine: Engine, summariser: Summariser, turns: Sequence[Turn], max_tokens: int, last: Record | None
) -> _SummaryText:
    """Return a summariser's text; one that is empty or much too long is refused."""
    conversation = "\n".join(f"{turn.speaker}: {turn.text}" for turn in turns)
    if last is not None:
        conversation = f"{summary_body(last)}\n{conversation}"
    text = check_text(
        summariser.summarise(conversation, max_tokens=max_tokens),
        "the summary",
        max_bytes=engine.settings.max_text_bytes,
    ).strip()
    if not text:
        raise InvalidInput("the summary is empty")
    length = default_counter().count(text)
    if length > _TOO_LONG * max_tokens:
        raise InvalidInput(f"the summary has {length:,} tokens where {max_tokens:,} were asked for")
    lines = [line for line in text.split("\n") if line.strip()]
    writer = str(getattr(summariser, "name", type(summariser).__name__))
    return _SummaryText(lines=lines, writer=writer, gist=lines[0], worth=1.0)


def _model_summariser(engine: Engine, records: Sequence[Record], options: SummaryOptions) -> Summariser | None:
    """Return the memory's language model as a summariser; None without one, and where a message would wait for it."""
    if options.made_by == "limit" or not records:
        return None
    llm = model_for(engine, records[0].scope.tenant, "summarise")
    return None if llm is None else ModelSummariser(llm)


# ---- parts


def turns_of(records: Iterable[Record]) -> list[Turn]:
    """Return messages as turns; recalled text is left out, because it was summarised when it was first said."""
    return [
        Turn(
            speaker=speaker_of(record),
            text="" if (record.source or "").startswith("recall") else without_recalled(record.text),
            at=record.at,
            personal=record.data.get("role", "user") not in _MACHINES,
        )
        for record in records
    ]


def speaker_of(record: Record) -> str:
    """Return who said a message: a name, else the label of the user or the agent, else the role."""
    role = str(record.data.get("role", "user"))
    label = {"user": record.scope.user, "assistant": record.scope.agent}.get(role)
    return str(record.data.get("name") or label or role)


def heading(count: int, since: datetime, until: datetime) -> str:
    """Return the first line of a summary: how many messages it covers, and from when to when."""
    messages = "1 message" if count == 1 else f"{count:,} messages"
    return f"Summary of {messages} from {since:%Y-%m-%d %H:%M} to {until:%Y-%m-%d %H:%M} UTC:"


def summary_body(record: Record) -> str:
    """Return the text of a summary without its header line."""
    return record.text.partition("\n")[2]


def summary_lines(record: Record) -> list[SummaryLine]:
    """Return the lines of a summary."""
    lines: list[SummaryLine] = []
    for line in summary_body(record).split("\n"):
        speaker, separator, text = line.partition(": ")
        if line.strip():
            lines.append(SummaryLine(speaker, text) if separator else SummaryLine("", line))
    return lines


def shortened(engine: Engine, record: Record, max_tokens: int) -> list[str]:
    """Return the lines of a summary that say most in at most so many tokens, in their order."""
    lines, counter = summary_lines(record), default_counter()
    # Who said it takes room too.
    spare = max_tokens - sum(counter.count(line.speaker) + 1 for line in lines)
    return _format_lines(
        _fewer(engine, lines, max(spare, max_tokens // 2), set(record.data.get("machines", ())), record.at)
    )


def _fewer(
    engine: Engine, lines: Sequence[SummaryLine], max_tokens: int, machines: set[str], at: datetime
) -> list[SummaryLine]:
    turns = [Turn(speaker=line.speaker, text=line.text, at=at, personal=line.speaker not in machines) for line in lines]
    return condense(turns, max_tokens=max_tokens, counter=default_counter(), analyzer=engine.analyzer)


def _format_lines(lines: Sequence[SummaryLine]) -> list[str]:
    return [f"{line.speaker}: {line.text}" if line.speaker else line.text for line in lines]


def _machines(records: Iterable[Record]) -> set[str]:
    return {turn.speaker for turn in turns_of(records) if not turn.personal}


def _made_of(records: Iterable[Record]) -> str:
    """Return a hash that changes when a source or its text does."""
    content = dump_json([[record.id, speaker_of(record), record.text] for record in records])
    return blake2b(content.encode(), digest_size=12).hexdigest()


def _shared(records: Sequence[Record], label: str) -> str | None:
    labels: set[str | None] = {getattr(record.scope, label) for record in records}
    return labels.pop() if len(labels) == 1 else None
