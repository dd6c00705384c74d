"""Files: new ones are their owner's alone from the first moment on, and of those that callers name only regular ones are read."""

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

from rememo.errors import AlreadyExists, InvalidInput

PRIVATE_MODE: Final = 0o600
"""The mode of new files unless told otherwise: only their owner may read and write them."""
_READ_BITS: Final = 0o444
_OPEN_TO_OTHERS: Final = 0o077
# Without waiting: opening a pipe would last until somebody writes to it. Windows has neither of the two.
_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
_LONGEST_NAME: Final = 200


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


@contextmanager
def new_file(path: str | Path, what: str) -> Generator[Path]:
    """Lend the path of a part file, which becomes the file when the block ends; an incomplete one is removed.

    A file that is there already raises `AlreadyExists`, one that cannot be written `InvalidInput`; `what` names its content.
    """
    target = Path(path)
    if target.exists():
        raise AlreadyExists(f"{target} already exists; choose another file for {what}")
    part = target.with_name(target.name + ".part")
    try:
        yield part
        part.rename(target)
    except OSError as error:
        raise InvalidInput(f"{what} {target} could not be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


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
        # The umask may have taken bits of the mode away.
        os.fchmod(descriptor, mode)
    return descriptor


def read_regular_file(path: str | os.PathLike[str], field: str, *, max_bytes: int) -> bytes:
    """Return the content of a regular file; `field` is the name of the argument, for errors.

    Devices, pipes, sockets and folders raise `InvalidInput`, unread, and so do a larger file and one that cannot be opened.
    """
    name = str(path)[:_LONGEST_NAME]
    try:
        descriptor = os.open(path, _FLAGS)
        try:
            # Of the descriptor, not of the path: the path may mean another file by now.
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise InvalidInput(f"{field} {name!r} is not a file; give the path of a regular one")
            size, data = status.st_size, b""
            if size <= max_bytes:
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    data = file.read(max_bytes + 1)
                size = len(data)  # it may have grown meanwhile
        finally:
            os.close(descriptor)
    except InvalidInput:
        raise
    except (OSError, ValueError) as error:  # a name with a NUL or a lone surrogate is a ValueError
        reason = error.strerror if isinstance(error, OSError) else error
        raise InvalidInput(f"{field} {name!r} cannot be read: {reason}") from None
    if size > max_bytes:
        raise InvalidInput(f"{field} {name!r} has {size:,} bytes, more than the {max_bytes:,} allowed; make it smaller")
    return data
