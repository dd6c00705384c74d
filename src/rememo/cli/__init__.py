"""The command line: `rememo`, one file a group of commands."""

import sys


def main() -> None:
    """Run the command line; exit with an install hint when packages are missing."""
    try:
        if sys.argv[1:2] == ["mcp"]:
            # MCP clients wait for the handshake: the other commands are not loaded.
            from rememo.cli.mcp import run_alone as app  # noqa: PLC0415 - the extra may not be installed
        else:
            from rememo.cli.app import app  # noqa: PLC0415 - the same
    except ModuleNotFoundError as error:
        if error.name not in {"typer", "rich"}:
            raise
        sys.exit('The command line needs two more packages: pip install "rememo[cli]"')
    app()
