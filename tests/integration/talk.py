"""How tests talk with the processes that they started."""

import json
import subprocess
import time
from collections.abc import Callable
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


def kill_when(process: "subprocess.Popen[str]", seen: Callable[[], bool]) -> None:
    """Kill a process as soon as something that it did can be seen, or when it has ended by itself."""
    while process.poll() is None and not seen():
        time.sleep(0.001)  # between two looks; else it would take the processor from whom it looks at
    process.kill()
    process.wait()
