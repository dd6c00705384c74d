"""Where archives are kept: a folder, S3, Google Cloud Storage or Azure, through `obstore`.

Each call is tried a few times, with a growing pause, and then raises `ArchiveError`. What was put is confirmed: read back
and compared. A folder's files are for their owner only and are synced to the disk; `obstore` does neither.
"""

import hashlib
import os
import time
from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit, urlunsplit

from rememo.errors import ArchiveError, InvalidInput, MissingExtra, NotFound
from rememo.files import PRIVATE_MODE, make_folders, open_new_bytes

T = TypeVar("T")

_TRIES = 3
_PAUSE = 0.2
_SCHEMES = ("file", "s3", "gs", "az")


class ArchiveStore:
    """Objects by name at one address."""

    def __init__(
        self, url: str, *, timeout: float, file_mode: int = PRIVATE_MODE, pause: Callable[[float], object] = time.sleep
    ) -> None:
        """Take an address: a folder, `file:///folder`, `s3://bucket/prefix`, `gs://…` or `az://…`.

        Options of the store may follow as a query: `s3://bucket/prefix?endpoint=http://localhost:9000&region=eu-west-1`.
        Credentials come from the environment, as for the store's own tools.
        """
        self.url = url.split("?", 1)[0]
        self._obstore = _obstore()
        self._pause = pause
        self._folder: Path | None = None
        self._file_mode = file_mode
        try:
            self._store = self._open(url, timeout)
        except self._failures as error:
            raise InvalidInput(f"the archive {self.url} cannot be used: {_short(error)}") from None

    def _open(self, url: str, timeout: float) -> Any:
        parts = urlsplit(url)
        if parts.scheme not in _SCHEMES and "://" in url:
            raise InvalidInput(f"an archive is a folder or one of {', '.join(_SCHEMES)}://…, not {self.url!r}")
        if parts.scheme in ("", "file") or "://" not in url:
            self._folder = Path(unquote(parts.path) if parts.scheme == "file" else url).absolute()
            make_folders(self._folder, self._file_mode)
            return self._obstore.store.LocalStore(str(self._folder))
        options: dict[str, Any] = dict(parse_qsl(parts.query))
        client: dict[str, Any] = {"timeout": timedelta(seconds=timeout)}
        if str(options.get("endpoint", "")).startswith("http://"):
            client["allow_http"] = True
        pauses = {"init_backoff": timedelta(seconds=0.1), "max_backoff": timedelta(seconds=2), "base": 2}
        retry = {"max_retries": 2, "backoff": pauses, "retry_timeout": timedelta(seconds=timeout)}
        bare = urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))
        return self._obstore.store.from_url(bare, client_options=client, retry_config=retry, **options)

    @property
    def _failures(self) -> tuple[type[BaseException], ...]:
        return (self._obstore.exceptions.BaseError, OSError, ValueError)

    def put(self, name: str, content: bytes) -> None:
        """Store an object and confirm it: when this returns, the same bytes were read back."""

        def put() -> None:
            if self._folder is None:
                self._obstore.put(self._store, name, content)
            else:
                _write(self._folder, name, content, self._file_mode)
            back = bytes(self._obstore.get(self._store, name).bytes())
            if hashlib.sha256(back).digest() != hashlib.sha256(content).digest():
                raise OSError(f"{len(back)} bytes were read back that are not the {len(content)} written")

        self._tried(f"{name} could not be archived", put)

    def get(self, name: str) -> bytes:
        """Return an object; one that is not there raises `NotFound`."""
        return self._tried(
            f"{name} could not be read", lambda: bytes(self._obstore.get(self._store, name).bytes()), name=name
        )

    def names(self, prefix: str) -> list[str]:
        """Return the names of objects in a folder of the archive, sorted."""

        def names() -> list[str]:
            pages = self._obstore.list(self._store, prefix=prefix)
            return sorted(str(entry["path"]) for page in pages for entry in page)

        return self._tried("it could not be listed", names)

    def _tried(self, failing: str, call: Callable[[], T], name: str = "") -> T:
        reason: BaseException | None = None
        for attempt in range(_TRIES):
            if attempt:
                self._pause(_PAUSE * 4 ** (attempt - 1))
            try:
                return call()
            except FileNotFoundError as error:
                if name:
                    raise NotFound(f"the archive {self.url} has no {name}; archive.list() tells what it has") from None
                reason = error
            except self._failures as error:
                reason = error
        raise ArchiveError(
            f"the archive {self.url}: {failing} in {_TRIES} attempts: {_short(reason)}; nothing was removed, try again later"
        ) from reason


def _obstore() -> ModuleType:
    try:
        for module in ("obstore.exceptions", "obstore.store"):
            import_module(module)
        return import_module("obstore")
    except ImportError as error:
        raise MissingExtra(
            f'archives need the package obstore, which cannot be imported ({error}): pip install "rememo[s3]"'
        ) from error


def _write(folder: Path, name: str, content: bytes, mode: int) -> None:
    """Write a file as `obstore` would, but for its owner only, and synced to the disk."""
    path = folder / name
    make_folders(path.parent, mode)
    # Names that end so are no objects to `obstore`: one that is half written is never listed.
    part = path.with_name(f"{path.name}#{os.getpid()}")
    try:
        with open_new_bytes(part, mode) as file:
            file.write(content)
        part.rename(path)
    finally:
        part.unlink(missing_ok=True)
    _sync(folder, name)


def _sync(folder: Path, name: str) -> None:
    path = folder / name
    for place in (
        path,
        *[folder_above for folder_above in path.parents if folder_above == folder or folder in folder_above.parents],
        folder.parent,
    ):
        descriptor = os.open(place, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _short(error: BaseException | None) -> str:
    """Return the first line of what a store says: what follows is its inside."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
