"""The whole command line application, with every command loaded: for tests and the reference."""

from rememo.cli.groups import make_cli, run

cli = make_cli()


def app() -> None:
    """Run a command of it."""
    run(cli)
