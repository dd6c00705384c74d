"""Learning by a model: what it tells of messages joins what rules found, as more evidence for the same facts."""

from collections.abc import Sequence
from dataclasses import replace

from rememo.engine.engine import Engine
from rememo.errors import Closed, ModelFailed, OverBudget, StorageError
from rememo.learn.facts import FactChanges
from rememo.learn.messages import learnable, read_records, rule_facts, speaker_of, statement_of
from rememo.learn.model_extraction import (
    Extraction,
    ExtractionAnswer,
    ExtractionInput,
    answer_tokens,
    batches,
    extract_by_model,
    extraction_prompt,
    merge_with_rules,
)
from rememo.learn.reconcile import reconcile, reconcile_each
from rememo.learn.statements import LINK, MODEL
from rememo.llm.gateway import model_for, prompt_tokens, upper_bound
from rememo.llm.protocol import LLM, Usage
from rememo.llm.spending import Backlog, cost_of
from rememo.llm.structured import schema_of
from rememo.model.check import MAX_LABEL
from rememo.model.record import Record
from rememo.model.scope import Scope
from rememo.text.fence import without_recalled

EXTRACT = "extract"
"""The purpose under which it is booked."""
_HOPELESS = frozenset({"unreachable", "busy", "slow", "stopped", "rejected"})
"""Failures that the next call would meet too."""


def learn_by_model(engine: Engine, tenant: str, ids: Sequence[str]) -> dict[str, Exception]:
    """Learn from messages as they are now by the memory's model; returns what went wrong, by record.

    Messages of one scope are read together, some in each call, and those of different scopes never. What rules found
    before stands whatever happens here. Nothing of the store is held while the model is asked.
    """
    llm = model_for(engine, tenant, EXTRACT)
    if llm is None:
        return {}
    failed: dict[str, Exception] = {}
    end: Exception | None = None
    for records in _groups(engine, tenant, ids):
        turns = [_turn(record) for record in records]
        for places in batches(turns):
            batch = [records[place] for place in places]
            if end is None:
                error = _learn_some(engine, llm, batch, [turns[place] for place in places])
                end = error if _hopeless(error) else None
            else:
                error = end
            if error is not None:
                failed |= {record.id: error for record in batch}
    return failed


def backlog(engine: Engine, tenant: str, tasks: Sequence[str]) -> Backlog:
    """Return what the messages that wait to be learned from would cost at the most, without asking anybody."""
    waiting = engine.store.jobs(tenant, state="waiting")
    ids = [str(job.payload["record"]) for job in waiting if job.task in tasks and "record" in job.payload]
    usage, calls, messages, schema = Usage(), 0, 0, schema_of(ExtractionAnswer)
    for records in _groups(engine, tenant, ids):
        turns = [_turn(record) for record in records]
        for places in batches(turns):
            batch = [turns[place] for place in places]
            usage += upper_bound(prompt_tokens(extraction_prompt(batch), schema), answer_tokens(batch))
            calls, messages = calls + 1, messages + len(batch)
    cost = cost_of(engine.settings.spend, usage)
    return Backlog(messages=messages, calls=calls, prompt=usage.prompt, completion=usage.completion, cost=cost)


def _groups(engine: Engine, tenant: str, ids: Sequence[str]) -> list[list[Record]]:
    """Return the messages that can be learned from, scope by scope, oldest first."""
    groups: dict[Scope, list[Record]] = {}
    for record in read_records(engine, tenant, list(dict.fromkeys(ids))).values():
        if learnable(record) and without_recalled(record.text).strip():
            groups.setdefault(record.scope, []).append(record)
    return [sorted(group, key=lambda record: record.at) for group in groups.values()]


def _turn(record: Record) -> ExtractionInput:
    return ExtractionInput(text=without_recalled(record.text), speaker=speaker_of(record), at=record.at)


def _hopeless(error: Exception | None) -> bool:
    return isinstance(error, OverBudget) or (isinstance(error, ModelFailed) and error.reason in _HOPELESS)


def _learn_some(
    engine: Engine, llm: LLM, records: Sequence[Record], turns: Sequence[ExtractionInput]
) -> Exception | None:
    try:
        extraction = extract_by_model(llm, turns)
    except (ModelFailed, OverBudget) as error:
        return error
    try:
        _keep(engine, records, extraction)
    except (StorageError, Closed):
        raise
    except Exception as error:  # noqa: BLE001 - whatever is wrong with this answer, the others go on
        return error
    return None


def _keep(engine: Engine, records: Sequence[Record], extraction: Extraction) -> None:
    changes = FactChanges(records[0].scope.tenant)
    # Somebody may have changed or removed a message while the model thought about it.
    now = read_records(engine, changes.tenant, [record.id for record in records])
    for place, record in enumerate(records):
        current = now.get(record.id)
        if current is None or current.text != record.text or not learnable(current):
            continue
        for grounded in merge_with_rules(rule_facts(engine, current), extraction.facts[place]):
            fact = grounded.fact
            if max(len(fact.subject), len(fact.object)) * 4 > MAX_LABEL:
                continue
            statement = replace(
                statement_of(fact, current),
                name=LINK if grounded.link else MODEL,
                importance=extraction.importance.get(place),
            )
            changes.add(fact.subject, fact.predicate, statement)
    if not changes.groups:
        return
    try:
        reconcile(engine, changes)
    except (StorageError, Closed):
        raise
    except Exception:  # noqa: BLE001 - find out whose it is, and keep the rest
        if (left := reconcile_each(engine, changes)) is not None:
            raise left from None
