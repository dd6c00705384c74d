"""LangChain on a memory: chat histories, a vector store, a document index, a retriever, key-value stores and a cache of models' answers."""

from rememo.adapters.missing_framework import missing_framework

try:
    import langchain_core
except ImportError as error:
    raise missing_framework("LangChain", "langchain", error) from None

from rememo.adapters.langchain.document_index import RememoDocumentIndex
from rememo.adapters.langchain.embedder import LangChainEmbedder
from rememo.adapters.langchain.history import RememoChatMessageHistory
from rememo.adapters.langchain.key_values import RememoByteStore, RememoCache, RememoValueStore
from rememo.adapters.langchain.retriever import RememoRetriever
from rememo.adapters.langchain.vector_store import RememoVectorStore

del langchain_core  # only to see that it is there

__all__ = [
    "LangChainEmbedder",
    "RememoByteStore",
    "RememoCache",
    "RememoChatMessageHistory",
    "RememoDocumentIndex",
    "RememoRetriever",
    "RememoValueStore",
    "RememoVectorStore",
]
