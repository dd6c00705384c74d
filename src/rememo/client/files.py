"""Files of the client: downloads of exports, and uploads of imports."""

import json
from pathlib import Path
from typing import Final

from rememo.client.transport import Transport
from rememo.errors import InvalidInput, RememoError
from rememo.files import new_file, open_new_bytes
from rememo.keep.export import Transferred
from rememo.serve.serializer import decode

_NDJSON: Final = "application/x-ndjson"
_TAIL_BYTES: Final = 65_536


def export(transport: Transport, path: str | Path, *, plain: bool) -> Transferred:
    """Write everything in a scope to a new file, and return what it holds."""
    target = download(transport, "/export", path, "the export", [("plain", "true")] if plain else [])
    with target.open("rb") as file:
        file.seek(max(0, target.stat().st_size - _TAIL_BYTES))
        return Transferred(**json.loads(file.read().splitlines()[-1])["end"])


def import_(transport: Transport, path: str | Path) -> Transferred:
    """Upload an export to a server."""
    source = Path(path)
    try:
        with source.open("rb") as file:
            response = transport.send("POST", "/import", content=file, kind=_NDJSON)
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from None
    except RememoError as error:
        message = str(error)
        raise type(error)(
            message.replace("the export", str(source), 1) if "the export" in message else f"{source}: {message}"
        ) from None
    return decode(Transferred, response.content)


def download(
    transport: Transport, address: str, path: str | Path, what: str, query: list[tuple[str, str]] | None = None
) -> Path:
    """Write a streamed response to a new file; an incomplete one is removed."""
    with (
        new_file(path, what) as part,
        transport.stream(address, query) as response,
        open_new_bytes(part) as file,
    ):
        for block in response.iter_bytes():
            file.write(block)
    return Path(path)
