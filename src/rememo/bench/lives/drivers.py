"""Drivers: processes in the environments that hold the packages of others, spoken with line by line in JSON."""

import json
import os
import subprocess
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final

from rememo.errors import MissingExtra, Unavailable

_HERE: Final = Path(__file__).parent
_PYTHONS: Final = {"mem0": Path(".peers/mem0/bin/python"), "langgraph": Path(".frameworks/main/bin/python")}
"""By door: the interpreter that has its package, where the sources' own tools installed it."""
_ADVICE: Final = {
    "mem0": (
        "mem0's client is needed in an environment of its own: `python tools/peers.py` of the sources makes .peers/mem0, or"
        " `python -m venv DIR && DIR/bin/pip install mem0ai==2.2.1` and --mem0-python DIR/bin/python"
    ),
    "langgraph": (
        "LangGraph is needed in an environment of its own: `python tools/frameworks.py install` of the sources makes"
        ' .frameworks/main, or `python -m venv DIR && DIR/bin/pip install "rememo[langgraph]"` and'
        " --langgraph-python DIR/bin/python"
    ),
}
_NOT_INSTALLED: Final = ("ModuleNotFoundError", "ImportError", "MissingExtra")
_PATIENCE: Final = 30.0
_OURS: Final = frozenset({"PYTHONPATH", "MEM0_API_KEY", "MEM0_BASE_URL"})
"""What of this process's environment would change theirs."""


class Driver:
    """A process that answers each line with a line."""

    def __init__(
        self, process: "subprocess.Popen[str]", stdin: IO[str], stdout: IO[str], errors: Path, advice: str
    ) -> None:
        self._process, self._stdin, self._stdout, self._errors, self._advice = process, stdin, stdout, errors, advice

    def send(self, sent: Mapping[str, Any]) -> Any:
        """Send something and return the answer; raise `MissingExtra` where the package is not in the environment."""
        line = ""
        with suppress(BrokenPipeError):  # it has ended, and said why
            self._stdin.write(json.dumps(sent) + "\n")
            self._stdin.flush()
            line = self._stdout.readline()
        if line:
            return json.loads(line)
        self._process.wait(_PATIENCE)
        error = self._errors.read_text(encoding="utf-8", errors="replace").strip()
        last = error.splitlines()[-1] if error else "it ended without a word"
        if any(name in last for name in _NOT_INSTALLED):
            raise MissingExtra(f"{last}; {self._advice}")
        raise Unavailable(f"the process that asks failed: {last}")


@contextmanager
def run_driver(door: str, python: Path | None = None) -> Generator[Driver]:
    """Run the driver of a door until the block ends, with an interpreter that has its package."""
    chosen = python or _PYTHONS[door]
    if not chosen.exists():
        raise MissingExtra(f"there is no {chosen}; {_ADVICE[door]}")
    with tempfile.TemporaryDirectory() as folder:
        environment = {
            **{
                name: value
                for name, value in os.environ.items()
                if name not in _OURS and not name.lower().endswith("_proxy")
            },
            "HOME": folder, "MEM0_TELEMETRY": "false", "MEM0_DIR": folder,
        }  # fmt: skip
        errors = Path(folder) / "errors.txt"
        with errors.open("w") as file:
            process = subprocess.Popen(  # noqa: S603 - an interpreter that was named
                [str(chosen), str(_HERE / f"{door}_driver.py")], env=environment, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file,
            )  # fmt: skip
        if process.stdin is None or process.stdout is None:
            raise Unavailable(f"the process for {door} has no pipes")
        try:
            yield Driver(process, process.stdin, process.stdout, errors, _ADVICE[door])
        finally:
            process.terminate()
            process.wait(_PATIENCE)
            process.stdout.close()
            with suppress(BrokenPipeError):
                process.stdin.close()
