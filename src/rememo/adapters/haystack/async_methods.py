"""The asynchronous methods of a document store: each runs its synchronous method on a thread."""

from abc import abstractmethod
from typing import Any

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from rememo.adapters.haystack.metadata import MetadataQueries
from rememo.adapters.threads import run_in_thread


class AsyncDocumentMethods(MetadataQueries):
    """Asynchronous methods: `x_async` runs `x` on a thread."""

    @abstractmethod
    def count_documents(self) -> int:
        """Run synchronously."""

    @abstractmethod
    def write_documents(self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE) -> int:
        """Run synchronously."""

    @abstractmethod
    def delete_documents(self, document_ids: list[str]) -> None:
        """Run synchronously."""

    @abstractmethod
    def delete_all_documents(self) -> int:
        """Run synchronously."""

    @abstractmethod
    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Run synchronously."""

    @abstractmethod
    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Run synchronously."""

    async def count_documents_async(self) -> int:
        """Do as `count_documents` does."""
        return await run_in_thread(self.count_documents)

    async def filter_documents_async(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """Do as `filter_documents` does."""
        return await run_in_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Do as `write_documents` does."""
        return await run_in_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """Do as `delete_documents` does."""
        await run_in_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self) -> int:
        """Do as `delete_all_documents` does."""
        return await run_in_thread(self.delete_all_documents)

    async def delete_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Do as `delete_by_filter` does."""
        return await run_in_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Do as `update_by_filter` does."""
        return await run_in_thread(self.update_by_filter, filters, meta)

    async def count_documents_by_filter_async(self, filters: dict[str, Any]) -> int:
        """Do as `count_documents_by_filter` does."""
        return await run_in_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: dict[str, Any], metadata_fields: list[str]
    ) -> dict[str, int]:
        """Do as `count_unique_metadata_by_filter` does."""
        return await run_in_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """Do as `get_metadata_fields_info` does."""
        return await run_in_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """Do as `get_metadata_field_min_max` does."""
        return await run_in_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: dict[str, Any] | None = None,
    ) -> tuple[list[Any], int]:
        """Do as `get_metadata_field_unique_values` does."""
        return await run_in_thread(
            self.get_metadata_field_unique_values, metadata_field, search_term, from_, size, filters
        )
