"""The bench beside the peers, with the two that need no installing; a real process each, as for all."""

import venv
from pathlib import Path

import pytest

from rememo.bench.peers.run import OURS, Workload, measure
from rememo.bench.peers.table import draw, table
from rememo.bench.peers.wrappers import PEERS
from rememo.errors import InvalidInput

SMALL = Workload(size=40, searches=5, seconds=30, each=5, acknowledged=5)


def test_all_do_the_same_work_and_are_shown_side_by_side(tmp_path: Path):
    data = tmp_path / "data.jsonl"
    data.write_text(
        '{"messages": [{"text": "I moved to Lisbon."}, {"text": "It rains."}],'
        ' "questions": [{"question": "Who moved to Lisbon?", "evidence": [0]}]}\n'
    )
    report = measure(["rememo", "fts5"], SMALL, home=tmp_path / "peers", data=("jsonl", data))
    ours, plain = report["results"]
    for peer in (ours, plain):
        assert peer["adds"]["done"] == peer["bulk"]["done"] == 40
        assert peer["searches"]["done"] == 5
        assert peer["together"]["present"] == peer["together"]["asked_for"] == 20
        assert peer["kill"]["lost"] == 0
        assert peer["kill"]["acknowledged"] >= 5
        assert peer["quality"]["done"] == peer["quality"]["asked"] == 1
    printed = table(report)
    assert "| rememo " in printed
    assert " x)" in printed
    draw(report, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_what_a_peer_said_is_shown():
    result = {"adds": {"said": "OSError: no"}, "peer": "mem0", "version": "1"}
    report = {
        "results": [result], "machine": {"processor": "p", "cores": 2}, "python": "3", "measured_at": "2026-01-01",
        "work": {"size": 1, "seconds": 1},
    }  # fmt: skip
    assert "no [1]" in table(report)
    assert "[1] mem0, add, ms: OSError: no" in table(report)


def test_a_peer_that_is_not_there_is_refused(tmp_path: Path):
    with pytest.raises(InvalidInput, match="no peer nobody"):
        measure(["nobody"], SMALL, home=tmp_path)


def test_the_peers_may_be_installed_in_a_folder_named_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The environment is a real one that holds nothing but the name of its package: the work is tried, and told of."""
    monkeypatch.chdir(tmp_path)
    home = Path("peers") / "langgraph"
    venv.create(home, symlinks=True)
    (packages,) = home.glob("lib/python*/site-packages")
    name, _, number = PEERS["langgraph"].needs[0].partition("==")
    folder = packages / f"{name.replace('-', '_')}-{number}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {number}\n")
    (home / ".installed").write_text("\n".join((*PEERS["langgraph"].needs, *OURS)))
    report = measure(["langgraph"], SMALL, home=Path("peers"))
    (result,) = report["results"]
    assert result["version"] == number
    assert result["adds"] == {"said": "it ended with 1"}
