"""The ledger: every call is booked before and after, and none passes the ceiling."""

import json
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as with_settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from rememo import Memory, Settings
from rememo.cli.app import cli
from rememo.engine.view import view_of
from rememo.errors import InvalidInput, ModelFailed, OverBudget
from rememo.llm.gateway import model_for, prompt_tokens, upper_bound
from rememo.llm.openai import OpenAICompatible
from rememo.llm.protocol import LLM, ChatMessage, Usage
from rememo.llm.spending import Ledger
from rememo.testing.clock import ManualClock
from rememo.testing.endpoint import ChatReply, ErrorReply, HeldReply, RawReply, Reply, ScriptedEndpoint

ASK = [ChatMessage("user", "how are you today, and what is the weather like?")]
MOST = upper_bound(prompt_tokens(ASK), 50).total
"""What such a call is booked for beforehand, with 50 tokens to answer in."""


def model_of(memory: Memory, tenant: str = "default", operation: str = "test") -> LLM:
    found = model_for(view_of(memory).engine, tenant, operation)
    assert found is not None
    return found


def ceiling(tokens: int | None) -> Settings:
    return Settings(spend_daily_tokens=tokens, spend_prompt_price=2.0, spend_completion_price=10.0)


@pytest.mark.requirement("spend.limit")
def test_what_was_spent_is_listed_by_day_and_purpose(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    clock = ManualClock(datetime(2026, 3, 1, 23, 30, tzinfo=UTC))
    endpoint.script(ChatReply("a", usage=(100, 10)), ChatReply("b", usage=(200, 20)), ChatReply("c", usage=(300, 30)))
    with Memory(":memory:", embedder=None, llm=llm, settings=ceiling(5_000), clock=clock) as memory:
        model_of(memory).complete(ASK)
        model_of(memory, operation="ask").complete(ASK)
        clock.advance(3_600)
        model_of(memory).complete(ASK)
        found = memory.spending()
        told = [(entry.day, entry.operation, entry.calls, entry.prompt, entry.completion) for entry in found.entries]
        assert told == [
            (date(2026, 3, 1), "ask", 1, 200, 20),
            (date(2026, 3, 1), "test", 1, 100, 10),
            (date(2026, 3, 2), "test", 1, 300, 30),
        ]
        assert (found.tokens, found.today, found.left) == (660, 330, 4_670)
        assert found.cost == pytest.approx((600 * 2 + 60 * 10) / 1_000_000)
        assert [entry.day for entry in memory.spending(days=1).entries] == [date(2026, 3, 2)]
        assert memory.scope(tenant=None).spending() == found


@pytest.mark.requirement("spend.limit")
def test_a_call_that_would_pass_the_ceiling_is_not_made(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    clock = ManualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    endpoint.script(*[ChatReply("fine", usage=(20, 5))] * 9)
    with Memory(":memory:", embedder=None, llm=llm, settings=ceiling(MOST + 25), clock=clock) as memory:
        for _ in range(2):
            model_of(memory).complete(ASK, max_tokens=50)
        with pytest.raises(OverBudget, match=r"50 of the .* spend_daily_tokens"):
            model_of(memory).complete(ASK, max_tokens=50)
        with pytest.raises(OverBudget):
            list(model_of(memory).stream(ASK))
        assert len(endpoint.requests_to()) == 2
        assert [entry.refused for entry in memory.spending().entries] == [2]
        clock.advance(86_400)
        model_of(memory).complete(ASK, max_tokens=50)


def test_a_ceiling_of_nothing_asks_no_model(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    with (
        Memory(":memory:", embedder=None, llm=llm, settings=ceiling(0)) as memory,
        pytest.raises(OverBudget),
    ):
        model_of(memory).complete(ASK)
    assert not endpoint.requests_to()


@pytest.mark.requirement("spend.limit")
def test_tenants_have_ceilings_of_their_own(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(*[ChatReply("fine", usage=(MOST, 0))] * 2)
    with Memory(":memory:", embedder=None, llm=llm, settings=ceiling(MOST)) as memory:
        model_of(memory, "one").complete(ASK, max_tokens=50)
        model_of(memory, "two").complete(ASK, max_tokens=50)
        with pytest.raises(OverBudget):
            model_of(memory, "one").complete(ASK, max_tokens=50)


@pytest.mark.parametrize(
    ("answer", "spent", "requests"),
    [
        (ChatReply(None, refusal="no", usage=(40, 2)), (40, 2), 1),
        (ChatReply(None, usage=(40, 0)), (40, 0), 1),
        (ErrorReply(401), (0, 0), 1),
        (RawReply(b"{", promised=90), None, 1),
        (HeldReply(ChatReply("late")), None, 1),
    ],
    ids=["refusal", "empty", "rejected", "broken off", "slow"],
)
def test_a_failure_costs_what_it_did_or_may_have(
    endpoint: ScriptedEndpoint, llm: OpenAICompatible, answer: Reply, spent: tuple[int, int] | None, requests: int
):
    endpoint.script(answer)
    most = upper_bound(prompt_tokens(ASK), 50)
    with Memory(":memory:", embedder=None, llm=llm) as memory:
        with pytest.raises(ModelFailed):
            model_of(memory).complete(ASK, max_tokens=50, timeout=0.3)
        [entry] = memory.spending().entries
        assert (entry.prompt, entry.completion) == (spent or (most.prompt, most.completion))
        assert (entry.calls, entry.requests, entry.failed) == (1, requests, 1)


def test_tries_are_counted_and_uncounted_tokens_are_estimated(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ErrorReply(503), ErrorReply(429), ChatReply("quite well", usage=(-1, -1)))
    with Memory(":memory:", embedder=None, llm=llm) as memory:
        model_of(memory).complete(ASK)
        [entry] = memory.spending().entries
        assert (entry.calls, entry.requests, entry.failed) == (1, 3, 0)
        assert entry.prompt == prompt_tokens(ASK)
        assert 1 <= entry.completion <= 4


def test_streams_are_booked(endpoint: ScriptedEndpoint, llm: OpenAICompatible):
    endpoint.script(ChatReply("one two", usage=(7, 2)), ChatReply("one two", usage=(7, 2)))
    with Memory(":memory:", embedder=None, llm=llm) as memory:
        assert "".join(model_of(memory).stream(ASK)) == "one two"
        [entry] = memory.spending().entries
        assert (entry.prompt, entry.completion) == (7, 2)
        half = model_of(memory).stream(ASK)
        next(half)
        half.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - a generator
        [entry] = memory.spending().entries
        assert entry.prompt > 14, "one that is let go of is booked at the most it may have cost"


def test_a_process_that_dies_has_paid(tmp_path: Path):
    with Memory(tmp_path / "a.db", embedder=None, settings=ceiling(1_000)) as memory:
        Ledger(view_of(memory).engine).reserve("default", "test", Usage(300, 200))
    with Memory(tmp_path / "a.db", embedder=None, settings=ceiling(1_000)) as memory:
        assert memory.spending().left == 500


@with_settings(max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400), st.floats(0, 1)), max_size=20), st.integers(0, 2_000)
)
def test_the_ceiling_holds_whatever_is_asked(calls: list[tuple[int, int, float]], most: int):
    with Memory(":memory:", embedder=None, settings=ceiling(most)) as memory:
        ledger, spent, refused = Ledger(view_of(memory).engine), 0, 0
        for prompt, completion, share in calls:
            try:
                booking = ledger.reserve("default", "test", Usage(prompt, completion))
            except OverBudget:
                refused += 1
                assert spent + prompt + completion > most
                continue
            usage = Usage(int(prompt * share), int(completion * share))
            ledger.settle(booking, usage)
            spent += usage.total
            assert memory.spending().today == spent <= most
        assert sum(entry.refused for entry in memory.spending().entries) == refused


_SPENDER = """
import sys
from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import OverBudget
from rememo.llm.protocol import Usage
from rememo.llm.spending import Ledger
with Memory(sys.argv[1], embedder=None, settings=Settings(spend_daily_tokens=1000, worker=False)) as memory:
    ledger, made = Ledger(view_of(memory).engine), 0
    print("ready", flush=True)
    sys.stdin.readline()
    for _ in range(40):
        try:
            ledger.settle(ledger.reserve("default", "test", Usage(20, 15)), Usage(20, 5))
            made += 1
        except OverBudget:
            pass
    print(made)
"""


@pytest.mark.requirement("spend.limit")
def test_processes_and_threads_share_one_ceiling(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file, embedder=None, settings=ceiling(1_000)) as memory:
        others = [
            subprocess.Popen(
                [sys.executable, "-c", _SPENDER, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(2)
        ]
        for process in others:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        made: list[int] = []

        def spend() -> None:
            ledger = Ledger(view_of(memory).engine)
            for _ in range(10):
                try:
                    ledger.settle(ledger.reserve("default", "test", Usage(20, 15)), Usage(20, 5))
                    made.append(1)
                except OverBudget:
                    pass

        threads = [threading.Thread(target=spend) for _ in range(3)]
        for thread in threads:
            thread.start()
        told = [int(process.communicate("go\n", timeout=60)[0]) for process in others]
        for thread in threads:
            thread.join()
        [entry] = memory.spending().entries
        assert entry.calls == sum(told) + len(made)
        assert entry.tokens == entry.calls * 25 <= 1_000
        assert entry.calls >= 38, "nothing is refused while there is room for it"


@pytest.mark.parametrize("days", [0, -1, 401, 1.5, True, "7"])
def test_days_that_cannot_be_meant_are_refused(days: object):
    with Memory(":memory:", embedder=None) as memory, pytest.raises(InvalidInput, match="days"):
        memory.spending(days=days)  # pyright: ignore[reportArgumentType] - that is the test


def test_the_ledger_moves_with_its_tenant_and_is_let_go_after_a_year(tmp_path: Path):
    clock = ManualClock(datetime(2026, 3, 1, 12, tzinfo=UTC))
    with Memory(":memory:", embedder=None, clock=clock) as memory:
        Ledger(view_of(memory).engine).reserve("default", "test", Usage(3, 2))
        memory.export(tmp_path / "a.jsonl")
        clock.advance(timedelta(days=399).total_seconds())
        assert memory.spending(days=400).tokens == 5
        clock.advance(timedelta(days=2).total_seconds())
        assert memory.spending(days=400).tokens == 0
    clock = ManualClock(datetime(2026, 3, 1, 13, tzinfo=UTC))
    with Memory(":memory:", embedder=None, clock=clock) as memory:
        memory.import_(tmp_path / "a.jsonl")
        assert memory.spending().tokens == 5


def test_the_command_shows_it(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file, embedder=None) as memory:
        Ledger(view_of(memory).engine).reserve("default", "ask", Usage(3_000, 2))
    shown = CliRunner().invoke(cli, ["spend", str(file)])
    assert shown.exit_code == 0
    told = json.loads(CliRunner().invoke(cli, ["spend", str(file), "--json"]).stdout)
    assert (told["tokens"], told["entries"][0]["operation"], told["left"]) == (3_002, "ask", None)
