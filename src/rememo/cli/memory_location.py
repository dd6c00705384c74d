"""How commands open a memory: its location, and the master key from the environment."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rememo.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from rememo.keep.keyring import Keyring
    from rememo.memory import Memory

FROM_ENVIRONMENT: Final = "-"
_URL: Final = "REMEMO_URL"
_DEFAULT: Final = "rememo.db"
_PASSWORD: Final = re.compile(r"(://[^:/@?#]*):[^@]*@|((?:password|sslpassword)=)[^&]*", re.IGNORECASE)


def load_keyring() -> "Keyring | None":
    """Return the keyring of the environment variable `REMEMO_MASTER_KEY`, None where it is not set."""
    from rememo.keep.keyring import VARIABLE, Keyring

    return Keyring.from_environment() if os.environ.get(VARIABLE) else None


def resolve_location(file: str) -> str:
    """Return the location of a memory; `-` stands for `REMEMO_URL`, so that a password is not visible in process lists."""
    if file != FROM_ENVIRONMENT:
        return file
    if url := os.environ.get(_URL):
        return url
    raise InvalidInput(f"- stands for the address in {_URL}, and that is not set; set it, or give a file")


def default_location() -> str:
    """Return the default location of a memory."""
    return os.environ.get(_URL) or _DEFAULT


def default_argument() -> str:
    """Return what stands for the default location as an argument: `-` for `REMEMO_URL`, which is never printed."""
    return FROM_ENVIRONMENT if os.environ.get(_URL) else _DEFAULT


def without_password(file: str) -> str:
    """Return a location for printing, without its password."""
    return _PASSWORD.sub(lambda match: f"{match[1] or match[2]}{'@' if match[1] else '***'}", resolve_location(file))


def existing_location(file: str) -> str:
    """Return the location of a memory; raises `NotFound` for a missing file."""
    from rememo.engine.opening import file_of
    from rememo.store.sqlite.connection import MEMORY

    where = resolve_location(file)
    path = file_of(where)
    # A mistyped name must not look like an empty memory.
    if path and path != MEMORY and not Path(path).exists():
        advice = "name one before the other arguments, set REMEMO_URL" if file == _DEFAULT else "check its name"
        raise NotFound(f"there is no file {path}; {advice}, or make it with `rememo add`")
    return where


def open_memory(file: str, *, make: bool = False, **arguments: Any) -> "Memory":
    """Open a memory; a missing file is created only with `make`."""
    from rememo.memory import Memory

    return Memory(resolve_location(file) if make else existing_location(file), encryption=load_keyring(), **arguments)
