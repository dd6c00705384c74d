"""The session service of the Agent Development Kit."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from rememo.adapters.google_adk.events import (
    IN_MEMORY,
    IN_SESSION,
    MARK,
    event_id,
    event_to_json,
    labelled_view,
    read_event,
    record_id,
    store_event,
)
from rememo.adapters.json_values import pack_json, unpack_json
from rememo.adapters.memory_holder import MemoryHolder
from rememo.adapters.missing_framework import missing_framework
from rememo.adapters.paging import list_latest
from rememo.adapters.retries import retry_conflicts
from rememo.adapters.threads import run_in_thread
from rememo.errors import NotFound
from rememo.memory import BatchView, Memory
from rememo.model.record import Record

try:
    from google.adk.errors import StaleSessionError
    from google.adk.errors.already_exists_error import AlreadyExistsError
    from google.adk.errors.session_not_found_error import SessionNotFoundError
    from google.adk.events.event import Event
    from google.adk.platform import time as platform_time
    from google.adk.sessions import BaseSessionService, Session, State
    from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
    from pydantic_core import to_jsonable_python
except ImportError as error:
    raise missing_framework("the Google Agent Development Kit", "google-adk", error) from error

_SESSION, _STATE = {MARK: "session"}, {MARK: "state"}


class RememoSessionService(MemoryHolder, BaseSessionService):
    """Sessions with their events and the state of sessions, users and apps; many processes may share them.

    An event and the state that it changes are stored together or not at all. A session object that is older than what is
    stored raises `StaleSessionError`; an event that is delivered again is stored once.
    """

    def __init__(self, memory: Memory | str | Path = "rememo.db") -> None:
        """Keep sessions in a memory, or in one at a path or address."""
        super().__init__(memory)

    async def create_session(
        self, *, app_name: str, user_id: str, state: dict[str, Any] | None = None, session_id: str | None = None
    ) -> Session:
        """Create a session; an id that is taken raises `AlreadyExistsError`."""
        session_key = (app_name, user_id, (session_id or "").strip() or str(uuid4()))
        return await run_in_thread(retry_conflicts, lambda: self._create(session_key, state or {}), "the session")

    async def get_session(
        self, *, app_name: str, user_id: str, session_id: str, config: GetSessionConfig | None = None
    ) -> Session | None:
        """Return a session with its events, or with those that `config` asks for; None when there is none."""
        return await run_in_thread(self._get, (app_name, user_id, session_id.strip()), config or GetSessionConfig())

    async def list_sessions(self, *, app_name: str, user_id: str | None = None) -> ListSessionsResponse:
        """Return the sessions of a user, or of all users, without events; the one that was active last is the last."""
        return ListSessionsResponse(sessions=await run_in_thread(self._list, app_name, user_id))

    async def delete_session(self, *, app_name: str, user_id: str, session_id: str) -> None:
        """End a session with its events; those that were added to memory can still be recalled."""
        session_key = (app_name, user_id, session_id.strip())
        await run_in_thread(retry_conflicts, lambda: self._delete(session_key), "the session")

    async def get_user_state(self, *, app_name: str, user_id: str) -> dict[str, Any]:
        """Return the state that all sessions of a user share, by keys without their prefix."""
        return await run_in_thread(self._state, app_name, user_id)

    async def append_event(self, session: Session, event: Event) -> Event:
        """Store an event and what it changes, and add it to the session."""
        if event.partial:
            return event
        self._apply_temp_state(session, event)
        event = self._trim_temp_delta_state(event)
        session_key, last_seen = (session.app_name, session.user_id, session.id), session.last_update_time
        if not await run_in_thread(retry_conflicts, lambda: self._append(session_key, last_seen, event), "the session"):
            return event
        session.last_update_time = event.timestamp
        return self._commit_event_to_session(session, event)

    # ---- inside; a place is an app, a user and a session

    def _create(self, session_key: tuple[str, str, str], state: dict[str, Any]) -> Session:
        if self._find("session", *session_key) is not None:
            raise AlreadyExistsError(f"Session with id {session_key[2]} already exists.")
        now = platform_time.get_time()
        with self._memory.batch() as batch:
            view = labelled_view(batch, session_key)
            data = pack_json({"last_update_time": now})
            id = record_id(self._memory, "session", *session_key)
            view.add("", kind="state", id=id, data=data, metadata=_SESSION)
            self._merge(batch, session_key, state)
        return self._session(session_key, now, [])

    def _get(self, session_key: tuple[str, str, str], config: GetSessionConfig) -> Session | None:
        record = self._find("session", *session_key)
        if record is None:
            return None
        room, after = labelled_view(self._memory, session_key), config.after_timestamp
        since = None if after is None else datetime.fromtimestamp(after, UTC)
        events = list_latest(room, config.num_recent_events, metadata={IN_SESSION: True}, after=since)
        return self._session(
            session_key, unpack_json(record.data)["last_update_time"], [read_event(event) for event in events]
        )

    def _list(self, app_name: str, user_id: str | None) -> list[Session]:
        view = self._memory.scope(agent=app_name, user=user_id)
        states = {
            (record.scope.user, record.scope.room): unpack_json(record.data)
            for record in list_latest(view, metadata=_STATE)
        }
        states[None, None] = self._state(app_name)
        sessions: list[Session] = []
        for record in list_latest(view, metadata=_SESSION):
            user, room = str(record.scope.user), str(record.scope.room)
            parts = (states[None, None], states.get((user, None), {}), states.get((user, room), {}))
            time = unpack_json(record.data)["last_update_time"]
            sessions.append(
                Session(app_name=app_name, user_id=user, id=room, state=_join_state(*parts), last_update_time=time)
            )
        return sorted(sessions, key=lambda session: (session.last_update_time, session.user_id, session.id))

    def _delete(self, session_key: tuple[str, str, str]) -> None:
        record = self._find("session", *session_key)
        if record is None:
            return
        with self._memory.batch() as batch:
            batch.delete(record.id, expected_version=record.version)
            if (state := self._find("state", *session_key)) is not None:
                batch.delete(state.id)
            room = labelled_view(self._memory, session_key)
            for event in list_latest(room, metadata={IN_SESSION: True}):
                if event.metadata.get(IN_MEMORY):
                    batch.update(
                        event.id, metadata={**event.metadata, IN_SESSION: False}, expected_version=event.version
                    )
                else:
                    batch.delete(event.id, expected_version=event.version)

    def _append(self, session_key: tuple[str, str, str], last_seen: float, event: Event) -> bool:
        """Store an event; False when it was there already."""
        record = self._find("session", *session_key)
        if record is None:
            raise SessionNotFoundError(f"Session {session_key[2]} not found.")
        id = event_id(self._memory, *session_key, event)
        existing = self._find_id(id)
        if existing is not None and existing.metadata.get(IN_SESSION):
            if unpack_json(existing.data) == event_to_json(event):
                return False
            raise AlreadyExistsError(f"Another event with id {event.id} is in session {session_key[2]} already.")
        if unpack_json(record.data)["last_update_time"] > last_seen:
            raise StaleSessionError(
                f"Session {session_key[2]} was modified in storage since it was read; get it again and repeat what was done."
            )
        with self._memory.batch() as batch:
            batch.update(
                record.id, data=pack_json({"last_update_time": event.timestamp}), expected_version=record.version
            )
            if existing is None:
                store_event(labelled_view(batch, session_key), id, event, {IN_SESSION: True})
            else:
                metadata = {**existing.metadata, IN_SESSION: True}
                batch.update(
                    id, data=pack_json(event_to_json(event)), metadata=metadata, expected_version=existing.version
                )
            self._merge(batch, session_key, event.actions.state_delta)
        return True

    def _merge(self, batch: BatchView, session_key: tuple[str, str, str], delta: dict[str, Any]) -> None:
        """Change the state of the app, the user and the session, where there is something to change."""
        app: dict[str, Any] = {}
        user: dict[str, Any] = {}
        session: dict[str, Any] = {}
        for key, value in to_jsonable_python(delta, serialize_unknown=True).items():
            if key.startswith(State.APP_PREFIX):
                app[key.removeprefix(State.APP_PREFIX)] = value
            elif key.startswith(State.USER_PREFIX):
                user[key.removeprefix(State.USER_PREFIX)] = value
            elif not key.startswith(State.TEMP_PREFIX):
                session[key] = value
        for labels, more in ((session_key[:1], app), (session_key[:2], user), (session_key, session)):
            if not more:
                continue
            record = self._find("state", *labels)
            if record is None:
                view = labelled_view(batch, labels)
                id = record_id(self._memory, "state", *labels)
                view.add("", kind="state", id=id, data=pack_json(more), metadata=_STATE)
            else:
                batch.update(
                    record.id, data=pack_json({**unpack_json(record.data), **more}), expected_version=record.version
                )

    def _session(self, session_key: tuple[str, str, str], time: float, events: list[Event]) -> Session:
        state = _join_state(self._state(*session_key[:1]), self._state(*session_key[:2]), self._state(*session_key))
        app, user, id = session_key
        return Session(app_name=app, user_id=user, id=id, state=state, events=events, last_update_time=time)

    def _state(self, *labels: str) -> dict[str, Any]:
        record = self._find("state", *labels)
        return {} if record is None else unpack_json(record.data)

    def _find(self, *names: str) -> Record | None:
        return self._find_id(record_id(self._memory, *names))

    def _find_id(self, id: str) -> Record | None:
        try:
            return self._memory.get(id)
        except NotFound:
            return None


def _join_state(app: dict[str, Any], user: dict[str, Any], session: dict[str, Any]) -> dict[str, Any]:
    shared = {State.APP_PREFIX + key: value for key, value in app.items()}
    return {**session, **shared, **{State.USER_PREFIX + key: value for key, value in user.items()}}
