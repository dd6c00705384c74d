"""Servers that the tests need beside Python's packages: Debian's PgBouncer and its PostgreSQL, an older one than the package has.

They are installed when they are missing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from rememo.errors import StorageError
from rememo.testing.pgbouncer import find_pgbouncer

_OLDEST = 14


def pgbouncer() -> str:
    """Return the program of the pooler."""
    return _found_or_installed(_pgbouncer, "pgbouncer")


def postgres() -> str:
    """Return the folder with the programs of the distribution's PostgreSQL."""
    return _found_or_installed(_postgres, "postgresql")


def _pgbouncer() -> str | None:
    try:
        return find_pgbouncer()
    except StorageError:
        return None


def _postgres() -> str | None:
    """Return the programs of the oldest PostgreSQL that is installed, of those that the store is meant for."""
    versions = (path.parents[1] for path in Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    fitting = sorted(int(path.name) for path in versions if path.name.isdecimal() and int(path.name) >= _OLDEST)
    return f"/usr/lib/postgresql/{fitting[0]}/bin" if fitting else None


def _found_or_installed(find: Callable[[], str | None], package: str) -> str:
    if (place := find()) is not None:
        return place
    allowed: tuple[str, ...] | None = () if os.geteuid() == 0 else ("sudo", "-n") if shutil.which("sudo") else None
    if shutil.which("apt-get") is None or allowed is None:
        sys.exit(f"the tests need {package}: install it (`apt-get install {package}` on Debian)")
    quiet = (*allowed, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    for command in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", package)):
        subprocess.run([*quiet, *command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - constants
    if (place := find()) is None:
        sys.exit(f"{package} was installed and cannot be found")
    return place


if __name__ == "__main__":
    pgbouncer()
    postgres()
