"""One shape for every error, and no status that is not declared."""

import inspect
import socket
from itertools import cycle, islice
from typing import Any

import httpx
import pytest

from rememo import Memory, errors
from rememo.serve.app import create_app
from rememo.serve.dashboard.routes import add_routes
from rememo.serve.http_errors import HTTP_CODES, STATUS, error_from_response
from rememo.serve.mem0 import NOT_SUPPORTED
from rememo.serve.mem0 import ROUTES as MEM0_ROUTES
from rememo.serve.rest.openapi import openapi_document
from rememo.serve.rest.operations import NOT_SERVED, OPERATIONS
from rememo.serve.rest.routes import SPECS
from rememo.serve.rest.signature import hints_of
from rememo.serve.service import ServerOptions, Service
from rememo.working.context_values import ContextValues
from rememo.working.todos import Todos

ROUTES = [(verb, path, told) for path, verbs in openapi_document()["paths"].items() for verb, told in verbs.items()]
BAD_BODIES = [
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b'{"nonsense": 1}',
    b"\xff",
    b"[" * 100_000,
    b'{"text": NaN}',
    b"\x00",
    b"1" * 5_000,
]


def check_fault(answer: httpx.Response, declared: dict[str, Any]) -> str:
    assert 400 <= answer.status_code < 500, answer.text
    assert str(answer.status_code) in declared, answer.status_code
    assert answer.headers["content-type"] == "application/json"
    [(name, told)] = answer.json().items()
    assert (name, set(told)) == ("error", {"code", "message", "detail"})
    assert told["code"] in {*STATUS, *HTTP_CODES.values()}
    assert isinstance(told["message"], str)
    assert told["message"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-request-id"]
    return told["code"]


def is_offered(member: object) -> bool:
    return inspect.isfunction(member) or isinstance(member, property)


def address(path: str) -> str:
    return path.replace("{id}", "no").replace("{key}", "no").replace("{name}", "no").replace("{ready}", "no")


def test_every_route_is_described(memory: Memory):
    served = {
        (verb.lower(), getattr(route, "path", ""))
        for route in create_app(memory).routes
        for verb in getattr(route, "methods", ())
    }
    theirs = {
        (verb.lower(), path) for verb, path, *_ in (*MEM0_ROUTES, *NOT_SUPPORTED)
    }  # mem0 tells what its routes are
    # The dashboard's are for people.
    add_routes(Service(memory, ServerOptions()), lambda verb, path, _: theirs.add((verb.lower(), path)))
    assert served - theirs == {(verb, path) for verb, path, _ in ROUTES} | {("get", "/openapi.json"), ("get", "/docs")}
    ids = [told["operationId"] for _, _, told in ROUTES]
    assert len(ids) == len(set(ids))


def test_every_error_has_a_status():
    codes = {
        error.code
        for error in vars(errors).values()
        if isinstance(error, type) and issubclass(error, errors.RememoError)
    }
    assert codes == set(STATUS)
    for code in codes:
        again = error_from_response(STATUS[code], {"error": {"code": code, "message": "so", "detail": [1]}})
        assert (again.code, str(again), again.detail) == (code, "so", [1])


@pytest.mark.requirement("api.rest")
def test_everything_a_memory_offers_is_served_or_has_a_reason_not_to_be():
    offered: set[str] = set()
    for name, member in inspect.getmembers(Memory):
        if name.startswith("_"):
            continue
        face: Any = hints_of(member.fget)["return"] if isinstance(member, property) and member.fget else None
        own = [] if face is None or name in NOT_SERVED else inspect.getmembers(face, is_offered)
        offered |= {f"{name}.{method}" for method, _ in own if not method.startswith("_")} or {name}
    for name, face in (("working.todos", Todos), ("working.context", ContextValues)):
        offered.remove(name)
        offered |= {
            f"{name}.{method}" for method, _ in inspect.getmembers(face, is_offered) if not method.startswith("_")
        }
    # A flow and a typed value are made by a method, and have several routes.
    made = {
        operation.method_path.partition(".")[0]
        if operation.method_path.startswith(("flow.", "typed."))
        else operation.method_path
        for operation in OPERATIONS
    }
    served = made - {"wait", "reset"}
    assert offered - served - set(NOT_SERVED) == set(), "give each a row in rememo.serve.rest.operations"
    assert (served | set(NOT_SERVED)) - offered == set(), "a row of rememo.serve.rest.operations names no method"
    assert not served & set(NOT_SERVED)


def test_every_route_refuses_nonsense_in_one_shape(web: httpx.Client):
    bodies = cycle(BAD_BODIES)
    for verb, path, told in ROUTES:
        declared, where = told["responses"], address(path)
        if path in ("/healthz", "/readyz", "/metrics"):
            continue
        assert check_fault(web.request(verb, where, params={"nonsense": "1"}), declared) in {
            "invalid_input",
            "unsupported_media_type",
        }
        assert check_fault(web.request(verb, where, params={"tenant": "rememo:server"}, json={}), declared) in {
            "forbidden",
            "invalid_input",
            "unsupported_media_type",
        }
        if verb in ("post", "put", "patch"):
            plain = web.request(verb, where, content=b"x", headers={"content-type": "text/plain"})
            assert check_fault(plain, declared) == "unsupported_media_type"
            for body in islice(bodies, 2):
                sent = web.request(verb, where, content=body, headers={"content-type": "application/json"})
                check_fault(sent, declared)
        assert check_fault(web.request("TRACE", where), declared) == "method_not_allowed"


def test_a_missing_thing_is_told_on_every_route_that_names_one(web: httpx.Client):
    for call in SPECS:
        if "{id}" in call.operation.path:
            body = {"text": "x"} if call.operation.verb == "PATCH" else None
            sent = web.request(call.operation.verb, f"/v1{address(call.operation.path)}", json=body)
            assert 200 < sent.status_code < 500, (call.operation, sent.text)


def test_what_only_http_can_get_wrong(web: httpx.Client):
    assert check_fault(web.get("/v1/nonsense"), {"404": 1}) == "no_such_route"
    assert check_fault(web.get("/v1/records/"), {"404": 1}) == "no_such_route"
    assert check_fault(web.get("/v1/records/%ff"), {"400": 1}) == "invalid_input"
    assert check_fault(web.get("/v1/records?user=%ff"), {"400": 1}) == "invalid_input"
    assert check_fault(web.get("/v1/records?user=a&user=b"), {"400": 1}) == "invalid_input"
    assert check_fault(web.get("/v1/records/..%2F..%2Fetc%2Fpasswd"), {"404": 1}) == "not_found"
    wrong = web.put("/v1/records", json={})
    assert (check_fault(wrong, {"405": 1}), "POST" in wrong.headers["allow"]) == ("method_not_allowed", True)
    surrogate = web.post("/v1/records", content=b'{"text": "\\ud800"}', headers={"content-type": "application/json"})
    assert check_fault(surrogate, {"400": 1}) == "invalid_input"


def test_what_is_too_large_is_not_read(serve: Any):
    with httpx.Client(base_url=serve(max_body=1_000), trust_env=False) as web:
        told = web.post("/v1/records", json={"text": "x" * 2_000})
        assert check_fault(told, {"413": 1}) == "too_large"
        untold = web.post("/v1/records", content=iter([b"x" * 600] * 3), headers={"content-type": "application/json"})
        assert check_fault(untold, {"413": 1}) == "too_large"


def test_garbage_on_the_line_does_no_harm(web: httpx.Client):
    for sent in (
        b"\x00" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/records HTTP/1.1\r\n" + b"a: b\r\n" * 5_000 + b"\r\n",
    ):
        with socket.create_connection((web.base_url.host, web.base_url.port or 80), 10) as line:
            line.sendall(sent)
            line.shutdown(socket.SHUT_WR)
            line.recv(1_000)
    assert web.get("/healthz").status_code == 200


def test_no_file_of_the_server_can_be_named(web: httpx.Client):
    for path, body in (
        ("/v1/messages", {"role": "user", "content": "x", "images": ["/etc/passwd"]}),
        ("/v1/messages:for-model", {"image": "/etc/passwd"}),
        ("/v1/documents", {"path": "/etc/passwd"}),
        ("/v1/context", {"query": "x", "template": "{{ 7 * 7 }}"}),
    ):
        assert check_fault(web.post(path, json=body), {"400": 1}) == "invalid_input"


def test_no_page_of_a_browser_may_ask_unless_it_is_named(serve: Any):
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    with httpx.Client(base_url=serve(), trust_env=False) as web:
        assert "access-control-allow-origin" not in web.options("/v1/records", headers=asked).headers
    with httpx.Client(base_url=serve(origins=["https://app.example"]), trust_env=False) as web:
        allowed = web.options("/v1/records", headers=asked)
        assert allowed.headers["access-control-allow-origin"] == "https://app.example"
        other = web.get("/healthz", headers={"Origin": "https://evil.example"})
        assert "access-control-allow-origin" not in other.headers
