"""LangChain on a memory."""

from rememo.adapters.needs import needs

try:
    import langchain_core
except ImportError as error:
    raise needs("LangChain", "langchain", error) from None

from rememo.adapters.langchain.embedder import LangChainEmbedder

del langchain_core  # only to see that it is there

__all__ = ["LangChainEmbedder"]
