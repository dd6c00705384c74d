"""The payload of a job, as a store holds it."""

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, cast

from rememo.model.check import dump_json
from rememo.store.cipher.codec import FieldCodec


def encode_payload(payload: Mapping[str, Any], id: str, codec: FieldCodec) -> str:
    """Return a job's payload as it is to be stored: the version that it is about stays readable, the rest is encrypted."""
    if not codec.encrypted:
        return dump_json(dict(payload))
    readable = {name: payload[name] for name in ("record", "version") if name in payload}
    rest = {name: value for name, value in payload.items() if name not in readable}
    if rest:
        encoded = codec.encode(dump_json(rest), "payload", id, 0)
        readable["sealed"] = encoded if isinstance(encoded, str) else b64encode(encoded).decode()
    return dump_json(readable)


def decode_payload(encoded: str, id: str, codec: FieldCodec) -> dict[str, Any]:
    """Return a job's payload; what is no JSON object raises `ValueError`."""
    value: object = json.loads(encoded)
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")  # noqa: TRY004 - as for what is no JSON at all
    payload = cast("dict[str, Any]", value)
    if codec.encrypted and "sealed" in payload:
        payload |= json.loads(codec.decode(b64decode(payload.pop("sealed")), "payload", id, 0))
    return payload
