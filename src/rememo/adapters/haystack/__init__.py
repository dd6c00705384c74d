"""A document store of Haystack, and what retrieves from it."""

from rememo.adapters.missing_framework import missing_framework

try:
    from rememo.adapters.haystack.retrievers import RememoEmbeddingRetriever as RememoEmbeddingRetriever
    from rememo.adapters.haystack.retrievers import RememoTextRetriever as RememoTextRetriever
    from rememo.adapters.haystack.store import RememoDocumentStore as RememoDocumentStore
except ImportError as error:
    raise missing_framework("Haystack", "haystack", error) from error

__all__ = ["RememoDocumentStore", "RememoEmbeddingRetriever", "RememoTextRetriever"]
