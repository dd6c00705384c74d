"""Templates shape a context; whatever they hold, they end soon and reach nothing."""

import sys
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.context import template as templates
from rememo.context.template import FIELDS, MOST_CHARACTERS, Template
from rememo.errors import InvalidInput, MissingExtra
from rememo.testing.clock import ManualClock


@pytest.fixture
def chat() -> Iterator[Memory]:
    with Memory(":memory:", settings=Settings(worker=False), clock=ManualClock()) as memory:
        memory.scope(user="ana", room="before").messages.add("user", "I live in Lisbon by the river.").wait()
        chat = memory.scope(user="ana", room="now")
        chat.tasks.add("Call the bank", due=ManualClock()())
        chat.messages.add("user", "Where do I live?")
        yield chat


def inside(text: str) -> str:
    return "\n".join(text.split("\n")[2:-1])


def test_a_template_shapes_what_stands_in_the_fence(chat: Memory):
    template = (
        "As of {{ now }} on {{ query|upper }}:\n"
        "{% for fact in facts %}\n{{ loop.index }}. {{ fact.text }}, said {{ fact.ago }}\n{% endfor %}\n"
        "{% for task in plans if task.kind == 'task' %}\n- {{ task.text }} by {{ task.due }}\n{% endfor %}\n"
        "{% if recent %}\n{{ recent|join(' | ', attribute='text') }}\n{% else %}\nno turns\n{% endif %}\n"
        "{{ passages|length }} passage"
    )
    context = chat.context("Where do I live?", max_tokens=500, template=template)
    assert inside(context.text).split("\n") == [
        "As of Friday 1 May 2026, 12:00 UTC on WHERE DO I LIVE?:",
        "1. ana lives in Lisbon, said today",
        "- Call the bank by Friday 1 May 2026",
        "Where do I live?",
        "1 passage",
    ]
    assert "no turns" in context.messages[0]["content"]


def test_every_field_can_be_asked_for(chat: Memory):
    fields = " ".join(f"{{{{ one.{name} }}}}" for name in FIELDS)
    text = chat.context("Lisbon", max_tokens=800, template=f"{{% for one in passages %}}{fields}{{% endfor %}}").text
    assert "ana: I live in Lisbon by the river." in text
    assert "Friday 1 May 2026 today" in text


def test_a_template_that_writes_too_much_gets_fewer_items(chat: Memory):
    for number in range(40):
        chat.scope().messages.add("user", f"River number {number} flows to the {number}th sea")
    wordy = (
        "{% for one in passages %}{{ one.text }} and once more {{ one.text }} and again {{ one.text }}\n{% endfor %}"
    )
    context = chat.context("river sea", max_tokens=400, template=wordy)
    assert context.tokens <= 400
    assert context.text.count("and once more") >= 2
    with pytest.raises(InvalidInput, match=r"needed for the template and the fence"):
        chat.context("river", max_tokens=400, template="word " * 500)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("{% for n in range(1000000000) %}x{% endfor %}", "loop over profile, facts, plans, passages, recent only"),
        ("{% for a in query %}x{% endfor %}", "loop over"),
        ("{% for a in facts %}{% for b in facts %}x{% endfor %}{% endfor %}", "not loop inside a loop"),
        ("{% for a in facts recursive %}{{ loop(facts) }}{% endfor %}", "not loop inside a loop"),
        ("{% for facts in facts %}x{% endfor %}", "one new name"),
        ("{% for a, b in facts %}x{% endfor %}", "one new name"),
        ("{{ 'x' * 1000000000 }}", r"may not use \*"),
        ("{{ 10 ** 10 ** 10 }}", r"may not use \*\*"),
        ("{{ query ~ query }}", "may not use ~"),
        ("{{ query + query }}", r"may not use \+"),
        ("{% set x = query %}", "may not use set"),
        ("{% macro m() %}{{ m() }}{% endmacro %}", "may not use macros"),
        ("{% include 'x' %}", "may not use include"),
        ("{% import 'x' as y %}", "may not use import"),
        ("{% extends 'x' %}", "may not use extends"),
        ("{{ facts.__class__ }}", "not for '__class__'"),
        ("{{ query.__class__.__mro__ }}", "not for '__mro__'"),
        ("{% for a in facts %}{{ a.__class__ }}{% endfor %}", "may not ask for '__class__'"),
        (
            "{% for a in facts %}{{ a.record }}{% endfor %}",
            "may not ask for 'record'; it may for|may not ask for 'record'",
        ),
        ("{% for a in facts %}{{ a['__class__'] }}{% endfor %}", r"may not use \["),
        ("{{ query.upper() }}", "may not use calls"),
        ("{{ query|attr('__class__') }}", "no filter 'attr'"),
        ("{{ query|center(1000000000) }}", "no filter 'center'"),
        ("{{ query|join(query) }}", "join takes one of"),
        ("{{ facts|join(query) }}", "short constants only"),
        ("{{ facts|join('" + "x" * 300 + "') }}", "short constants only"),
        ("{{ query|truncate(10000000) }}", "short constants only"),
        ("{{ query is callable }}", "no test 'callable'"),
        ("{{ self }}", "has no 'self'"),
        ("{{ lipsum }}", "has no 'lipsum'"),
        ("{{ nothing }}", "has no 'nothing'; there are|has no 'nothing'"),
        ("{% if %}", "cannot be read, line 1"),
        ("{{ " + "(" * 2_000 + "1" + ")" * 2_000 + " }}", "cannot be read"),
        ("{{ " + "9" * 6_000 + " }}", "cannot be read"),
        ("{{ query }}" * 600, "more than 500 parts"),
        ("x" * (MOST_CHARACTERS + 1), "more than the 16,384 allowed"),
    ],
)
def test_what_might_not_end_or_reach_out_is_refused(chat: Memory, source: str, says: str):
    with pytest.raises(InvalidInput, match=says):
        chat.context("hello", max_tokens=500, template=source)


def test_the_worst_that_passes_ends_soon(chat: Memory):
    chat.add_many([f"note number {number} " + "about the sea " * 50 for number in range(300)])
    worst = (
        "{% for one in passages %}" + "{% if one.text|trim|upper|lower == one.id %}x{% endif %}" * 40 + "{% endfor %}"
    )
    start = time.monotonic()
    context = chat.context("the sea", max_tokens=20_000, template=worst)
    assert context.tokens <= 20_000
    assert time.monotonic() - start < 30


@given(st.lists(st.sampled_from([
    "{{", "}}", "{%", "%}", " for ", "x", " in ", "facts", " if ", "endfor", "endif", "|join", "|upper", ".text", "query", "'", "#}",
    "{#", "(", ")", "~", "loop", ".index", "else", "\n", "recursive", "not ", "is defined",
]), max_size=14).map("".join))  # fmt: skip
def test_any_text_is_a_template_or_a_clear_error(source: str):
    try:
        template = Template.parse(source)
    except InvalidInput:
        return
    try:
        template.render([], ManualClock()(), parts=(), query="query")
    except InvalidInput as error:
        assert "the template failed" in str(error)  # noqa: PT017 - it may fail, and says so


def test_without_jinja_the_way_to_get_it_is_told(chat: Memory, monkeypatch: pytest.MonkeyPatch):
    templates._compile.cache_clear()  # pyright: ignore[reportPrivateUsage] - what was loaded before must not count
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(MissingExtra, match=r'pip install "rememo\[templates\]"'):
        chat.context("hello", max_tokens=500, template="{{ query }}")
    assert chat.context("hello", max_tokens=500).text
