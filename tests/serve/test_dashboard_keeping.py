"""The dashboard's pages for those who look after a memory: quarantine, jobs, flows and the audit trail."""

import re
from collections.abc import Callable
from dataclasses import fields
from datetime import timedelta
from typing import Any

import httpx
import pytest
from tests.serve.pages import HOSTILE, ORDER, Page, checked, log_in, post

from rememo import Memory, Settings
from rememo.engine.view import view_of
from rememo.llm.protocol import Usage
from rememo.llm.spending import Ledger
from rememo.serve.auth import ApiKeys
from rememo.serve.dashboard.settings import setting_rows
from rememo.serve.service import ServerOptions
from rememo.testing import ManualClock


@pytest.fixture
def board(web: httpx.Client) -> Callable[..., Page]:
    def get(path: str, status: int = 200, /, **query: Any) -> Page:
        return checked(web.get(path, params=query or None), status)

    return get


def do(web: httpx.Client, page: Page, action: str, **more: str) -> Page:
    """Send a form of a page, and return the page it leads to."""
    done = post(web, action, page.form(action), **more)
    assert done.status_code == 303, done.text
    return checked(web.get(done.headers["location"]))


# ---- quarantine


def held(memory: Memory, text: str = ORDER, **more: Any) -> str:
    id = memory.messages.add("tool", text, trust=0.1, learn=False, **more).id
    assert memory.quarantine.get(id)
    return id


def test_what_is_held_back_is_shown_with_its_reason_and_let_go(
    web: httpx.Client, board: Any, memory: Memory, clock: ManualClock
):
    assert "Nothing is held back" in board("/quarantine").text
    chat = memory.scope(user="ana", room="chat")
    id = held(chat, source="web:evil.example")
    page = board("/quarantine")
    assert ORDER in page.text
    assert memory.quarantine.get(id).quarantine in page.text
    assert "web:evil.example" in page.text
    assert "Nothing is held back in this scope" in board("/quarantine", user="bo").text
    assert "A message that is held back" in board("/quarantine", id=id).text
    board("/quarantine", 404, id="nobody")
    clock.advance(1)
    page = do(web, board("/quarantine", id=id), "/change/release")
    assert "Released" in page.text
    assert memory.get(id).metadata["released_by"] == "key:open"
    clock.advance(1)
    page = do(web, page, "/change/undo")
    assert ORDER in page.text, "undone, it is held back again"
    clock.advance(1)
    form = page.form("/change/release")
    assert post(web, "/change/discard", form).status_code == 303
    assert "Nothing is held back" in board("/quarantine").text
    assert post(web, "/change/discard", form).status_code == 404
    assert memory.history(id, quarantined=True)[-1].deleted


def test_a_long_text_that_is_held_back_can_be_read_to_its_end(board: Any, memory: Memory):
    id = held(memory, ORDER + " x" * 10_000 + " END")
    assert "more characters" in board("/quarantine").text
    page = board("/quarantine", id=id)
    assert "Part 1 of 3" in page.text
    assert "END" in board("/quarantine", id=id, part=3).text


def test_many_that_are_held_back_come_in_pages(board: Any, memory: Memory):
    for place in range(30):
        held(memory, f"{ORDER} {place}.")
    page = board("/quarantine")
    assert "30 records are held back" in page.text
    assert f"{ORDER} 29." in page.text
    assert f"{ORDER} 4." not in page.text
    assert f"{ORDER} 0." in board("/quarantine", offset=25).text


# ---- jobs


def give_up(memory: Memory, reason: str) -> str:
    """Let the first job that is due fail for good, and return its id."""
    store, now = view_of(memory).engine.store, view_of(memory).engine.now()
    job = store.lease(["learn"], 60, now)
    assert job is not None
    store.settle(job, state="dead", error=reason, due_at=None)
    return job.id


@pytest.fixture
def idle(clock: ManualClock) -> Any:
    """Return a memory whose jobs nobody does."""
    with Memory(":memory:", settings=Settings(durability="fast", worker=False), clock=clock) as memory:
        yield memory


