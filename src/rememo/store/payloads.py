"""What a job is told, as a store keeps it."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, cast

from rememo.model.check import dump_json
from rememo.store.contents import Contents


def keep_payload(payload: Mapping[str, Any], id: str, contents: Contents) -> str:
    """Return what a job is told as it is to be stored: which version it is about stays readable, the rest is sealed."""
    if not contents.sealed:
        return dump_json(dict(payload))
    open_parts = {name: payload[name] for name in ("record", "version") if name in payload}
    rest = {name: value for name, value in payload.items() if name not in open_parts}
    if rest:
        kept = contents.put(dump_json(rest), "payload", id, 0)
        open_parts["sealed"] = kept if isinstance(kept, str) else b64encode(kept).decode()
    return dump_json(open_parts)


def read_payload(kept: str, id: str, contents: Contents) -> dict[str, Any]:
    """Return what a job was told; what is no JSON object raises `ValueError`."""
    found: object = json.loads(kept)
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - as for what is no JSON at all
    payload = cast("dict[str, Any]", found)
    if contents.sealed and "sealed" in payload:
        payload |= json.loads(contents.get(b64decode(payload.pop("sealed")), "payload", id, 0))
    return payload
