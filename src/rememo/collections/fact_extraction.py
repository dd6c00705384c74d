"""Ask a language model for the facts that a text states beside those that rules find."""

from datetime import datetime

from rememo.engine.engine import Engine
from rememo.errors import InvalidInput
from rememo.extract import ExtractedFact
from rememo.learn.statements import folded
from rememo.llm.gateway import model_for


def extract_more(
    engine: Engine, tenant: str, facts: list[ExtractedFact], text: str, *, speaker: str, at: datetime
) -> list[ExtractedFact]:
    """Return the facts that the memory's language model finds in a text beside those that are known."""
    llm = model_for(engine, tenant, "extract")
    if llm is None:
        raise InvalidInput("this memory has no language model: give it one with Memory(llm=…) or the setting llm_url")
    # Only now: it needs pydantic, which those without a model have no use for.
    from rememo.learn.model_extraction import ExtractionInput, extract_by_model, merge_with_rules  # noqa: PLC0415

    by_model = extract_by_model(llm, [ExtractionInput(text=text, speaker=speaker, at=at)]).facts[0]
    existing = {(folded(fact.subject), fact.predicate, folded(fact.object)) for fact in facts}
    more = [proposal.fact for proposal in merge_with_rules(facts, by_model)]
    return [fact for fact in more if (folded(fact.subject), fact.predicate, folded(fact.object)) not in existing]
