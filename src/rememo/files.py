"""New files that hold what is remembered: nobody but their owner may read them, from the first moment on."""

import os
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

PRIVATE_MODE: Final = 0o600
"""The mode of new files unless told otherwise: only their owner may read and write them."""
_READ_BITS: Final = 0o444
_OPEN_TO_OTHERS: Final = 0o077


def create_file(path: str | Path, mode: int = PRIVATE_MODE) -> None:
    """Make an empty file with a mode, whatever the umask says. Raises `FileExistsError` if it is there."""
    os.close(_create(path, mode))


def open_new_text(path: str | Path, mode: int = PRIVATE_MODE) -> IO[str]:
    """Open a new text file for writing; a file that was left there by an earlier attempt is removed first."""
    Path(path).unlink(missing_ok=True)
    return os.fdopen(_create(path, mode), "w", encoding="utf-8", newline="\n")


def open_new_bytes(path: str | Path, mode: int = PRIVATE_MODE) -> IO[bytes]:
    """Open a new binary file for writing; a file that was left there by an earlier attempt is removed first."""
    Path(path).unlink(missing_ok=True)
    return os.fdopen(_create(path, mode), "wb")


def make_folders(path: Path, mode: int = PRIVATE_MODE) -> None:
    """Make a folder and those above it where they are missing, as open as files of that mode are."""
    if path.is_dir():
        return
    make_folders(path.parent, mode)
    entered = mode | (mode & _READ_BITS) >> 2
    with suppress(FileExistsError):
        path.mkdir(entered)
        path.chmod(entered)


def is_open_to_others(path: str | Path) -> bool:
    """Whether somebody other than a file's owner may do anything with it; never on systems without such modes."""
    return os.name == "posix" and bool(Path(path).stat().st_mode & _OPEN_TO_OTHERS)


def _create(path: str | Path, mode: int) -> int:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    if os.name == "posix":
        # The umask may have taken away what was asked for.
        os.fchmod(descriptor, mode)
    return descriptor
