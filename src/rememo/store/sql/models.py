"""Embedding models of an SQL store: the one in use, and one that is built beside it until it takes over."""

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from rememo.errors import EmbeddingMismatch, ModelChanged
from rememo.store.embedding_models import ModelInUse, Unvectored
from rememo.store.sql.part import C, D, SqlPart
from rememo.store.sql.session import SqlSession

_CURRENT = "SELECT model, name, dimension FROM models WHERE current"
_FIND = "SELECT model, current FROM models WHERE name = ? AND dimension = ?"
_BEGUN = "SELECT name, dimension FROM models WHERE model = ?"
_NUMBER = "SELECT coalesce(max(model), 0) + 1 FROM models"
_ADD = "INSERT INTO models (model, name, dimension, current) VALUES (?, ?, ?, ?)"
_REPLACE = "DELETE FROM models WHERE model = ? OR (name, dimension) = (?, ?)"
_OTHERS = "SELECT model FROM models WHERE NOT current"
_SWAP = "UPDATE models SET current = (model = ?)"
_STEP = 1_000


class SqlModels(SqlPart[D, C]):
    """The part of the `EmbeddingModels` protocol that stores no vectors."""

    @abstractmethod
    def _lock_models(self, session: Any) -> None:
        """Let those who change models do so one after another."""

    @abstractmethod
    def _lock_writers(self, session: Any) -> None:
        """Wait for those who write, and keep others from beginning."""

    @abstractmethod
    def _has_vectors_of(self, session: Any, model: int) -> bool:
        """Return whether there is any vector by a model."""

    @abstractmethod
    def _drop_model(self, session: Any, model: int) -> None:
        """Remove a model that was begun and given up, with its vectors."""

    @abstractmethod
    def _is_complete(self, session: Any, model: int) -> bool:
        """Return whether every version has its vector by a model."""

    @abstractmethod
    def _bump_every_epoch(self, session: Any) -> None:
        """Let the cached scopes of all tenants start over."""

    @abstractmethod
    def _drop_vectors(self, session: Any, current: int, limit: int) -> int:
        """Remove vectors of other models than one, at most so many; return how many were removed."""

    @abstractmethod
    def _forget_models(self, session: Any) -> None:
        """Remove the models that are not in use; they have no vectors any more."""

    @abstractmethod
    def _without_vector(self, tenant: str, model: int) -> tuple[str, list[Any]]:
        """Return the query for id, version and text of a tenant's versions without a vector by a model."""

    def use_model(self, name: str, dimension: int) -> int:
        """Bind the store to an embedding model and return its number; a store with vectors of another one is refused."""

        def use(session: SqlSession) -> int:
            self._lock_models(session)
            row = session.row(_CURRENT)
            number: int = session.value(_NUMBER)
            if row is None:
                session.execute(_ADD, (number, name, dimension, True))
                return number
            model, current_name, current_dimension = row
            if (current_name, current_dimension) == (name, dimension):
                return model
            if self._has_vectors_of(session, model):
                raise EmbeddingMismatch(
                    f"{self.place} holds vectors of {current_name} ({current_dimension} numbers), but this memory was"
                    f" opened with {name} ({dimension}); open it with {current_name} (embedder=…, or the setting of that"
                    " name), or change the model with `rememo reembed` or memory.reembed()"
                )
            # Under a number of its own: a process that still has the other one must not write under this.
            session.execute(_REPLACE, (model, name, dimension))
            session.execute(_ADD, (number, name, dimension, True))
            return number

        row = self._database.row(_FIND, (name, dimension))
        return row[0] if row is not None and row[1] else self._database.write(use, repeatable=True)

    def model(self) -> ModelInUse | None:
        """Return the store's embedding model, or None when it has none yet."""
        row = self._database.row(_CURRENT)
        return None if row is None else ModelInUse(row[1], row[2], row[0])

    def unvectored(self, tenant: str) -> Iterator[Unvectored]:
        """Give the versions of a tenant that have no vector by the model in use, in order of arrival."""
        codec = self._codecs.readable(tenant)
        if codec is None:
            return
        field = self.dialect.payload_field
        jobs = (
            f"SELECT {field('record')}, {field('version')} FROM jobs"
            " WHERE tenant = ? AND task = 'embed' AND state IN ('waiting', 'running')"
        )
        with self._database.snapshot() as session:
            model = model_in_use(session)
            if model is None:
                return
            rows = session.rows(jobs, (tenant,))
            owed = {(str(id), int(version)) for id, version in rows if version is not None}
            for id, version, *text in session.stream(*self._without_vector(tenant, model), _STEP):
                yield Unvectored(id, version, codec.decode_text_columns(text, id, version), (id, version) in owed)

    def begin_model(self, name: str, dimension: int) -> int:
        """Return the number of a model to be built beside the one in use; one that was begun before goes on."""

        def begin(session: SqlSession) -> int:
            self._lock_models(session)
            row = session.row(_FIND, (name, dimension))
            if row is not None:
                return row[0]
            number: int = session.value(_NUMBER)
            # Another one that was begun and given up makes room.
            for (other,) in session.rows(_OTHERS):
                self._drop_model(session, other)
            session.execute(_ADD, (number, name, dimension, False))
            return number

        number = self._database.write(begin, repeatable=True)
        self._begun[number] = (name, dimension)
        return number

    def has_vectors(self) -> bool:
        """Return whether there is any vector by the model in use."""
        with self._database.snapshot() as session:
            model = model_in_use(session)
            return model is not None and self._has_vectors_of(session, model)

    def _need_begun(self, session: SqlSession, model: int) -> None:
        """Refuse to go on with a model that another process has thrown away to build its own."""
        row = session.row(_BEGUN, (model,))
        if row is None or tuple(row) != self._begun.get(model):
            raise ModelChanged(
                f"another process changes the embedding model of {self.place} too and has thrown away what was begun"
                " here; run it again when that one is done"
            )

    def swap_model(self, model: int) -> bool:
        """Put a model into use if every version has its vector by it; False when some came in meanwhile."""

        def swap(session: SqlSession) -> bool:
            self._lock_writers(session)
            self._lock_models(session)
            self._need_begun(session, model)
            if not self._is_complete(session, model):
                return False
            session.execute(_SWAP, (model,))
            self._bump_every_epoch(session)
            return True

        return self._database.write(swap, repeatable=True)

    def drop_models(self, limit: int) -> int:
        """Remove vectors of models that are not in use, at most so many; returns how many were removed."""

        def drop(session: SqlSession) -> int:
            self._lock_models(session)
            removed = self._drop_vectors(session, model_in_use(session) or 0, limit)
            if removed < limit:
                self._forget_models(session)
            return removed

        return self._database.write(drop, repeatable=True)


def model_in_use(session: SqlSession) -> int | None:
    """Return the number of the model whose vectors are searched."""
    return session.value(_CURRENT)


def need_model(session: SqlSession, model: int, place: str) -> None:
    """Refuse vectors of a model that is not in use; raises `ModelChanged`."""
    if model_in_use(session) != model:
        raise ModelChanged(f"{place} has another embedding model in use by now; these vectors were not stored")
