"""What is taken out before storing: found in every shape, nothing else touched, on every way in."""

import random
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememo import Memory, Settings
from rememo.safety.redaction import holds_key, redact
from rememo.settings import REDACTED

CARD = "4111 1111 1111 1111"
MAIL = "ana.silva+shop@mail.example.org"
KEY = "ghp_" + "a1B2" * 9
PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nMIIEow+/=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        (f"card {CARD}.", "card [redacted: card]."),
        ("5500-0000-0000-0004", "[redacted: card]"),
        ("378282246310005 and 3782 822463 10005", "[redacted: card] and [redacted: card]"),
        ("IBAN DE89 3704 0044 0532 0130 00 BANK", "IBAN [redacted: iban] BANK"),
        ("GB33BUKB20201555555555", "[redacted: iban]"),
        ("DE89370400440532013000 0 DE89370400440532013000", "[redacted: iban] 0 [redacted: iban]"),
        (f"write to {MAIL}, please", "write to [redacted: email], please"),
        ("<josé@exämple.org>", "<[redacted: email]>"),
        ("call +49 (30) 123-4567 or (555) 123-4567", "call [redacted: phone] or [redacted: phone]"),
        ("555-123-4567; 020 7946 0958; 01 23 45 67 89", "[redacted: phone]; [redacted: phone]; [redacted: phone]"),
        (f"token {KEY}!", "token [redacted: key]!"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted: key]"),
        ("sk-proj-" + "Ab1_" * 10, "[redacted: key]"),
        ("sk-ant-api03-" + "Ab1-" * 10, "[redacted: key]"),
        ("xoxb-123456789012-abcdefABCDEF", "[redacted: key]"),
        ("AIza" + "a" * 35, "[redacted: key]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLXNpZw", "[redacted: key]"),
        (f"before\n{PEM}\nafter", "before\n[redacted: key]\nafter"),
        ("-----BEGIN PRIVATE KEY-----\nMIIEow", "[redacted: key]"),
        (f"{PEM} {PEM} {KEY}", "[redacted: key] [redacted: key] [redacted: key]"),
        ("-----BEGIN PRIVATE KEY-----a-b--c---d----e-----", "[redacted: key]-----"),
        ("postgresql://app:hunter2@db.example.org/x", "postgresql://[redacted: key]@db.example.org/x"),
    ],
)
def test_what_is_found(text: str, clean: str):
    assert redact(text, REDACTED)[0] == clean
    assert redact(clean, REDACTED) == (clean, {})


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112",  # its check digit is wrong
        "order 1234567890123456, build 20261115103000",
        "2026-11-15 10:30:00.123456+00:00",
        "192.168.100.200 and 10.0.0.1:8080",
        "0d7c5a0e-3f0b-5c7e-9c55-7b1f2a9d4e61, 12345678-1234-5678-1234-567812345678",
        "10 000 000 people, 1,234,567.89 euros, 3.14159265358979",
        "DE89370400440532013001",  # so is this one
        "ISBN 978-3-16-148410-0, RFC 2822, v1.200.300",
        "@alice mentioned user@localhost",
        "sk-learn, ghost_writer, AKIA, eyJ.a.b",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "https://example.org:8080/path?x=1@2",
    ],
)
def test_what_is_not(text: str):
    assert redact(text, REDACTED) == (text, {})


def test_only_what_was_asked_for_is_taken_out():
    text = f"{CARD} {MAIL}"
    assert redact(text, ("emails",)) == (f"{CARD} [redacted: email]", {"email": 1})
    assert redact(text, ()) == (text, {})
    assert holds_key(KEY)
    assert not holds_key(text)


@given(st.text(), st.lists(st.sampled_from([CARD, MAIL, KEY, "+49 30 1234567", "DE89370400440532013000"]), max_size=4))
def test_it_is_stable_and_leaves_nothing(text: str, secrets: list[str]):
    whole = f" {text} ".join(secrets)
    clean, counts = redact(whole, REDACTED)
    assert sum(counts.values()) >= len(secrets)
    assert not any(f" {secret} " in f" {clean} " for secret in secrets)
    assert redact(clean, REDACTED)[0] == clean


@pytest.mark.parametrize(
    "piece",
    [
        "1 ", "1-", "4111 ", "4", "a@", "a.", "a@a.", "+1 ", "+", "(1", "eyJaaaaaaaa.", "eyJaaaaaaaaaa-", "://a:b",
        "://", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "DE12 ", "DE12", "DE89370400440532013000 ", "-----BEGIN PRIVATE KEY-----a-", "-----BEGIN PRIVATE KEY----",
        "eyJaaaaaaaa.aaaaaaaa", "eyJ", "sk-", "00 1", "0123 ", "ghp_a",
    ],
)  # fmt: skip
def test_hostile_texts_take_no_longer_than_they_are_long(piece: str):
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    redact(text[:250_000], REDACTED)
    quarter = time.process_time() - began
    began = time.process_time()
    redact(text, REDACTED)
    whole = time.process_time() - began
    assert whole < max(
        12 * quarter, 0.5
    )  # four times as long, with room for a busy machine; sixteen would be quadratic
    assert whole < 10


