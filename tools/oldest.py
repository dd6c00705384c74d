"""Runs the unit tests on the oldest Python at hand: the system's, in an environment of its own in `.oldest`.

Distributions stay on an early patch release for years, and some of those have faults that newer ones have not. Where
the system's Python is the one that the other tests run on, or too old for Rememo, there is nothing to do.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / ".oldest"
SYSTEM: Final = Path("/usr/bin/python3")
LEAST: Final = (3, 11, 0)


def version(python: Path) -> tuple[int, ...]:
    """Return the version of an interpreter, patch release included."""
    command = [str(python), "-I", "-c", "import sys; print(*sys.version_info[:3])"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - an interpreter
    return tuple(map(int, answer.stdout.split()))


def install() -> Path:
    """Make the environment with this project, unless it is there; returns its interpreter."""
    python, done = FOLDER / "bin" / "python", FOLDER / ".installed"
    wanted = f"{version(SYSTEM)}\n{(ROOT / 'pyproject.toml').read_text(encoding='utf-8')}"
    if not (done.exists() and done.read_text(encoding="utf-8") == wanted):
        shutil.rmtree(FOLDER, ignore_errors=True)
        uv = str(Path(sys.executable).parent / "uv")
        for command in (
            [uv, "venv", "--quiet", "--python", str(SYSTEM), str(FOLDER)],
            [uv, "pip", "install", "--quiet", "--python", str(python), "--editable", f"{ROOT}[all,dev]"],
        ):
            subprocess.run(command, check=True)  # noqa: S603 - our own commands
        done.write_text(wanted, encoding="utf-8")
    return python


def say(line: str) -> None:
    """Write a line where `make` shows it."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Run the tests, or say why there is nothing to run."""
    if not SYSTEM.exists():
        say(f"there is no {SYSTEM}: nothing older to test on")
        return
    installed, own = version(SYSTEM), tuple(sys.version_info[:3])
    version_text = ".".join(map(str, installed))
    if installed < LEAST:
        say(f"{SYSTEM} is {version_text}, which Rememo does not run on: nothing older to test on")
    elif installed == own:
        say(f"{SYSTEM} is {version_text}, on which all tests run: nothing older to test on")
    else:
        say(f"the unit tests on Python {version_text}")
        command = [str(install()), "-m", "pytest", "-n", "3", "tests/unit", *sys.argv[1:]]
        sys.exit(subprocess.run(command, cwd=ROOT, check=False).returncode)  # noqa: S603 - as above


if __name__ == "__main__":
    main()
