"""How commands open a memory: with the master key of the environment, where there is one."""

import os
from typing import Any

from rememo.keep.encrypt import VARIABLE, Keyring
from rememo.memory import Memory


def keyring() -> Keyring | None:
    """Return the keyring of the environment variable `REMEMO_MASTER_KEY`, None where it is not set."""
    return Keyring.from_environment() if os.environ.get(VARIABLE) else None


def open_memory(file: str, **arguments: Any) -> Memory:
    """Open a file."""
    return Memory(file, encryption=keyring(), **arguments)
