"""Summaries: whole sentences, in their order, and the ones that matter."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo.bench.summaries import measure
from rememo.errors import InvalidInput
from rememo.recall.analyze import Analyzer
from rememo.summary.extractive import SummaryLine, condense, summarise
from rememo.summary.salience import Turn, message_sentence_spans, strip_emphasis
from rememo.text.splitting import sentence_spans
from rememo.text.tokens import default_counter

ANALYZER = Analyzer()
COUNTER = default_counter()
AT = datetime(2026, 5, 1, tzinfo=UTC)
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
    own = list(dict.fromkeys(" ".join(text[a:b].split()) for a, b in sentence_spans(text)))
    rest = summary
    used = 0
    for sentence in own:
        if rest == sentence or rest.startswith(sentence + " "):
            rest, used = rest[len(sentence) + 1 :], used + 1
    assert bool(summary) == bool(text.strip())
    assert used <= count or not rest


def test_a_text_of_fragments_still_has_a_summary():
    assert summarise("Eggs", analyzer=ANALYZER) == "Eggs"
    assert not summarise("  \n ", analyzer=ANALYZER)


@pytest.mark.parametrize("count", [0, -1, 101, True, 2.5])
def test_an_absurd_number_of_sentences_is_an_error(count: int):
    with pytest.raises(InvalidInput, match="sentences"):
        summarise(REPORT, sentences=count, analyzer=ANALYZER)


def test_a_text_that_repeats_itself_is_said_once():
    text = (
        "The old harbour bridge closes on Monday for repairs. The old harbour bridge closes for repairs on Monday. "
        "Ferries replace the buses until the end of October."
    )
    summary = summarise(text, sentences=2, analyzer=ANALYZER)
    assert summary.count("bridge") == 1
    assert "Ferries" in summary


# ---- conversations


def turn(speaker: str, text: str) -> Turn:
    return Turn(speaker=speaker, text=text, at=AT, personal=speaker != "assistant")


def short(turns: list[Turn], max_tokens: int) -> list[SummaryLine]:
    return condense(turns, max_tokens=max_tokens, counter=COUNTER, analyzer=ANALYZER)


TALK = [
    turn("ana", "Hi there! Can you give me some tips for my balcony? By the way, I planted 3 lemon trees in March."),
    turn(
        "assistant",
        "Great question! Here are some tips:\n\n1. **Water**: Water them in the morning.\n2. **Light**: Most plants like light.\n"
        "3. **Soil**: Good soil is important.\n\nI hope this helps! Let me know if you have more questions.",
    ),
    turn("ana", "Thanks! What about fertiliser?"),
    turn("assistant", "Lemon trees need a citrus fertiliser with nitrogen every two weeks from April to September."),
    turn("ana", "Sounds good. I moved to Porto last year and my sister Marta gave me the pots."),
]


def test_what_people_tell_of_themselves_comes_before_chatter():
    assert short(TALK, 32) == [
        SummaryLine("ana", "By the way, I planted 3 lemon trees in March.", 0),
        SummaryLine("ana", "I moved to Porto last year and my sister Marta gave me the pots.", 4),
    ]
    text = " ".join(line.text for line in short(TALK, 70))
    assert "citrus fertiliser" in text, "a question that was answered"
    assert "hope this helps" not in " ".join(line.text for line in short(TALK, 10_000))


def test_what_was_said_twice_is_kept_once():
    twice = [turn("ana", "My flight to Oslo leaves on 3 May."), turn("bo", "So my flight to Oslo leaves on 3 May.")]
    assert len(short(twice, 100)) == 1


def test_code_is_no_sentence_and_nothing_gives_nothing():
    assert short([turn("ana", "```\nx = 1\n```\nI use Python 3.13 for it.")], 50)[0].text == "I use Python 3.13 for it."
    assert short([], 50) == []
    assert short([turn("ana", "..."), turn("bo", "")], 50) == []
    assert short([turn("ana", "Hi!")], 50) == [SummaryLine("ana", "Hi!", 0)], "better than nothing"


said = st.text(alphabet="abcI my 12XY.!?\n-`世。*", max_size=80)


@given(st.lists(st.tuples(st.sampled_from(["ana", "assistant"]), said), max_size=8), st.integers(1, 60))
def test_lines_are_whole_sentences_of_their_turn_in_order_and_within_the_budget(
    talk: list[tuple[str, str]], budget: int
):
    turns = [turn(*spoken) for spoken in talk]
    lines = short(turns, budget)
    places = [line.place for line in lines]
    assert places == sorted(set(places))
    total = 0
    for line in lines:
        assert line.speaker == turns[line.place].speaker
        own = [strip_emphasis(turns[line.place].text[a:b]) for a, b in message_sentence_spans(turns[line.place].text)]
        rest = line.text
        for sentence in own:
            if rest == sentence or rest.startswith(sentence + " "):
                rest = rest[len(sentence) + 1 :]
                total += COUNTER.count(sentence)
        assert not rest
    assert total <= budget
    assert lines == short(turns, budget)


def test_the_bench_compares_ways_on_ones_own_data(tmp_path: Path):
    messages = [{"id": f"m{place}", "text": turn.text, "speaker": turn.speaker} for place, turn in enumerate(TALK)]
    asked = [
        {"question": "What did Ana plant in March?", "answer": "3 lemon trees", "evidence": ["m0"]},
        {"question": "Who gave Ana the pots?", "answer": "Marta", "evidence": ["m4"]},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"messages": messages, "questions": asked}))
    report = measure("jsonl", path, shares=(0.3,))
    assert report.sentences == 2
    ours, ends, _ = report.kept
    assert ours.sentences == 1.0
    assert ours.sentences > ends.sentences
    assert "first and last sentences" in report.table()
    path.write_text(json.dumps({"messages": messages, "questions": []}))
    with pytest.raises(InvalidInput, match="nothing to measure"):
        measure("jsonl", path)
