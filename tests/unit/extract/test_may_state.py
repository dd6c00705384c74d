"""What has no word by which the rules read a fact needs no job."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from rememo.engine.learning import may_state
from rememo.extract import extract

DATA = Path(__file__).parents[2] / "data"
AT = datetime(2026, 5, 1, tzinfo=UTC)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts(list(cast("dict[str, Any]", value).values()))
    elif isinstance(value, list):
        for part in cast("list[Any]", value):
            yield from _texts(part)


@pytest.mark.parametrize("name", ["facts", "facts2", "contradictions"])
def test_whatever_states_a_fact_may_state_one(name: str):
    lines = (DATA / f"{name}.jsonl").read_text().splitlines()
    texts = {part for line in lines for text in _texts(json.loads(line)) for part in (text, *text.split(". "))}
    stating = [text for text in texts if extract(text, speaker="ana", at=AT, noted=True)]
    assert len(stating) > 50
    assert [text for text in stating if not may_state(text)] == []


@pytest.mark.parametrize("text", ["", "invoice", "green tea", "invoice 8812 total 99.50 EUR", "42 17"])
def test_keywords_state_nothing(text: str):
    assert not may_state(text)
