"""What callers without a type checker pass by mistake is a typed error that says what was meant, and changes nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rememo import Memory
from rememo.errors import InvalidInput

GIVEN: dict[str, tuple[Callable[[Any], Any], str]] = {
    "undo of an id": (lambda memory: memory.undo("an-id"), r"undo\(\) takes the receipt of a write, not str"),
    "kind": (lambda memory: memory.list(kind=3), "kind must be a collection such as a list, not int"),
    "ids": (lambda memory: memory.list(ids=3), "ids must be a collection such as a list, not int"),
    "items": (lambda memory: memory.add_many(None), "items must be a collection such as a list, not NoneType"),
    "roles": (lambda memory: memory.messages.history(roles=3), "roles must be a collection such as a list, not int"),
    "images": (
        lambda memory: memory.messages.add("user", "look", images="https://example.org/a.png"),
        "images must be a collection such as a list, not str",
    ),
    "sources": (
        lambda memory: memory.facts.add("I", "like", "tea", sources="an-id"),
        "sources must be a collection such as a list, not str",
    ),
    "include": (
        lambda memory: memory.compose("hello", include=3),
        "include must be a collection such as a list, not int",
    ),
    "dry_run of maintain": (
        lambda memory: memory.maintain(dry_run="false"),
        "dry_run must be True or False, not 'false'",
    ),
    "dry_run of maintain, nothing": (lambda memory: memory.maintain(dry_run=0), "dry_run must be True or False, not 0"),
    "dry_run of erase": (lambda memory: memory.erase(user="kim", dry_run=""), "dry_run must be True or False, not ''"),
    "ids of erase": (lambda memory: memory.erase(ids=True), "ids must be a collection such as a list, not bool"),
    "user of erase": (lambda memory: memory.erase(user=True), "user must be text, not bool"),
    "pinned of delete_where": (
        lambda memory: memory.delete_where(pinned="no"),
        "pinned must be True or False, not 'no'",
    ),
    "keep_pinned": (
        lambda memory: memory.retention.set("old", older_than="1d", keep_pinned="yes"),
        "keep_pinned must be True or False, not 'yes'",
    ),
    "allow_all": (
        lambda memory: memory.retention.set("all", older_than=0, allow_all="no"),
        "allow_all must be True or False, not 'no'",
    ),
    "restart": (
        lambda memory: memory.flow("feeding", steps=["buy"]).start("kim", restart="no"),
        "restart must be True or False, not 'no'",
    ),
    "clear of a session": (
        lambda memory: memory.sessions.run("monday", clear="no").__enter__(),
        "clear must be True or False, not 'no'",
    ),
    "reencrypt": (lambda memory: memory.rotate_keys(reencrypt="no"), "reencrypt must be True or False, not 'no'"),
    "tenant of drop_key": (lambda memory: memory.drop_key(tenant=True), "tenant must be text, not bool"),
    "plain": (lambda memory: memory.export("never-made.jsonl", plain="no"), "plain must be True or False, not 'no'"),
    "learn": (lambda memory: memory.messages.add("user", "hello", learn="no"), "learn must be True or False, not 'no'"),
    "keep_ttl": (lambda memory: memory.kv.set("key", 1, keep_ttl="no"), "keep_ttl must be True or False, not 'no'"),
    "current_only": (
        lambda memory: memory.facts.list(current_only="no"),
        "current_only must be True or False, not 'no'",
    ),
    "sliding": (lambda memory: memory.kv.set("key", 1, ttl=9, sliding="no"), "sliding must be True or False, not 'no'"),
    "rollback": (lambda memory: memory.rollback(True), "snapshot must be text, not bool"),
    "path": (lambda memory: memory.documents.add(path=3), "path must be the path of a file, not int"),
}


@pytest.mark.parametrize("given", GIVEN)
def test_what_cannot_be_meant_is_told_by_its_name(given: str):
    call, says = GIVEN[given]
    with Memory(":memory:", embedder=None) as memory:
        with pytest.raises(InvalidInput, match=says):
            call(memory)
        assert memory.count() == 0


@pytest.mark.parametrize("url", [None, 3, b"a.db", []])
def test_a_memory_without_an_address_makes_no_file_of_that_name(
    url: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match="the address of a memory must be text or a path"):
        Memory(url)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:8765", "https://memory.example"])
def test_the_address_of_a_server_is_told_whose_it_is(url: str):
    with pytest.raises(InvalidInput, match=r"rememo\.Client"):
        Memory(url)


@pytest.mark.parametrize("given", [{"settings": {}}, {"settings": {"learn": False}}, {"embedder": object()}])
def test_a_memory_is_opened_by_settings_and_an_embedder(given: dict[str, Any]):
    with pytest.raises(InvalidInput, match=r"settings must be Settings|an embedder must have a name"):
        Memory(":memory:", **given)