def test_jobs_are_shown_by_state_and_dead_ones_are_tried_again(idle: Memory, running: Any, clock: ManualClock):
    with running(idle) as address, httpx.Client(base_url=address, trust_env=False) as web:
        assert "No job is waiting" in checked(web.get("/jobs")).text
        for place in range(3):
            idle.scope(room="chat").messages.add("user", f"I live in Porto {place}.")
        page = checked(web.get("/jobs"))
        assert "Waiting 3" in page.text
        assert page.text.count("learn") >= 3
        dead = [give_up(idle, f"{HOSTILE[0]} {place}") for place in range(3)]
        page = checked(web.get("/jobs"))
        assert "Dead 3" in page.text
        assert f"{HOSTILE[0]} 2" in page.text
        page = do(web, page, "/change/retry", id=dead[0])
        assert (idle.jobs.get(dead[0]).state, idle.jobs.get(dead[1]).state) == ("waiting", "dead")
        form = {name: value for name, value in page.form("/change/retry").items() if name != "id"}
        assert post(web, "/change/retry", form).status_code == 303
        assert "Waiting 3" in checked(web.get("/jobs?state=waiting")).text
        assert post(web, "/change/retry", form, id=dead[0]).status_code == 400
        assert post(web, "/change/retry", form, id="nobody").status_code == 404
        checked(web.get("/jobs?state=nonsense"), 400)
        for place in range(90):
            idle.scope(room="chat").messages.add("user", f"I live in Lisbon {place}.")
        seen, until = 0, ""
        for _ in range(3):
            page = checked(web.get("/jobs", params={"state": "waiting", "up_to": until}))
            seen += page.text.count("learn ")
            until = re.findall(r"up_to=([0-9a-f-]+)", str(page.all("a")))[-1:]
        assert seen == 93
        past = checked(web.get("/jobs", params={"known_at": (clock() - timedelta(days=1)).isoformat()}))
        assert "Waiting 93" in past.text, "jobs have no past"
        assert not [form for form in past.all("form") if form.get("method") == "post"]


# ---- flows


def test_flows_are_listed_and_cleared(web: httpx.Client, board: Any, memory: Memory, clock: ManualClock):
    assert "No flow is active" in board("/flows").text
    memory.kv.set("flows", 1)
    flow = memory.flow("sign_up", steps=["name", "done"], ttl="1h")
    flow.start("ana", data={"name": "Ana"})
    flow.start("bo")
    flow.pause("bo")
    narrow = memory.scope(agent="helper", room="chat")
    narrow.flow("order", steps=["pay"]).start("ana")
    page = board("/flows")
    for word in ("sign_up", "order", "ana", "bo", "helper", "chat", "paused", "name Ana"):
        assert word in page.text, word
    assert "bo" not in board("/flows", user="ana").text.split()
    assert "sign_up" not in board("/flows", agent="helper").text
    page = do(web, page, "/change/clear-flow")
    assert "Flow cleared" in page.text
    assert [state.user for state in flow.active(paused=True)] == ["ana", "bo"], "helper's flow stood first"
    form = page.form("/change/clear-flow")
    assert post(web, "/change/clear-flow", form).status_code == 303
    assert post(web, "/change/clear-flow", form).status_code == 404
    assert [state.user for state in flow.active(paused=True)] == ["bo"]
    clock.advance(3_601)
    assert "No flow is active" in board("/flows").text
    for place in range(70):
        flow.start(f"user-{place:02}")
    assert "user-00" in board("/flows").text
    assert "user-69" in board("/flows", offset=60).text
    assert "user-00" in board("/flows", known_at=clock().isoformat()).text, "flows have no past"


# ---- audit


