"""Importing memories from other systems: read as a stream, and stored once."""

from rememo.imports.sources import SOURCES, import_from
from rememo.imports.writer import ImportReport

__all__ = ["SOURCES", "ImportReport", "import_from"]
