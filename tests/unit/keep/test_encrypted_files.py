"""Nothing of what was said can be read in the files of an encrypted memory, nor in its logs; those with the key lose nothing."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from rememo import Keyring, Memory, Settings
from rememo.engine.view import view_of
from rememo.errors import KeyMismatch, RememoError
from rememo.model.record import Record
from rememo.testing import ManualClock

from .corpus import messages, remember

KEY, OTHER = bytes(range(32)), bytes(range(1, 33))
FAST = Settings(durability="fast")
SECRETS = ("the safe opens with 4711", "bernardo@example.org", "a note that is longer than others " * 400)


def live(memory: Memory) -> list[str]:
    """Do everything that leaves traces; return every sentence and name that must not be found."""
    remember(memory, 120)
    chat = memory.scope(user="user-1", agent="helper", room="kitchen")
    chat.messages.add("user", "I live in Ljubljana and my sister Filomena plays the saxophone.").wait()
    memory.update("m3", text=SECRETS[0], metadata={"said by": SECRETS[1]})
    memory.delete("m4")
    memory.add(SECRETS[2], data={"wordy": SECRETS[2]}, key="once only for Filomena")
    memory.kv.set(f"by:{SECRETS[1]}", {"told": SECRETS[0]})
    memory.kv.set("large", SECRETS[2])
    memory.profiles.update(SECRETS[1], {"told": SECRETS[0]})
    working = chat.working
    working.think("Filomena must not hear of it", step="THINK")
    working.context.set("plan", {"told": SECRETS[0]})
    with working.tool("post", {"to": SECRETS[1]}) as call:
        call.result = SECRETS[0]
    memory.search("Who plays the saxophone in Ljubljana?")
    texts = [message["text"] for message in messages(120)]
    return [
        *texts,
        *SECRETS,
        "Filomena",
        "telegram of Bernardo",
        "Bernardo",
        "Ljubljana",
        "wistful",
        "saxophon",
        "ljubljana",
    ]


def assert_hidden(content: bytes, secrets: list[str]) -> None:
    # Terms are indexed in lower case. Long ones are compressed: then no part of theirs may be found either.
    forms = {secret[:60] for secret in secrets} | {secret.lower()[:60] for secret in secrets}
    assert [form for form in sorted(forms) if form.encode() in content] == []


@pytest.mark.requirement("encrypt.content", "security.encrypt")
def test_nothing_said_can_be_read_in_file_log_backup_export_or_logs(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG), Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        secrets = live(memory)
        memory.backup(tmp_path / "backup.db")
        memory.export(tmp_path / "export.jsonl")
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        for name in ("a.db", "a.db-wal", "backup.db", "export.jsonl"):
            assert_hidden((tmp_path / name).read_bytes(), secrets)
        assert memory.verify().ok
    assert_hidden((tmp_path / "a.db").read_bytes(), secrets)
    assert_hidden(caplog.text.encode(), secrets)


def test_the_same_can_be_read_without_encryption(tmp_path: Path):
    """Else the test above would show nothing."""
    with Memory(tmp_path / "a.db", settings=FAST.but(compress_above=0)) as memory:
        secrets = live(memory)
        content = (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
    missing = [secret for secret in secrets if secret[:60].encode() not in content]
    assert missing == []


@pytest.mark.requirement("encrypt.content")
def test_vectors_are_not_stored_as_they_are(tmp_path: Path):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("the saxophone is in the attic", id="a")
        stored = next(view_of(memory).engine.store.dump(memory.bound))  # what a store gives
        assert stored.vector is not None
        held = (tmp_path / "a.db").read_bytes() + (tmp_path / "a.db-wal").read_bytes()
        assert stored.vector.tobytes() not in held


def test_a_backup_opens_with_the_key(tmp_path: Path):
    with Memory(tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST) as memory:
        memory.add("worth keeping")
        memory.backup(tmp_path / "backup.db")
    with Memory(tmp_path / "backup.db", encryption=Keyring(KEY)) as memory:
        assert memory.search("keeping")[0].text == "worth keeping"
        assert memory.verify().ok
    with pytest.raises(KeyMismatch):
        Memory(tmp_path / "backup.db", encryption=Keyring(OTHER))


# ---- exports


def state(memory: Memory) -> tuple[list[Record], Any, Any]:
    return (
        [stored.record for stored in view_of(memory).engine.store.dump(memory.bound)],
        memory.kv.keys(),
        memory.snapshots(),
    )


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """An encrypted file with an export of each kind beside it."""
    with Memory(
        tmp_path / "a.db", encryption=Keyring(KEY), settings=FAST.but(learn=False), clock=ManualClock()
    ) as memory:
        memory.add("the first thing", id="a", metadata={"n": 1})
        memory.update("a", text="the first thing, corrected")
        memory.add(SECRETS[2], id="b")
        memory.kv.set("key", "value")
        memory.snapshot("then")
        memory.export(tmp_path / "sealed.jsonl")
        memory.export(tmp_path / "plain.jsonl", plain=True)
    return tmp_path / "a.db"


@pytest.mark.parametrize("name", ["sealed.jsonl", "plain.jsonl"])
def test_an_export_comes_back_without_a_loss(filled: Path, tmp_path: Path, name: str):
    with (
        Memory(filled, encryption=Keyring(KEY)) as source,
        Memory(tmp_path / "new.db", encryption=Keyring(OTHER, KEY), settings=FAST) as target,
    ):
        assert target.import_(tmp_path / name).versions == 3
        assert target.import_(tmp_path / name).versions == 0
        assert state(target) == state(source)
        assert target.verify().ok


def test_a_plain_export_leads_out_of_encryption(filled: Path, tmp_path: Path):
    with Memory(filled, encryption=Keyring(KEY)) as source, Memory(tmp_path / "new.db", settings=FAST) as target:
        target.import_(tmp_path / "plain.jsonl")
        assert state(target) == state(source)


def test_a_sealed_export_needs_its_key(filled: Path, tmp_path: Path):
    with Memory(tmp_path / "plain.db", settings=FAST) as memory, pytest.raises(KeyMismatch, match="encrypted export"):
        memory.import_(tmp_path / "sealed.jsonl")
    with (
        Memory(tmp_path / "other.db", encryption=Keyring(OTHER), settings=FAST) as memory,
        pytest.raises(KeyMismatch, match=Keyring(KEY).current),
    ):
        memory.import_(tmp_path / "sealed.jsonl")


def test_lines_of_a_sealed_export_cannot_be_changed_moved_or_left_out(filled: Path, tmp_path: Path):
    lines = (tmp_path / "sealed.jsonl").read_text().splitlines()
    assert [set(json.loads(line)) for line in lines[1:-1]] == [{"sealed"}] * (len(lines) - 2)
    for wrong in (
        [lines[0], lines[2], lines[1], *lines[3:]],
        [lines[0], *lines[2:]],
        [*lines[:2], *lines[3:-2], lines[-1]],
        [lines[0].replace('"key":"', '"key":"A'), *lines[1:]],
        [*lines[:-1], json.dumps(json.loads(lines[-1]) | {"proof": None})],
    ):
        (tmp_path / "wrong.jsonl").write_text("\n".join(wrong) + "\n")
        with (
            Memory(":memory:", encryption=Keyring(KEY), settings=FAST) as memory,
            pytest.raises(RememoError),
        ):
            memory.import_(tmp_path / "wrong.jsonl")


def test_a_file_that_others_have_sealed_since_takes_nothing_readable(tmp_path: Path):
    file = tmp_path / "a.db"
    with (
        Memory(file, embedder=None) as plain,
        Memory(file, embedder=None, encryption=Keyring(Keyring.new_key())) as sealed,
    ):
        with pytest.raises(KeyMismatch, match="another process has encrypted it since"):
            plain.add("elephant")
        with pytest.raises(KeyMismatch):
            plain.kv.set("animal", "elephant")
        sealed.add("tiger")
        assert [record.text for record in sealed.list()] == ["tiger"]
    assert b"elephant" not in file.read_bytes()
