"""Queries about the meta of a document store's documents."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Final

from haystack import Document

from rememo.adapters.threads import in_thread
from rememo.model.check import dump_json

_META: Final = "meta."
_TYPES: Final = {"bool": "boolean", "int": "int", "float": "float"}


class MetadataQueries(ABC):
    """Queries about documents' meta, answered by reading the documents."""

    @abstractmethod
    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Return the documents that match the filters."""

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Return how many documents match the filters."""
        return len(self.filter_documents(filters))

    def count_unique_metadata_by_filter(self, filters: dict[str, Any], metadata_fields: list[str]) -> dict[str, int]:
        """Return how many distinct values each field has in the documents that match the filters."""
        documents = self.filter_documents(filters)
        names = [field.removeprefix(_META) for field in metadata_fields]
        return {name: len(_distinct(_field_values(documents, name))) for name in names}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """Return the fields with their types: `boolean`, `int`, `float` or `keyword`."""
        types: dict[str, dict[str, str]] = {}
        for document in self.filter_documents():
            for name, value in document.meta.items():
                if value is not None:
                    types[name] = {"type": _TYPES.get(type(value).__name__, "keyword")}
        return types

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """Return the smallest and the largest value of a field; None where there is none, or they cannot be compared."""
        values = _field_values(self.filter_documents(), metadata_field.removeprefix(_META))
        plain = [value for value in values if isinstance(value, int | float | str)]
        try:
            return {"min": min(plain, default=None), "max": max(plain, default=None)}
        except TypeError:
            return {"min": None, "max": None}

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Return some of the values of a field, sorted, and how many there are; a term must stand in them."""
        values = _distinct(_field_values(self.filter_documents(filters), metadata_field.removeprefix(_META)))
        if search_term:
            values = [value for value in values if search_term.lower() in str(value).lower()]
        values.sort(key=lambda value: (str(value), type(value).__name__))
        return values[from_ : from_ + size], len(values)

    count_documents_by_filter_async = in_thread(count_documents_by_filter)
    count_unique_metadata_by_filter_async = in_thread(count_unique_metadata_by_filter)
    get_metadata_fields_info_async = in_thread(get_metadata_fields_info)
    get_metadata_field_min_max_async = in_thread(get_metadata_field_min_max)
    get_metadata_field_unique_values_async = in_thread(get_metadata_field_unique_values)


def _field_values(documents: Iterable[Document], name: str) -> list[Any]:
    return [document.meta[name] for document in documents if document.meta.get(name) is not None]


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once; 1, 1.0, "1" and true are four."""
    return list({(type(value).__name__, dump_json(value)): value for value in values}.values())
