"""`rememo worker`: the command."""

from pathlib import Path

import typer
from typer.testing import CliRunner

from rememo import Memory, Settings
from rememo.cli import worker


def test_it_does_what_is_due_and_leaves(tmp_path: Path):
    path = str(tmp_path / "memory.db")
    with Memory(path, settings=Settings(worker=False)) as memory:
        for tenant in ("one", "two"):
            chat = memory.scope(tenant=tenant, user="ana")
            chat.messages.add("user", "I love tea.")
    cli = typer.Typer()
    worker.add_to(cli)
    result = CliRunner().invoke(cli, [path, "--once"])
    assert (result.exit_code, result.output.strip()) == (0, "2 jobs done")
    with Memory(path) as memory:
        assert [fact.object for fact in memory.scope(tenant="two", user="ana").facts.list()] == ["tea"]
