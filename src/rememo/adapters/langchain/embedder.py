"""A LangChain embedding model as the embedder of a memory."""

from collections.abc import Sequence

from langchain_core.embeddings import Embeddings

from rememo.recall.embed.protocol import Vector, embed_present, unit_vectors


class LangChainEmbedder:
    """What `Memory(embedder=…)` takes, made of any LangChain `Embeddings`.

    `name` identifies the vectors: those of another name are never compared with these. It is made of the class and its
    `model` unless given. Without a `dimension` the model is asked once.
    """

    def __init__(self, embeddings: Embeddings, *, name: str | None = None, dimension: int | None = None) -> None:
        self.embeddings = embeddings
        self.dimension = dimension or len(embeddings.embed_query("dimension"))
        kind = type(embeddings)
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        identity = f"langchain:{kind.__module__}.{kind.__qualname__}"
        self.name = name or (f"{identity}:{model}" if isinstance(model, str) else identity)

    def embed(self, texts: Sequence[str]) -> list[Vector | None]:
        """Return one unit-length vector for each text, in order; None for a blank one."""
        return embed_present(texts, self.embeddings.embed_documents, self)

    def embed_question(self, text: str) -> Vector | None:
        """Return the vector to search with; None for a blank text."""
        if not text.strip():
            return None
        return unit_vectors([self.embeddings.embed_query(text)], name=self.name, dimension=self.dimension)[0]
