"""How tests talk with the processes that they started."""

import json
import subprocess
from typing import Any

Process = subprocess.Popen[str]


def hear(process: Process) -> Any:
    """Return the next value a process says."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, f"the process ended ({process.wait()}) where it should have said something"
    return json.loads(line)


def go(*processes: Process) -> None:
    """Let processes begin together, once all are ready."""
    for process in processes:
        assert hear(process) == "ready"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
