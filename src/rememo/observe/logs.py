"""Logs: a line for every operation, and a JSON formatter."""

import json
import logging
import time
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from rememo.errors import InvalidInput, RememoError
from rememo.observe import observers

_STANDARD_FIELDS: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}

_log = logging.getLogger("rememo.operations")


class OperationLog:
    """Logs every operation until it is stopped."""

    def __init__(self, level: int) -> None:
        self._level = level

    def observe(self, operation: str, tenant: str | None, /) -> AbstractContextManager[object]:
        """Return a context that logs the operation when it ends."""
        return self._telling(operation, tenant)

    def stop(self) -> None:
        """Stop logging."""
        observers.remove_observer(self)

    @contextmanager
    def _telling(self, operation: str, tenant: str | None) -> Generator[None]:
        began, outcome = time.perf_counter(), "ok"
        try:
            yield
        except BaseException as error:
            outcome = error.code if isinstance(error, RememoError) else type(error).__name__
            raise
        finally:
            milliseconds = round((time.perf_counter() - began) * 1e3, 3)
            fields = {"operation": operation, "tenant": tenant, "outcome": outcome, "milliseconds": milliseconds}
            _log.log(self._level, "%s %s in %.1f ms", operation, outcome, milliseconds, extra=fields)


def log(level: int | str = "INFO") -> OperationLog:
    """Log every operation of this process to the logger `rememo.operations`, until `stop()` of the result.

    A line has the operation, its tenant, duration and outcome; never a text. A level that the program has set on the logger
    stays.
    """
    number = logging.getLevelNamesMapping().get(level.upper()) if isinstance(level, str) else level
    if number is None:
        raise InvalidInput(f"there is no log level {level!r}; say DEBUG, INFO, WARNING or ERROR")
    if _log.level == logging.NOTSET and not _log.isEnabledFor(number):
        # Python's default level would drop everything below a warning.
        _log.setLevel(number)
    logging_ = OperationLog(number)
    observers.add_observer(logging_)
    return logging_


class JsonLines(logging.Formatter):
    """Formats a log record as one line of JSON: time, level, logger, message, `extra` fields and exception."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
