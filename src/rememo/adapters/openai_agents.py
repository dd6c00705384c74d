"""Sessions of the OpenAI Agents SDK: each item as it was, and what was said found by search and learned from."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rememo.adapters.json_values import pack_json, storable_text, unpack_json
from rememo.adapters.memory_holder import MemoryHolder
from rememo.adapters.messages import add_message_or_state
from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.paging import list_latest
from rememo.adapters.threads import run_in_thread
from rememo.errors import InvalidInput, NotFound, VersionConflict
from rememo.memory import Memory

try:
    from agents import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:
    raise missing_framework("the OpenAI Agents SDK", "openai-agents", error) from error

_MARK = {"openai_agents": "item"}
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system"}
_TEXTS = ("text", "refusal", "transcript")


class RememoSession(MemoryHolder, SessionABC):
    """A session whose items are records of the room that is named as the session is.

    What a user, an assistant or a system prompt says is a message; calls, their results, reasoning and the rest are
    state, which no search finds. Items that are taken away end as records do: the past still has them.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory | str | Path = "rememo.db",
        *,
        user: str | None = None,
        agent: str | None = None,
        session_settings: SessionSettings | dict[str, Any] | None = None,
    ) -> None:
        """Open a session in a memory, a view of one, or a memory at a path or address.

        `user` is whom the agent talks to; items carry that label, and `agent`, where the view has none of its own.
        """
        super().__init__(memory)
        self.session_id = session_id
        self.session_settings = (
            SessionSettings() if session_settings is None else coerce_session_settings(session_settings)
        )
        self._room = self._memory.scope(user=user, agent=agent, room=session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items, oldest first: all, or the latest `limit` (else as the settings say; none for 0 and below)."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        records = await run_in_thread(list_latest, self._room, most, metadata=_MARK)
        return [unpack_json(record.data) for record in records]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, all of them or none."""
        if items:
            await run_in_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the newest item and return it; None when there is none."""
        return await run_in_thread(self._pop)

    async def clear_session(self) -> None:
        """Delete all items of this session."""
        await run_in_thread(self._room.delete_where, metadata=_MARK)

    def _add(self, items: list[TResponseInputItem]) -> None:
        with self._room.batch() as batch:
            for item in items:
                if not isinstance(item, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
                    raise InvalidInput(
                        f"an item must be a mapping, as the SDK's input items are, not {type(item).__name__}"
                    )
                role, text = _message_text(cast("Mapping[str, Any]", item))
                add_message_or_state(batch, role, text, data=pack_json(item), metadata=_MARK)

    def _pop(self) -> TResponseInputItem | None:
        while newest := self._room.list(metadata=_MARK, limit=1):
            try:
                self._room.delete(newest[0].id, expected_version=newest[0].version)
            except (NotFound, VersionConflict):
                continue  # another writer deleted it first
            return unpack_json(newest[0].data)
        return None


def _message_text(item: Mapping[str, Any]) -> tuple[str, str]:
    """Return the role and the text of a message item; empty texts for any other item."""
    if item.get("type", "message") != "message" or item.get("role") not in _ROLES:
        return "", ""
    content: object = item.get("content")
    if isinstance(content, str):
        return _ROLES[item["role"]], storable_text(content)
    texts: list[str] = []
    for part in cast("list[object]", content if isinstance(content, list) else []):
        if isinstance(part, Mapping):
            values = cast("Mapping[str, object]", part)
            texts += (str(values[name]) for name in _TEXTS if values.get(name))
    return _ROLES[item["role"]], storable_text("\n".join(texts))
