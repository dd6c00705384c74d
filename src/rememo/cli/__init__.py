"""The command line: `rememo`, one file a group of commands."""

import atexit
import gc
import os
import sys
from typing import Final

_LONG_RUNNING: Final = frozenset({"serve", "worker", "bench", "import", "copy", "reembed"})
_OBJECTS_BETWEEN_COLLECTIONS: Final = 100_000


def main() -> None:
    """Run the command line, loading no more than the command that is called."""
    if sys.argv[1:2] == ["help"]:
        sys.argv[1:] = [*sys.argv[2:], "--help"]
    words = sys.argv[1:]
    if words[:1] == ["mcp"]:
        # MCP clients wait for the handshake.
        from rememo.cli.mcp import run_alone

        return run_alone()
    if words in (["--version"], ["-V"]):
        from rememo._version import __version__

        return print(__version__)
    from rememo.cli.groups import COMMANDS, OVERVIEW, make_cli, make_overview, run

    if not words and "_REMEMO_COMPLETE" not in os.environ:
        return print(OVERVIEW, end="")
    if "_REMEMO_COMPLETE" in os.environ:
        return run(make_cli())
    name = next((word for word in words if not word.startswith("-")), "")
    if name not in _LONG_RUNNING:
        # Numpy starts a thread for each core when it is imported, which takes longer than what most commands do with it.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        # Modules are not garbage: to look for some in them, while they load and at the end, took a third of the time.
        gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
        atexit.register(gc.freeze)
    command = COMMANDS.get(name)
    return run(make_overview() if command is None else make_cli([command.module]))
