"""Whatever stands in an address is an answer below 500: every parameter of every route that reads, and every cursor."""

import base64
import json
import re
from collections.abc import Iterator
from urllib.parse import quote

import httpx
import pytest

from rememo import Memory
from rememo.serve.mem0 import ROUTES
from rememo.serve.rest.operations import OPERATIONS
from rememo.serve.rest.signature import OperationSpec

READING = [operation for operation in OPERATIONS if operation.verb == "GET" and operation.method_path != "changes"]
WRONG = [
    "", "-1", "9223372036854775807", "1" * 30, "1e999", "NaN", '{"$gt":5}', "9999-12-31T23:59:59-12:00", "\0", "x" * 6_000
]  # fmt: skip
CURSORS: list[object] = [
    [1e999, None], ["1", None], [1.5, None], [True, None], [-1, None], [2**70, None], [0, "9999-12-31T23:59:59-12:00"],
    [0, 5], [0, {}], [], [0], {}, 5, None, [0, None, 0],
]  # fmt: skip


def _cursor(value: object) -> str:
    # As JSON writers other than Python's do.
    return base64.urlsafe_b64encode(json.dumps(value).replace("Infinity", "1e999").encode()).decode()


def _paged() -> Iterator[str]:
    for operation in READING:
        if OperationSpec(operation).pages:
            yield re.sub(r"\{\w+\}", "some", f"/v1{operation.path}")


@pytest.mark.parametrize("path", sorted(_paged()))
def test_a_cursor_that_was_not_given_here_is_refused(web: httpx.Client, memory: Memory, path: str):
    memory.add("here", id="some")
    for value in CURSORS:
        answer = web.get(path, params={"cursor": _cursor(value)})
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_input"), (value, answer.text)
    assert web.get(path, params={"cursor": "WzFlOTk5LG51bGxd"}).status_code == 400


def test_no_parameter_of_a_reading_route_is_a_fault_of_ours(web: httpx.Client, memory: Memory):
    memory.messages.add("user", "I live in Lisbon.", external_id=("chat", "1")).wait()
    id = memory.messages.latest(1)[0].id
    for operation in READING:
        path = re.sub(r"\{\w+\}", id, f"/v1{operation.path}")
        names = [parameter.name for parameter in OperationSpec(operation).parameters_in("query")]
        for name in (*names, "as_of", "room"):
            for value in WRONG:
                answer = web.get(path, params={name: value})
                assert answer.status_code < 500, (path, name, value, answer.text)
        if "{" in operation.path:
            for value in filter(None, WRONG):
                answer = web.get(re.sub(r"\{\w+\}", quote(value, safe=""), f"/v1{operation.path}"))
                assert answer.status_code < 500, (path, value, answer.text)


def test_no_parameter_of_a_mem0_route_is_a_fault_of_ours(web: httpx.Client, memory: Memory):
    id = memory.add("here").id
    for path in [re.sub(r"\{\w+\}", id, route[1]) for route in ROUTES if route[0] == "GET"]:
        for name in ("user_id", "page", "page_size", "filters", "limit"):
            for value in WRONG:
                answer = web.get(path, params={name: value})
                assert answer.status_code < 500, (path, name, value, answer.text)


@pytest.mark.parametrize("named", [5, "text", {"a": 1}, [5, None], [[]], True])
def test_metadata_under_a_name_of_ours_may_be_anything(web: httpx.Client, memory: Memory, named: object):
    metadata = {"mem0:replaces": named, "app_id": named}
    said = [{"role": "user", "content": "I live in Lisbon."}]
    added = web.post("/v3/memories/add/", json={"messages": said, "user_id": "ana", "metadata": metadata})
    assert added.is_success, added.text
    for result in added.json()["results"]:
        memory.update(result["id"], metadata={**metadata, "more": 1})
        assert web.put(f"/v1/memories/{result['id']}/", json={"text": "ana lives in Porto"}).is_success
    note = memory.scope(user="ana").add("a note", metadata={"mem0:replaces": named}).id
    assert web.put(f"/v1/memories/{note}/", json={"text": "another note"}).is_success
    assert web.delete(f"/v1/memories/{note}/").is_success
