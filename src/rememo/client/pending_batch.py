"""Pending batches: the writes of a batch are collected, and sent by one request when its block ends."""

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
    """The collected writes, in the order of their calls."""

    open: bool = True
    steps: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The operations as the server takes them."""
    created_ids: set[str] = field(default_factory=set[str])
    """The ids of records that the batch creates."""

    def add(self, transport: "Transport", call: str, arguments: Mapping[str, Any]) -> Receipt | bool | None:
        """Add a write; None for a call that only reads. Raises `InvalidInput` for calls that cannot be batched."""
        spec = operation_specs()[call]
        if call not in BATCHED:
            if spec.operation.right == "read":
                return None
            raise InvalidInput(f"{call}() cannot be part of a batch; call it before or after the batch")
        if arguments.get("key") is not None:
            raise InvalidInput("a key names a whole batch: give it to batch(key=…), not to a write inside")
        selected = select_arguments(spec, adapt_arguments(call, self._assign_ids(call, arguments), transport.scope))
        if call == "update":
            self._note_version(transport, selected)
        labels = {name: value for name in LABELS if (value := getattr(transport.scope, name)) is not None}
        self.steps.append({"call": call, "arguments": selected, "scope": labels, "pool": transport.pool})
        if call == "working.context.delete":
            return True
        ids = [item["id"] for item in selected["items"]] if call == "add_many" else [selected.get("id")]
        if call == "add_many" or call.rpartition(".")[2] == "add":
            self.created_ids.update(id for id in ids if id is not None)
        return Receipt(ids=tuple(id for id in ids if id is not None), status="pending")

    def _assign_ids(self, call: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Assign ids to new records, so that later writes of the batch can refer to them."""
        arguments = dict(arguments)
        if call == "add_many" and not isinstance(arguments["items"], str | Mapping):
            listed: list[Any] = list(arguments["items"])
            items: list[dict[str, Any]] = [{**item} if isinstance(item, Mapping) else {"text": item} for item in listed]
            arguments["items"] = [{**item, "id": new_id() if item.get("id") is None else item["id"]} for item in items]
        elif (
            call.endswith("add")
            and "id" in arguments
            and arguments["id"] is None
            and arguments.get("external_id") is None
        ):
            arguments["id"] = new_id()
        return arguments

    def _note_version(self, transport: "Transport", arguments: dict[str, Any]) -> None:
        """Set the expected version to the present one, so that a concurrent change is not overwritten."""
        if "expected_version" in arguments:
            return
        try:
            record = transport.ask("get", {"id": arguments["id"]})
        except NotFound:
            if arguments["id"] not in self.created_ids:
                raise
        except Forbidden:  # a key that may only write cannot look
            return
        else:
            arguments["expected_version"] = record.version