def test_a_private_key_may_have_any_length():
    body = "\n".join("".join(random.choices("ABCDabcd0123+/", k=64)) for _ in range(10_000))
    text = f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----"
    assert redact(f"x {text} y", REDACTED)[0] == "x [redacted: key] y"


# ---- every way in


@pytest.fixture
def memory():
    settings = Settings(durability="fast", worker=False, redact=REDACTED)
    with Memory(":memory:", embedder=None, settings=settings) as memory:
        yield memory


def everything(memory: Memory) -> str:
    return "\n".join(
        str(version.to_dict()) for record in memory.list(limit=1000) for version in memory.history(record.id)
    )


def test_off_by_default():
    with Memory(":memory:", embedder=None) as memory:
        receipt = memory.add(CARD)
        assert (memory.get(receipt.id).text, receipt.redacted) == (CARD, {})


def test_it_is_applied_on_every_way_in(memory: Memory):
    nested: dict[str, Any] = {"contact": {"mails": [MAIL, 7, None]}, "ok": True}
    receipt = memory.add(f"pay by {CARD}", id="x", data=nested, metadata={"from": MAIL})
    assert receipt.redacted == {"card": 1, "email": 2}
    record = memory.get("x")
    assert record.text == "pay by [redacted: card]"
    assert record.data == {"contact": {"mails": ["[redacted: email]", 7, None]}, "ok": True}
    assert record.metadata == {"from": "[redacted: email]"}
    assert memory.search("pay by card")[0].id == "x"
    assert memory.update("x", text=f"mail {MAIL}", metadata={"key": KEY}).redacted == {"email": 1, "key": 1}
    assert memory.update("x", pinned=True).redacted == {}
    assert memory.add_many([MAIL, {"text": CARD}, "fine"] * 3).redacted == {"email": 3, "card": 3}
    with memory.batch() as batch:
        batch.add(MAIL, id="y")
        batch.update("y", text=f"{KEY} {CARD}")
    assert batch.receipt is not None
    assert batch.receipt.redacted == {"key": 1, "card": 1}
    chat = memory.scope(user="alice", room="r")
    said = chat.messages.add("user", f"I live in Lisbon, mail {MAIL}", external_id=("chat-7", 4111111111111111)).wait()
    assert said.redacted == {"email": 1}
    assert chat.messages.get(("chat-7", 4111111111111111)).content == "I live in Lisbon, mail [redacted: email]"
    assert chat.messages.add_pair(MAIL, CARD).redacted == {"email": 1, "card": 1}
    assert chat.actions.add("mail", parameters={"to": MAIL}, result=CARD).redacted["email"] >= 1
    assert chat.goals.add(f"write to {MAIL}").redacted["email"] >= 1
    kept = chat.facts.add("alice", "email", MAIL)
    assert kept.redacted == {"email": 1}
    assert chat.facts.get(kept.id).object == "redacted: email"
    moved = chat.facts.update(kept.id, object="ana@example.org", valid_from=datetime(2026, 1, 1, tzinfo=UTC))
    assert moved.redacted == {"email": 1}
    text = f"Write to {MAIL} or pay by {CARD}. " * 200
    document = chat.documents.add(text=text, title=f"Card {CARD}", tags=["bank"])
    assert document.redacted == {"email": 200, "card": 201}
    assert chat.documents.text(document.ids[0]) == "Write to [redacted: email] or pay by [redacted: card]. " * 200
    assert chat.documents.get(document.ids[0]).title == "Card [redacted: card]"
    stored = everything(memory)
    for secret in (CARD, MAIL, KEY, "ana@example.org"):
        assert secret not in stored


def test_what_ties_records_together_stays(memory: Memory):
    first = memory.messages.add("assistant", "calling", tool_calls=[{"id": "call-1", "name": "x", "arguments": MAIL}])
    memory.messages.add("tool", "done", tool_call_id="call-1", reply_to=first.id)
    assert [message.content for message in memory.messages.replies(first.id)] == ["done"]
    assert MAIL not in everything(memory)


def test_a_redacted_key_is_no_reason_to_hold_back(memory: Memory):
    assert memory.messages.add("tool", f"the key is {KEY}").quarantined == {}
    with Memory(":memory:", embedder=None) as other:
        assert "secrets" in next(iter(other.messages.add("tool", f"the key is {KEY}").quarantined.values()))