def test_the_trail_is_listed_filtered_and_read_to_its_beginning(board: Any, memory: Memory, clock: ManualClock):
    for place in range(70):
        clock.advance(60)
        with memory.acting(actor=f"person {place % 2}", session="s", address="10.0.0.5"):
            memory.scope(user="ana").add(f"note {place}", id=f"n{place}")
    memory.kv.set("a", 1)
    page = board("/audit")
    assert "person 1" in page.text
    assert "n69" in page.text
    assert "n5 " not in page.text
    numbers, address = list[int](), dict[str, Any]()
    while True:
        page = board("/audit", **address)
        numbers += [int(str(item["id"])[2:]) for item in page.all("li") if str(item.get("id")).startswith("l-")]
        if "Older" not in page.text:
            break
        address = {"up_to": numbers[-1] - 1}
    assert numbers == list(range(71, 0, -1))
    assert "person 0" not in board("/audit", actor="person 1", operation="write").text.partition("Entries")[2]
    assert "kv.set" in board("/audit", operation="kv.set").text
    assert "There is no entry of that kind" in board("/audit", operation="erase").text
    soon = (clock() - timedelta(minutes=5)).isoformat()
    assert "n69" in board("/audit", after=soon).text
    assert "n69" not in board("/audit", before=soon).text
    assert "n69" not in board("/audit", known_at=soon).text
    assert "n69" not in board("/audit", user="bo").text
    for wrong in ({"up_to": "x"}, {"up_to": "-1"}, {"check": "yes", "head": "x"}, {"check": "yes", "head": "1:x"}):
        board("/audit", 400, **wrong)


def test_the_chain_is_verified_and_a_forged_line_is_named(board: Any, memory: Memory):
    for place in range(5):
        memory.add(f"note {place}")
    head = memory.audit.head()
    assert "The chain is whole: 5 entries" in board("/audit", check="yes").text
    assert "the given head is part of it" in board("/audit", check="yes", head=f"{head.count}:{head.hash}").text
    assert "The chain is broken" in board("/audit", check="yes", head=f"{head.count}:{'0' * 64}").text
    database = view_of(memory).engine.store._database  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    database.write(lambda connection: connection.execute("UPDATE audit SET operation = 'nothing' WHERE number = 3"))  # pyright: ignore[reportUnknownMemberType, reportUnknownLambdaType]
    page = board("/audit", check="yes")
    assert "The chain is broken" in page.text
    assert "line 3 was altered" in page.text


def test_a_trail_that_is_off_says_so(running: Any):
    with Memory(":memory:") as memory, running(memory) as address:
        assert "Auditing is off" in checked(httpx.get(f"{address}/audit", trust_env=False)).text


# ---- hostile text, and who may


def test_hostile_text_in_the_pages_of_keeping_is_shown_and_does_nothing(board: Any, memory: Memory):
    for text in HOSTILE:
        said = text.replace("\x00", "")
        chat = memory.scope(user=said, room=said, agent=said)
        held(chat, f"{said} {ORDER}", source=said)
        chat.flow(said, steps=[said]).start(said, data={said: said})
        with memory.acting(actor=said, session=said, address=said):
            chat.add("a note", id=said)
        for path in ("/quarantine", "/flows", "/audit", "/jobs"):
            board(path)
            board(path, user=said)
        board("/audit", actor=said, operation=said)


def test_pages_of_keeping_stay_small_however_dense_the_text(board: Any, memory: Memory):
    dense = '\u202e"<&' * 70
    for place in range(31):
        chat = memory.scope(user=dense, room=dense, agent=dense)
        held(chat, f"{ORDER} {dense * 20} {place}", source=dense)
        chat.flow(f"{dense} {place}", steps=[dense]).start(dense, data={dense: dense})
        with memory.acting(actor=dense, session=dense, address=dense):
            chat.add_many([{"text": "x", "id": f"{dense} {place} {number}"} for number in range(20)])
    for path in ("/quarantine", "/flows", "/audit", "/jobs"):
        board(path)


@pytest.mark.parametrize(
    ("rights", "labels", "open_to"),
    [
        (["read"], {}, {"/jobs", "/flows", "/tokens"}),
        (["read", "write"], {}, {"/jobs", "/flows", "/tokens"}),
        (["read", "write", "admin"], {}, {"/jobs", "/flows", "/tokens", "/quarantine", "/audit", "/keys", "/settings"}),
        (["read", "write", "admin"], {"user": "ana"}, {"/flows", "/quarantine", "/audit"}),
        (["read"], {"user": "ana"}, {"/flows"}),
    ],
)
def test_keys_see_and_are_led_to_what_they_may(
    web: httpx.Client, keys: ApiKeys, memory: Memory, rights: list[str], labels: dict[str, Any], *, open_to: set[str]
):
    held(memory.scope(user="bo", room="his"), f"{ORDER} his affair")
    memory.flow("sign_up", steps=["his affair"]).start("bo")
    with memory.acting(actor="bo"):
        memory.scope(user="bo").add("x", id="his-affair")
    log_in(web, keys.add(rights=rights, **labels)[1])
    led = {str(link["href"]) for link in checked(web.get("/rooms")).all("a")}
    for path in ("/jobs", "/flows", "/tokens", "/quarantine", "/audit", "/keys", "/settings"):
        assert (path in led) == (path in open_to), path
        page = checked(web.get(path), 200 if path in open_to else 403)
        if labels:
            assert "affair" not in page.text
    if "admin" not in rights or labels:
        checked(web.get("/audit?check=yes"), 403)


