"""Change stream over HTTP: server-sent events, with reconnects."""

import json
import time
from collections.abc import Generator, Iterable
from datetime import datetime
from typing import Final

from rememo.client.transport import Transport
from rememo.errors import Unavailable
from rememo.model.change_event import ChangeEvent, parse_cursor
from rememo.serve.http_errors import error_from_response
from rememo.serve.serializer import decode

_FIRST_WAIT: Final = 0.5
_LONGEST_WAIT: Final = 15.0


def stream_changes(transport: Transport, after: datetime | str | None) -> Generator[ChangeEvent]:
    """Yield changes from now on, or after a cursor or time; raises `Unavailable` when the first connection fails."""
    parse_cursor(after)
    begin = after.isoformat() if isinstance(after, datetime) else after
    # Connect before the first change is requested: from now on means from this call on.
    lines = _open_stream(transport, begin)
    cursor, _, _ = next(lines)
    return _changes(transport, lines, cursor)


def _changes(transport: Transport, lines: Generator[tuple[str, str, str]], cursor: str) -> Generator[ChangeEvent]:
    wait = _FIRST_WAIT
    while True:
        try:
            for id, name, data in lines:
                cursor = id or cursor
                wait = _FIRST_WAIT
                if name == "changed":
                    yield decode(ChangeEvent, data)
                elif name == "error":
                    raise error_from_response(401, json.loads(data))
        except Unavailable:
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
        finally:
            lines.close()
        lines = _open_stream(transport, cursor)


def _open_stream(transport: Transport, after: str | None) -> Generator[tuple[str, str, str]]:
    headers = {"Accept": "text/event-stream", **({} if after is None else {"Last-Event-ID": after})}
    with transport.stream("/changes", headers=headers) as answer:
        yield from parse_events(answer.iter_lines())


def parse_events(lines: Iterable[str]) -> Generator[tuple[str, str, str]]:
    """Parse server-sent events into id, name and data; comments and other fields are ignored."""
    event: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            name, _, value = line.partition(":")
            event[name] = value.removeprefix(" ")
        elif not line and "data" in event:
            yield event.get("id", ""), event.get("event", "message"), event["data"]
            event = {}
