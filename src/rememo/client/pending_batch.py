"""Gathering: the writes of a batch wait here, and are made by one request when its block ends."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rememo.client.request_encoding import adapt_arguments, select_arguments
from rememo.errors import Forbidden, InvalidInput, NotFound
from rememo.model.ids import new_id
from rememo.model.receipt import Receipt
from rememo.model.scope import LABELS
from rememo.serve.rest.operations import BATCHED
from rememo.serve.rest.registry import operation_specs

if TYPE_CHECKING:
    from rememo.client.transport import Transport


@dataclass(slots=True)
class PendingBatch:
    """Writes in the order they were asked for."""

    open: bool = True
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """As the server takes them."""
    made: set[str] = field(default_factory=set[str])
    """The ids of records that the batch makes."""

    def take(self, transport: "Transport", call: str, given: Mapping[str, Any]) -> Receipt | bool | None:
        """Let a write wait; None for a call that only reads and does not wait. What can do neither is refused."""
        known = operation_specs()[call]
        if call not in BATCHED:
            if known.operation.right == "read":
                return None
            raise InvalidInput(f"{call}() cannot be part of a batch; call it before or after the batch")
        if given.get("key") is not None:
            raise InvalidInput("a key names a whole batch: give it to batch(key=…), not to a write inside")
        arguments = select_arguments(known, adapt_arguments(call, self._named(call, given), transport.scope))
        if call == "update":
            self._note_version(transport, arguments)
        labels = {name: value for name in LABELS if (value := getattr(transport.scope, name)) is not None}
        self.steps.append({"call": call, "arguments": arguments, "scope": labels, "pool": transport.pool})
        if call == "working.context.delete":
            return True
        ids = [one["id"] for one in arguments["items"]] if call == "add_many" else [arguments.get("id")]
        if call == "add_many" or call.rpartition(".")[2] == "add":
            self.made.update(one for one in ids if one is not None)
        return Receipt(ids=tuple(one for one in ids if one is not None), status="pending")

    def _named(self, call: str, given: Mapping[str, Any]) -> dict[str, Any]:
        """Name what the batch makes now, so that later writes in it can speak of it."""
        found = dict(given)
        if call == "add_many" and not isinstance(given["items"], str | Mapping):
            listed: list[Any] = list(given["items"])
            items: list[dict[str, Any]] = [{**one} if isinstance(one, Mapping) else {"text": one} for one in listed]
            found["items"] = [{**one, "id": new_id() if one.get("id") is None else one["id"]} for one in items]
        elif call.endswith("add") and "id" in given and given["id"] is None and given.get("external_id") is None:
            found["id"] = new_id()
        return found

    def _note_version(self, transport: "Transport", arguments: dict[str, Any]) -> None:
        """Let a change be of the version that is there now: one that somebody makes before the end is not overwritten."""
        if "expected_version" in arguments:
            return
        try:
            record = transport.ask("get", {"id": arguments["id"]})
        except NotFound:
            if arguments["id"] not in self.made:
                raise
        except Forbidden:  # a key that may only write cannot look
            return
        else:
            arguments["expected_version"] = record.version