# ---- keys and settings


def test_the_first_key_closes_an_open_server_and_is_shown_once(web: httpx.Client, board: Any, keys: ApiKeys):
    page = board("/keys")
    assert "no key yet" in page.text
    form = page.form("/change/make-key")
    made = post(web, "/change/make-key", form, name="first", tenant="*", read="yes", write="yes", admin="yes")
    page = checked(made)
    [text] = re.findall(r"rememo_[0-9a-f]+_[0-9a-f]{64}", made.text)
    assert "needs a key for everything" in page.text
    assert web.get("/keys").status_code == 303, "the page itself is closed now"
    assert log_in(web, text).status_code == 303
    shown = web.get("/keys").text
    assert text not in shown
    assert "first" in shown
    [key] = keys.list()
    assert (key.tenant, key.rights) == ("*", ("read", "write", "admin"))


def test_keys_are_made_narrower_than_their_maker_and_revoked(
    web: httpx.Client, keys: ApiKeys, memory: Memory, clock: ManualClock
):
    theirs, _ = keys.add(tenant="elsewhere", name="theirs")
    own, text = keys.add(rights=["read", "admin"], rate=50.0, expires="10d", name="mine")
    log_in(web, text)
    page = checked(web.get("/keys"))
    assert "theirs" not in page.text
    assert "Tenant (*" not in page.text
    form = page.form("/change/make-key") | {"read": "yes", "admin": ""}
    for more in ({"write": "yes"}, {"tenant": "elsewhere"}, {"tenant": "*"}):
        assert checked(post(web, "/change/make-key", form | more), 403).text
    for more in ({"expires": "soon"}, {"rate": "-1"}, {"rate": "x"}, {"read": ""}, {"name": "x" * 600}):
        assert checked(post(web, "/change/make-key", form | more), 400).text
    wanted = {"user": "ana", "name": HOSTILE[1], "expires": "90d", "rate": "100"}
    made = post(web, "/change/make-key", form | wanted)
    checked(made)
    assert post(web, "/change/make-key", form | {"csrf": "guess"}).status_code == 403
    narrow = next(key for key in keys.list() if key.user == "ana")
    assert (narrow.tenant, narrow.rights, narrow.rate, narrow.expires_at) == (
        "default",
        ("read",),
        50.0,
        own.expires_at,
    )
    [secret] = re.findall(r"rememo_[0-9a-f]+_[0-9a-f]{64}", made.text)
    assert keys.check(secret).id == narrow.id
    page = checked(web.get("/keys"))
    revoke = page.form("/change/revoke-key")
    assert post(web, "/change/revoke-key", revoke, id=narrow.id).status_code == 303
    assert next(key for key in keys.list() if key.id == narrow.id).revoked_at
    assert post(web, "/change/revoke-key", revoke, id=theirs.id).status_code == 404
    assert post(web, "/change/revoke-key", revoke, id="nobody").status_code == 404
    for place in range(40):
        clock.advance(1)
        keys.add(name=f"number {place}")
    assert "number 39" in checked(web.get("/keys")).text
    assert "mine" in checked(web.get("/keys?offset=30")).text
    assert [entry.operation for entry in memory.scope(tenant="rememo:server").audit.list()].count("kv.set") > 3
    assert post(web, "/change/revoke-key", revoke, id=own.id).headers["location"].startswith("/keys?done=")
    assert web.get("/keys").status_code == 303, "who revokes their own key is logged out"


SECRETS = ("hunter2", "sk-verysecret", "s3cr3t")


