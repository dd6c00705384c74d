"""The pooler that the tests put before PostgreSQL: Debian's pgbouncer, installed when it is missing."""

import os
import shutil
import subprocess
import sys

from rememo.errors import StorageError
from rememo.testing.pgbouncer import find_pgbouncer


def pgbouncer() -> str:
    """Return the program; where there is none, install it, which needs Debian or its like, and root or sudo."""
    try:
        return find_pgbouncer()
    except StorageError as error:
        allowed: tuple[str, ...] | None = () if os.geteuid() == 0 else ("sudo", "-n") if shutil.which("sudo") else None
        if shutil.which("apt-get") is None or allowed is None:
            sys.exit(str(error))
    quiet = ("env", "DEBIAN_FRONTEND=noninteractive", "apt-get")
    for command in (("update", "-qq"), ("install", "-y", "-qq", "--no-install-recommends", "pgbouncer")):
        subprocess.run([*allowed, *quiet, *command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - constants
    return find_pgbouncer()


if __name__ == "__main__":
    pgbouncer()
