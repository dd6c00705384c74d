"""Recent messages: a conversation on a Redis server alone, as long as it is warm."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from rememo.collections.message import Message
from rememo.collections.turn import Image, check_roles, check_turn, model_input, turn_data
from rememo.engine.redis_state import require_redis_driver
from rememo.errors import AlreadyExists, InvalidInput, NotFound
from rememo.model.check import check_label, check_limit, check_object, check_offset, dump_json
from rememo.model.ids import new_id
from rememo.model.record import Record
from rememo.model.scope import DEFAULT_TENANT, Scope
from rememo.model.times import Clock, now, to_utc
from rememo.runtime.closing import Closing
from rememo.safety.redaction import redact_fields
from rememo.settings import Settings

_MOST_MESSAGES = 10_000
_MOST_HOURS = 24 * 3_660
_WITHOUT = "recent messages cannot be read or written until it is back"


class RecentMessages(Closing):
    """The latest messages of one room on a Redis server, with no store beside: for conversations that may be forgotten.

    The room holds at most `max_messages` and is gone `ttl_hours` after its last message. When one comes too many, the
    oldest leave: system messages only when nothing else is left, a tool call together with its results, never what has
    just come. They are in the order they came. Nothing is learned from them, searched or versioned. Thread-safe, and
    shared by all processes that name the same server, prefix, tenant and room; use it as a context manager, or call
    `close()`.
    """

    def __init__(
        self,
        url: str,
        *,
        room: str,
        tenant: str = DEFAULT_TENANT,
        max_messages: int = 1_000,
        ttl_hours: float = 24.0,
        settings: Settings | None = None,
        clock: Clock = now,
    ) -> None:
        """Open a room on the server at `redis://…`; one that cannot be reached raises `Unavailable`.

        `settings` (roles, sizes, what is redacted) come from the environment and `rememo.toml` unless given. `clock`
        tells the time, for tests.
        """
        self._scope = Scope().narrow(tenant=tenant, room=check_label(room, "room"))
        most = check_limit(max_messages, "max_messages", maximum=_MOST_MESSAGES)
        if isinstance(ttl_hours, bool) or not isinstance(ttl_hours, int | float) or not 0 < ttl_hours <= _MOST_HOURS:  # pyright: ignore[reportUnnecessaryIsInstance] - callers may be untyped
            raise InvalidInput(f"ttl_hours must be a number above 0 and at most {_MOST_HOURS:,}, not {ttl_hours!r}")
        self._settings = settings or Settings.load()
        self._clock = clock
        require_redis_driver()
        # Only now: those who have no server need not have the driver.
        from rememo.store.redis.address import parse_address  # noqa: PLC0415
        from rememo.store.redis.client import RedisClient  # noqa: PLC0415
        from rememo.store.redis.rooms import RedisRoom  # noqa: PLC0415

        self._server = RedisClient(parse_address(url), name="recent messages", without=_WITHOUT)
        self._room = RedisRoom(self._server, tenant, room, most=most, seconds=ttl_hours * 3_600)

    # ---- writing

    def add(
        self,
        role: str,
        content: str,
        *,
        id: str | None = None,
        user: str | None = None,
        name: str | None = None,
        username: str | None = None,
        tool_calls: Sequence[Mapping[str, Any]] | None = None,
        tool_call_id: str | None = None,
        images: Sequence[Image] | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Message:
        """Remember a turn and return it; an id that is in the room already raises `AlreadyExists`.

        `user` is its author in a group, `at` the platform's time. The content may be empty only beside tool calls or
        images.
        """
        data = turn_data(
            name=name, username=username, tool_calls=tool_calls, tool_call_id=tool_call_id, images=images
        )  # fmt: skip
        return self._add([self._record(role, content, data, id=id, user=user, metadata=metadata, at=at)])[0]

    def add_pair(
        self, user: str, assistant: str, *, name: str | None = None, metadata: Mapping[str, Any] | None = None
    ) -> tuple[Message, Message]:
        """Remember what a user said and the answer to it, both or neither."""
        question = self._record("user", user, turn_data(name=name), metadata=metadata)
        answer = self._record("assistant", assistant, turn_data(reply_to=question.id), metadata=metadata)
        first, second = self._add([question, answer])
        return first, second

    def clear(self) -> int:
        """Remove every message of the room; returns how many."""
        return self._room.clear(self._now())

    # ---- reading

    def history(self, limit: int = 20, offset: int = 0, *, roles: str | Iterable[str] | None = None) -> list[Message]:
        """Return the latest `limit` messages, oldest first; `offset` passes over the newest."""
        most, passed = check_limit(limit), check_offset(offset)
        checked_roles = check_roles(roles, self._settings)
        if checked_roles is None:
            return [self._message(text) for text in self._room.read(-passed - most, -passed - 1, self._now())]
        messages = [self._message(text) for text in self._room.read(0, -1, self._now())]
        chosen = [message for message in messages if message.role in checked_roles]
        return chosen[max(len(chosen) - passed - most, 0) : max(len(chosen) - passed, 0)]

    def latest(self, n: int = 1) -> list[Message]:
        """Return the last `n` messages, oldest first."""
        return self.history(n)

    def get(self, id: str) -> Message:
        """Return a message by its id; one that is not there, or not any more, raises `NotFound`."""
        text = self._room.get(check_label(id, "id"), self._now())
        if text is None:
            raise NotFound(f"there is no message {id!r} in room {self._scope.room!r}; it may have left by now")
        return self._message(text)

    def count(self) -> int:
        """Return how many messages there are."""
        return self._room.count(self._now())

    def for_model(
        self, *, system: str | None = None, user: str | None = None, image: Image | None = None, limit: int = 20
    ) -> list[dict[str, Any]]:
        """Return a model's input in the OpenAI chat shape: a system prompt, the latest `limit` messages, the current one.

        `image` (bytes, a path, an address or a data URL) goes with the current message. Nothing is stored. What a model
        would refuse (a result without its call, an old call without its result) is left out.
        """
        turns = ((message.role, message.content, message.record.data) for message in self.history(limit))
        return model_input(turns, self._settings, system=system, user=user, image=image)

    def close(self) -> None:
        """Close the connection to the server; closing twice is harmless."""
        self._server.close()

    # ---- inside

    def _now(self) -> datetime:
        return to_utc(self._clock(), "the clock's time")

    def _record(
        self,
        role: str,
        content: str,
        data: dict[str, Any],
        *,
        id: str | None = None,
        user: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        at: datetime | None = None,
    ) -> Record:
        settings, received_at = self._settings, self._now()
        check_turn(role, content, data, settings)
        depth = settings.max_depth
        fields: dict[str, Any] = {
            "text": content,
            "data": check_object({**data, "role": role}, "data", max_bytes=settings.max_data_bytes, max_depth=depth),
            "metadata": check_object(
                metadata or {}, "metadata", max_bytes=settings.max_metadata_bytes, max_depth=depth
            ),
        }  # fmt: skip
        if settings.redact:
            fields = redact_fields(fields, settings.redact)
        return Record(
            id=new_id() if id is None else check_label(id, "id"),
            version=1,
            kind="message",
            text=fields["text"],
            data=fields["data"],
            metadata=fields["metadata"],
            scope=self._scope.narrow(user=user),
            created_at=received_at,
            recorded_at=received_at,
            occurred_at=None if at is None else to_utc(at, "at"),
        )

    def _add(self, records: Sequence[Record]) -> list[Message]:
        duplicate = self._room.add([(record.id, _to_json(record)) for record in records], self._now())
        if duplicate is not None:
            raise AlreadyExists(f"message {duplicate!r} is in room {self._scope.room!r} already; nothing was added")
        return [Message(record) for record in records]

    def _message(self, text: str) -> Message:
        stored: dict[str, Any] = json.loads(text)
        stored_at = to_utc(stored["stored_at"], "stored_at")
        return Message(
            Record(
                id=stored["id"],
                version=1,
                kind="message",
                text=stored["text"],
                data=stored["data"],
                metadata=stored["metadata"],
                scope=self._scope.narrow(user=stored["user"]),
                created_at=stored_at,
                recorded_at=stored_at,
                occurred_at=None if stored["at"] is None else to_utc(stored["at"], "at"),
            )
        )


def _to_json(record: Record) -> str:
    return dump_json(
        {
            "id": record.id,
            "text": record.text,
            "data": record.data,
            "metadata": record.metadata,
            "user": record.scope.user,
            "at": None if record.occurred_at is None else record.occurred_at.isoformat(),
            "stored_at": record.created_at.isoformat(),
        }
    )
