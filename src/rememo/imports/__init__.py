"""Bringing memories in from elsewhere: what other systems wrote down, read as a stream and stored once."""

from rememo.imports.sources import SOURCES, import_from
from rememo.imports.writer import ImportReport

__all__ = ["SOURCES", "ImportReport", "import_from"]
