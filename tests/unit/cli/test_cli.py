"""The command line: what it prints, its exit codes, and bad calls."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rememo import Memory, Settings
from rememo.cli.memory_location import without_password


def rememo(*arguments: object, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from rememo.cli import main; main()", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | (environment or {}))


@pytest.mark.requirement("version.undo", "time.valid-known")
def test_the_demo_tells_its_story():
    told = rememo("demo")
    assert told.returncode == 0, told.stderr
    for line in (
        "It remembers",
        "ana lives in Porto",
        "it knew Lisbon",
        "green or blue?",
        "blue tin",
        "there again",
        "sound",
    ):
        assert line in told.stdout


def test_add_search_show_and_history(tmp_path: Path):
    file = tmp_path / "a.db"
    added = rememo("add", file, "The kettle [red] is broken", "--user", "ana")
    assert added.returncode == 0, added.stderr
    found = json.loads(rememo("search", file, "broken kettle", "--json", "--explain").stdout)
    assert [hit["record"]["id"] for hit in found] == [added.stdout.strip()]
    assert found[0]["reasons"]
    assert "[red]" in rememo("search", file, "kettle").stdout
    with Memory(file) as memory:
        memory.update(added.stdout.strip(), text="The kettle is mended")
    assert json.loads(rememo("show", file, added.stdout.strip(), "--json").stdout)["version"] == 2
    assert len(json.loads(rememo("history", file, added.stdout.strip(), "--json").stdout)) == 2


def test_times_need_no_zone_and_names_are_shown_whole(tmp_path: Path):
    file, archive = tmp_path / "a.db", tmp_path / "archive"
    with Memory(file, settings=Settings(archive=str(archive), audit=True, embedder="none")) as memory:
        memory.facts.add("ana", "likes", "tea")
        memory.add("old", occurred_at=datetime(2020, 1, 1, tzinfo=UTC))
        memory.retention.set("old", kind="note", older_than="30d", archive="all")
        (name,) = memory.maintain().runs[0].archives
    for call in (("facts", file, "--valid-at", "2026-05-01"), ("audit", "list", file, "--after", "2026-05-01T10:00")):
        told = rememo(*call)
        assert told.returncode == 0, told.stderr
    wrong = rememo("facts", file, "--valid-at", "in May")
    assert (wrong.returncode, "2026-05-01" in wrong.stderr) == (1, True)
    listed = rememo("archive", "list", file, environment={"REMEMO_ARCHIVE": str(archive), "COLUMNS": "80"})
    assert name in listed.stdout, "as `archive restore` takes it"


@pytest.mark.requirement("integrity.backup", "integrity.validate")
def test_taking_away_and_bringing_back(tmp_path: Path):
    with Memory(tmp_path / "a.db") as memory:
        memory.add("one")
    for call in (
        ("export", tmp_path / "a.db", tmp_path / "a.jsonl"),
        ("import", tmp_path / "b.db", tmp_path / "a.jsonl"),
        ("backup", tmp_path / "a.db", tmp_path / "c.db"),
        ("verify", tmp_path / "b.db"),
        ("repair", tmp_path / "c.db", tmp_path / "d.db"),
        ("maintain", tmp_path / "d.db"),
    ):
        done = rememo(*call)
        assert done.returncode == 0, (call, done.stderr)
    assert json.loads(rememo("stats", tmp_path / "d.db", "--json").stdout)["records"] == 1


@pytest.mark.requirement("audit.trail")
def test_the_audit_trail(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file, settings=Settings(audit=True)) as memory, memory.acting(actor="alice [x]", address="10.0.0.5"):
        memory.scope(user="kim").add("one")
    assert "kim" in rememo("audit", "list", file).stdout
    [entry] = json.loads(rememo("audit", "list", file, "--actor", "alice [x]", "--json").stdout)
    assert (entry["operation"], entry["address"], entry["scope"]["user"]) == ("write", "10.0.0.5", "kim")
    head = rememo("audit", "verify", file).stdout.strip().split("\n")[-1]
    assert rememo("audit", "verify", file, "--head", head).returncode == 0
    assert rememo("audit", "export", file, tmp_path / "a.jsonl").stdout.strip() == "1 lines"
    cut = rememo("audit", "verify", file, "--head", "7" + head)
    assert (cut.returncode, "it was cut" in cut.stderr) == (1, True)
    assert "COUNT:HASH" in rememo("audit", "verify", file, "--head", "last").stderr


@pytest.mark.requirement("erase.proof")
def test_erasing(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file) as memory:
        memory.scope(user="kim").add("the zebrafinch sings all day")
        memory.scope(user="ana").add("the greyhound runs all day")
        memory.backup(tmp_path / "b.db")
    told = rememo("erase", file)
    assert (told.returncode, "given no target" in told.stderr) == (1, True)
    asked = rememo("erase", file, "--user", "kim")
    assert asked.returncode == 1  # nobody said yes
    assert "1 records, 1 versions" in asked.stdout
    told = json.loads(rememo("erase", file, "--user", "kim", "--dry-run", "--json").stdout)
    assert (told["dry_run"], told["counts"]) == (True, {"records": 1, "versions": 1})
    assert "would be removed" in rememo("erase", file, "--user", "kim", "--dry-run").stdout
    told = rememo("erase", file, "--user", "kim", "--yes")
    assert told.returncode == 0, told.stderr
    assert "receipt" in told.stdout
    assert "b.db" in told.stderr.replace("\n", "")
    told = json.loads(rememo("erase", file, "--user", "kim", "--yes", "--json").stdout)
    assert (told["ok"], told["counts"]) == (True, {})
    with Memory(file) as memory:
        assert memory.users() == ["ana"]


@pytest.mark.requirement("erase.proof")
def test_erasing_a_whole_tenant_takes_its_name(tmp_path: Path):
    file = tmp_path / "a.db"
    with Memory(file) as memory:
        memory.add("the greyhound runs all day")
        memory.scope(tenant="acme").add("the zebrafinch sings all day")
    unnamed = rememo("erase", file, "--everything", "--yes")
    assert (unnamed.returncode, "--tenant NAME" in unnamed.stderr) == (1, True)
    done = rememo("erase", file, "--everything", "--tenant", "acme", "--yes")
    assert done.returncode == 0, done.stderr
    with Memory(file) as memory:
        assert (memory.count(), memory.scope(tenant="acme").count()) == (1, 0)


def test_an_error_is_one_line_that_says_what_to_do(tmp_path: Path):
    (tmp_path / "text.db").write_text("not a database at all, but a text that is long enough to be read as one" * 20)
    refused = rememo("stats", tmp_path / "text.db")
    assert refused.returncode == 1
    assert "incompatible_store" in refused.stderr
    assert "Traceback" not in refused.stderr
    Memory(tmp_path / "new.db").close()
    unknown = rememo("show", tmp_path / "new.db", "nobody")
    assert unknown.returncode == 1
    assert "nobody" in unknown.stderr
    assert rememo("search").returncode == 2


@pytest.mark.requirement("encrypt.content")
def test_an_encrypted_file_from_its_first_key_to_its_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file, old, new = (
        tmp_path / "a.db",
        rememo("encryption", "new-key").stdout.strip(),
        rememo("encryption", "new-key").stdout.strip(),
    )
    assert old != new
    monkeypatch.setenv("REMEMO_MASTER_KEY", old)
    assert rememo("add", file, "The kettle is broken").returncode == 0
    monkeypatch.delenv("REMEMO_MASTER_KEY")
    refused = rememo("search", file, "kettle")
    assert (refused.returncode, "key_mismatch" in refused.stderr) == (1, True)
    monkeypatch.setenv("REMEMO_MASTER_KEY", f"{new},{old}")
    rotated = rememo("encryption", "rotate", file)
    assert rotated.returncode == 0, rotated.stderr
    monkeypatch.setenv("REMEMO_MASTER_KEY", new)
    assert "broken" in rememo("search", file, "kettle").stdout
    for call in (
        ("export", file, tmp_path / "sealed.jsonl"),
        ("export", file, tmp_path / "plain.jsonl", "--plain"),
        ("import", tmp_path / "b.db", tmp_path / "sealed.jsonl"),
        ("repair", file, tmp_path / "c.db"),
        ("verify", tmp_path / "c.db"),
    ):
        done = rememo(*call)
        assert done.returncode == 0, done.stderr
    assert "kettle" not in (tmp_path / "sealed.jsonl").read_text()
    assert "kettle" in (tmp_path / "plain.jsonl").read_text()
    for copy in ("b.db", "c.db"):
        assert "broken" in rememo("search", tmp_path / copy, "kettle").stdout
    assert "unreadable" in rememo("encryption", "drop-key", file, "--tenant", "default").stdout
    assert "dropped" in rememo("search", file, "kettle").stderr
    assert "not checked" in rememo("verify", file).stderr
    monkeypatch.setenv("REMEMO_MASTER_KEY", "too short")
    assert "32 bytes" in rememo("verify", file).stderr


def test_a_dash_stands_for_the_address_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("REMEMO_URL", str(tmp_path / "a.db"))
    assert rememo("add", "-", "the ship sails on Friday").returncode == 0
    assert json.loads(rememo("search", "-", "ship", "--json").stdout)[0]["record"]["text"] == "the ship sails on Friday"
    monkeypatch.delenv("REMEMO_URL")
    refused = rememo("stats", "-")
    assert refused.returncode == 1
    assert "REMEMO_URL" in refused.stderr


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("a.db", "a.db"),
        ("postgresql://ana:s3cret@host:5432/db", "postgresql://ana@host:5432/db"),
        ("postgresql://host/db?password=s3cret&sslmode=require", "postgresql://host/db?password=***&sslmode=require"),
        ("redis://:s3cret@host", "redis://@host"),
    ],
)
def test_no_password_is_printed(given: str, told: str):
    assert without_password(given) == told


@pytest.mark.requirement("fact.extract")
def test_what_is_added_teaches_unless_told_otherwise(tmp_path: Path):
    file = tmp_path / "a.db"
    for arguments in (("I moved to Porto",), ("I like tea", "--no-learn"), ("I have a dog", "--kind", "message")):
        added = rememo("add", file, *arguments, "--user", "ana")
        assert added.returncode == 0, added.stderr
    found = json.loads(rememo("facts", file, "--user", "ana", "--json").stdout)
    assert {(fact["subject"], fact["predicate"], fact["object"]) for fact in found} == {
        ("ana", "lives_in", "Porto"),
        ("ana", "has_pet", "dog"),
    }
    assert "states 0" in rememo("add", file, "green tea", "--kind", "fact").stderr
