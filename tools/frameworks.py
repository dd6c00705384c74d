"""Tests the adapters beside the frameworks that they are for, as those are published.

Frameworks need hundreds of packages that Rememo has no use for, so they live in environments of their own under
`.frameworks` (or the folder in REMEMO_FRAMEWORKS), made from the pins in `tests/frameworks/<environment>`. CrewAI's
wishes contradict those of the others, so it has an environment to itself.

`python tools/frameworks.py` installs what is not there yet, types the adapters and runs their tests;
`install` only installs; `pin` asks the package index for the newest versions that go together and writes them down.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = Path(os.environ.get("REMEMO_FRAMEWORKS", ROOT / ".frameworks"))
TESTS: Final = ROOT / "tests" / "frameworks"
ENVIRONMENTS: Final = ("main", "crewai")


def tool(name: str) -> str:
    """Return the path of a program of the environment that runs this."""
    return str(Path(sys.executable).parent / name)


def python(environment: str) -> Path:
    """Return the interpreter of an environment."""
    return FOLDER / environment / "bin" / "python"


def install(environment: str) -> None:
    """Make an environment with its frameworks and this project, unless it is there as pinned."""
    home, pins = FOLDER / environment, TESTS / environment / "requirements.txt"
    done, wanted = home / ".installed", pins.read_text() + (ROOT / "pyproject.toml").read_text()
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f".{environment}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        run(tool("uv"), "venv", "--quiet", "--python", sys.executable, str(home))
        packages = ["--requirements", str(pins), "--editable", f"{ROOT}[client,encrypt]"]
        run(tool("uv"), "pip", "install", "--quiet", "--python", str(python(environment)), *packages)
        done.write_text(wanted)


def pin(environment: str) -> None:
    """Write down the newest versions that go together."""
    wishes, pins = TESTS / environment / "requirements.in", TESTS / environment / "requirements.txt"
    lean = ["--no-annotate", "--no-header", "--upgrade", "--no-emit-index-url", "--no-emit-find-links"]
    asked = [str(wishes.relative_to(ROOT)), "--output-file", str(pins.relative_to(ROOT))]
    run(tool("uv"), "pip", "compile", "--quiet", "--python", sys.executable, *lean, *asked)


def check(environment: str) -> bool:
    """Type the adapters of an environment and run their tests; tell whether both hold."""
    typed = run(tool("basedpyright"), "--project", str(TESTS / environment), "--pythonpath", str(python(environment)))
    held = run(str(python(environment)), "-m", "pytest", str(TESTS / environment), *sys.argv[2:])
    return typed and held


def run(*command: str) -> bool:
    """Run a command within the project; one that makes something has to succeed."""
    checking = command[0].endswith("basedpyright") or "pytest" in command
    return subprocess.run(command, cwd=ROOT, check=not checking).returncode == 0  # noqa: S603 - our own commands


def main() -> None:
    """Do what the first argument says, for every environment."""
    order = sys.argv[1] if len(sys.argv) > 1 else "test"
    for environment in ENVIRONMENTS:
        if order == "pin":
            pin(environment)
        else:
            install(environment)
    held = [check(environment) for environment in ENVIRONMENTS] if order == "test" else []
    if not all(held):
        sys.exit("the adapters do not hold beside their frameworks")


if __name__ == "__main__":
    main()
