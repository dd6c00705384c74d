"""Message: one turn of a conversation, read from its record."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rememo.model.record_wrapper import RecordWrapper


@dataclass(frozen=True, slots=True)
class Message(RecordWrapper):
    """What was said, by whom and when."""

    @property
    def role(self) -> str:
        """`user`, `assistant`, `system`, `tool`, or another that the settings allow."""
        return str(self.record.data.get("role", "user"))

    @property
    def content(self) -> str:
        """What was said; empty where there are only tool calls or images."""
        return self.record.text

    @property
    def user(self) -> str | None:
        """The user it belongs to: in a group room, its author."""
        return self.record.scope.user

    @property
    def name(self) -> str | None:
        """The author's (first) name."""
        return self.record.data.get("name")

    @property
    def username(self) -> str | None:
        """The author's name on the platform."""
        return self.record.data.get("username")

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The calls that an assistant makes."""
        return self.record.data.get("tool_calls", [])

    @property
    def tool_call_id(self) -> str | None:
        """The call that a tool's message answers."""
        return self.record.data.get("tool_call_id")

    @property
    def images(self) -> list[str]:
        """The addresses or data URLs of its images."""
        return self.record.data.get("images", [])

    @property
    def external_id(self) -> tuple[str, str] | None:
        """The platform's ids of the chat and of the message."""
        stored = self.record.data.get("external_id")
        return None if stored is None else (stored[0], stored[1])

    @property
    def reply_to(self) -> str | None:
        """The id of the message that it answers."""
        return self.record.data.get("reply_to")

    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's own fields."""
        return self.record.metadata

    @property
    def at(self) -> datetime:
        """When it was said: the platform's time, else when it was stored."""
        return self.record.at

    @property
    def stored_at(self) -> datetime:
        """When it was stored."""
        return self.record.created_at
