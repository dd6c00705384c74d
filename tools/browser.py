"""The browser that the dashboard's tests look through: Debian's chromium, installed when it is missing."""

import os
import shutil
import subprocess
import sys

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def browser() -> str:
    """Return the browser's program; where there is none, install it, which needs root and Debian."""
    found = _found()
    if found is None:
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            sys.exit("the dashboard's tests need chromium: install it (`apt-get install chromium` on Debian)")
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for command in (["update", "-qq"], ["install", "-y", "-qq", "--no-install-recommends", "chromium"]):
            subprocess.run(["apt-get", *command], check=True, env=quiet, stdout=subprocess.DEVNULL)  # noqa: S603, S607 - constants
        found = _found()
    if found is None:
        sys.exit("chromium was installed and cannot be found")
    return found


def _found() -> str | None:
    return next((path for name in _NAMES if (path := shutil.which(name)) is not None), None)


if __name__ == "__main__":
    browser()
