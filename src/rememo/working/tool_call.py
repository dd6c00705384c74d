"""Tool calls: the use of a tool while it lasts, and how it is remembered when it ends."""

import logging
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from rememo.collections.actions import Actions
from rememo.engine.view import View
from rememo.errors import InvalidInput, RememoError
from rememo.model.check import check_json, check_label, check_object, dump_json
from rememo.model.receipt import Receipt

_MOST_ERROR = 1_000
"""Characters of an error that are kept."""
_ROOM = 8_192
"""Bytes of a record's data that the error, the time and the tool's name may need."""

_log = logging.getLogger("rememo.working")


class ToolCall:
    """What a tool was given, and what comes of it: set `result`, or say `fail(reason)`."""

    def __init__(self, view: View, tool: str, parameters: Mapping[str, Any] | None) -> None:
        if parameters is not None and not isinstance(parameters, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"parameters must be a mapping, not {type(parameters).__name__}")
        self._settings = view.engine.settings
        self._result: Any = None
        self.tool = check_label(tool, "tool")
        self.parameters: dict[str, Any] = self._checked("parameters", parameters or {}, {})
        """A copy of what it was given."""
        self.error: str | None = None
        """What went wrong; None when it went well."""
        self.duration: float | None = None
        """How long it took, in seconds, once it has ended."""
        self.receipt: Receipt | None = None
        """Of the action, once it has ended and is remembered."""

    @property
    def result(self) -> Any:
        """What it gave back; any JSON value. One that cannot be kept raises `InvalidInput` when it is set."""
        return self._result

    @result.setter
    def result(self, value: Any) -> None:
        self._result = self._checked("result", value, self.parameters)

    @property
    def success(self) -> bool:
        """Whether nothing went wrong (so far)."""
        return self.error is None

    def fail(self, reason: str) -> None:
        """Record that the tool failed, without an exception."""
        if not isinstance(reason, str) or not reason.strip():  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"the reason of a failure must be text, not {reason!r}")
        self.error = _storable(reason)

    def _checked(self, name: str, value: object, other_fields: dict[str, Any]) -> Any:
        settings = self._settings
        most = max(settings.max_data_bytes - _ROOM, settings.max_data_bytes // 2)
        checked = check_json(value, name, max_bytes=most, depth=settings.max_depth - 1)
        size = len(dump_json([other_fields, checked]).encode())
        if size > most:
            raise InvalidInput(f"parameters and result are {size:,} bytes of JSON, more than the {most:,} allowed here")
        return checked


@contextmanager
def record_tool_call(
    view: View, tool: str, parameters: Mapping[str, Any] | None, metadata: Mapping[str, Any] | None
) -> Generator[ToolCall]:
    """Remember a tool's use when the block ends, however it ends."""
    view.need_present()
    call = ToolCall(view, tool, parameters)
    settings = view.engine.settings
    checked_metadata = check_object(
        metadata, "metadata", max_bytes=settings.max_metadata_bytes, max_depth=settings.max_depth
    )
    started, begun = view.engine.now(), time.perf_counter()

    def end() -> None:
        call.duration = time.perf_counter() - begun
        call.receipt = Actions(view).add(
            call.tool,
            parameters=call.parameters,
            result=call.result,
            duration=call.duration,
            error=call.error,
            at=started,
            metadata=checked_metadata,
        )

    try:
        yield call
    except BaseException as error:
        call.error = _describe_error(error)
        try:
            end()
        except RememoError as second:
            # What the tool raised matters more than that it could not be stored; both are reported.
            _log.warning("the failed call of %s could not be remembered: %s", tool, second)
            error.add_note(f"this call of {tool!r} could not be remembered: {second}")
        raise
    end()


def _describe_error(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception:  # noqa: BLE001 - an exception may fail at telling what it is
        message = ""
    return _storable(f"{type(error).__name__}: {message}" if message else type(error).__name__)


def _storable(text: str) -> str:
    """Return a text that can be stored, whatever a tool has put into it."""
    text = text.replace("\x00", "�").encode("utf-8", "replace").decode()
    return text if len(text) <= _MOST_ERROR else text[: _MOST_ERROR - 1] + "…"
