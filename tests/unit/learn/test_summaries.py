"""Summaries: whole sentences, in their order, and the ones that matter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.errors import InvalidInput
from rememo.learn.splitting import sentences
from rememo.learn.summaries import summarise
from rememo.recall.analyze import Analyzer

ANALYZER = Analyzer()
REPORT = """# Harbour report

The harbour of Lisbon will be deepened by four metres so that large container ships can enter it.
It was a nice day. People walked about. Some of them had coffee.
The deepening of the harbour costs ninety million euros and is paid by the port authority of Lisbon.
We had lunch then. It was good.
Container ships of the largest class will call at the harbour from 2027, the port authority says.
Thanks to all.
"""


def test_the_sentences_that_carry_the_text_are_chosen_in_order():
    summary = summarise(REPORT, sentences=3, analyzer=ANALYZER)
    assert summary.startswith("The harbour of Lisbon will be deepened")
    assert "ninety million" in summary
    assert "from 2027" in summary
    assert "coffee" not in summary
    assert summary == summarise(REPORT, sentences=3, analyzer=ANALYZER)


@given(st.text(alphabet="abc XY.!?\n#世。", max_size=300), st.integers(1, 8))
def test_a_summary_is_made_of_whole_sentences_in_order(text: str, count: int):
    summary = summarise(text, sentences=count, analyzer=ANALYZER)
    own = list(dict.fromkeys(" ".join(text[a:b].split()) for a, b in sentences(text)))
    rest = summary
    used = 0
    for one in own:
        if rest == one or rest.startswith(one + " "):
            rest, used = rest[len(one) + 1 :], used + 1
    assert bool(summary) == bool(text.strip())
    assert used <= count or not rest


def test_a_text_of_fragments_still_has_a_summary():
    assert summarise("Eggs", analyzer=ANALYZER) == "Eggs"
    assert not summarise("  \n ", analyzer=ANALYZER)


@pytest.mark.parametrize("count", [0, -1, 101, True, 2.5])
def test_an_absurd_number_of_sentences_is_an_error(count: int):
    with pytest.raises(InvalidInput, match="sentences"):
        summarise(REPORT, sentences=count, analyzer=ANALYZER)