def test_settings_are_shown_and_no_secret_among_them(running: Any, tmp_path: Any):
    settings = Settings(
        llm_url=f"http://me:{SECRETS[0]}@127.0.0.1:9/v1", llm_key=SECRETS[1], llm_model="small-model",
        archive=f"s3://who:{SECRETS[2]}@bucket/prefix?key={SECRETS[2]}", roles="user assistant system tool judge",
    )  # fmt: skip
    with Memory(tmp_path / "m.db", settings=settings) as memory, running(memory) as address:
        answer = httpx.get(f"{address}/settings", trust_env=False)
    page = checked(answer)
    assert not [secret for secret in SECRETS if secret in answer.text]
    for word in ("REMEMO_LLM_KEY", "s3://bucket/prefix", "small-model", "judge", "SQLite", "max_body", "changed"):
        assert word in page.text, word
    shown = {row.name: row for row in setting_rows(settings)}
    assert (shown["llm_key"].value, shown["kv"].value) == ("set", "not set")
    assert (shown["durability"].changed, shown["roles"].changed) == (False, True)
    assert not [row.name for row in (*shown.values(), *setting_rows(ServerOptions())) if not row.says], (
        "each says what it means"
    )
    names = {
        field.name
        for field in fields(Settings)
        if any(part in field.name for part in ("password", "secret", "llm_key"))
    }
    assert not [name for name in names if shown[name].value not in {"set", "not set"}]


# ---- tokens, and what the first page tells of all this


def book(memory: Memory, operation: str, prompt: int, completion: int) -> None:
    """Book what a call cost."""
    ledger = Ledger(view_of(memory).engine)
    ledger.settle(ledger.reserve("default", operation, Usage(2_000, 500)), Usage(prompt, completion))


def test_tokens_are_shown_by_day_and_purpose(running: Any, clock: ManualClock):
    settings = Settings(spend_daily_tokens=10_000, spend_prompt_price=2.0, spend_completion_price=10.0, worker=False)
    with Memory(":memory:", settings=settings, clock=clock) as memory, running(memory) as address:
        web = httpx.Client(base_url=address, trust_env=False)
        assert "Nothing was spent" in checked(web.get("/tokens")).text
        memory.add("something")
        book(memory, HOSTILE[0], 1_000, 100)
        clock.advance(86_400)
        book(memory, "extract", 1_500, 200)
        page = checked(web.get("/tokens"))
        for word in ("2,800", "1,700 today of 10,000 allowed, 8,300 left", "extract", HOSTILE[0], "0.0080"):
            assert word in " ".join(page.text.split()), word
        assert len([bar for bar in page.all("rect") if str(bar.get("class")).startswith("series")]) == 6
        assert "2,800 tokens in 30 days, 8,300 left today" in " ".join(checked(web.get("/")).text.split())
        clock.advance(30 * 86_400)
        assert "Nothing was spent" in checked(web.get("/tokens?days=7")).text
        assert "extract" in checked(web.get("/tokens?days=90")).text
        for wrong in ("0", "8", "x", "400"):
            checked(web.get("/tokens", params={"days": wrong}), 400)
        web.close()


def test_the_first_page_tells_growth_kinds_and_what_waits(web: httpx.Client, memory: Memory, clock: ManualClock):
    memory.add_many({"text": f"note {place}", "occurred_at": clock() - timedelta(days=place)} for place in range(3))
    clock.advance(20 * 86_400)
    memory.scope(room="chat").messages.add("user", "hello there", learn=False)
    held(memory)
    memory.facts.add("ana", "likes", "tea")
    clock.advance(3_600)
    page = checked(web.get("/"))
    setting_rows = " ".join(page.text.split())
    assert "+2 in a day, +5 in 30 days" in setting_rows
    assert "5 records" in setting_rows
    assert "1 in quarantine" in setting_rows
    assert "left there" not in setting_rows, "a memory in memory has no disk"
    links = {str(link["href"]) for link in page.all("a")}
    assert links >= {"/quarantine", "/jobs", "/jobs?state=dead", "/tokens", "/conflicts", "/search?kind=note"}
    drawn = [str(bar.get("class")) for bar in page.all("rect") if "series" in str(bar.get("class"))]
    assert len(set(drawn)) == 3, "one colour a kind"
    assert "+1 in a day" in checked(web.get("/?room=chat")).text
