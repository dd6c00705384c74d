"""The OpenAPI document, made from the operations: routes, parameters, results and errors."""

from functools import cache
from inspect import getdoc
from typing import Any, Final

from rememo._version import __version__
from rememo.keep.export import Transferred
from rememo.serve.rest.descriptions import describe_parameter
from rememo.serve.rest.routes import JSON, SPECS
from rememo.serve.rest.schemas import schema
from rememo.serve.rest.signature import HEADERS, SCOPE, OperationSpec, Parameter

_ALWAYS: Final = (400, 401, 403, 404, 405, 408, 409, 414, 429, 431, 500, 503)
_STATUS_TEXTS: Final = {
    400: "Invalid request: a parameter, the body or the HTTP itself is malformed.",
    401: "Unauthorised: the key is missing or invalid.",
    403: "Forbidden: the key lacks the right or the scope.",
    404: "Not found.",
    405: "Method not allowed for this route.",
    408: "The request did not arrive in time.",
    409: "Conflict with the stored state, such as an existing id or a newer version.",
    412: "Precondition failed: the record no longer has the version in `If-Match`.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "Unsupported media type.",
    429: "Too many requests; `Retry-After` says when to retry.",
    431: "The headers are too many or too large.",
    500: "The server failed; its log says why, by the request's id.",
    501: "Not available: an optional package is not installed on the server.",
    503: "The server is overloaded or unavailable; `Retry-After` says when to retry.",
    507: "The disk is full.",
}
_SCOPE_TEXTS: Final = {
    "tenant": "The tenant; only a key for all tenants has a choice.",
    "agent": "Read and write only this agent's records.",
    "user": "Read and write only this user's records.",
    "room": "Read and write only this room's records.",
    "pool": "The pool of this name, instead of a room.",
    "as_of": "Read what was known at this time or snapshot.",
}
_ERROR: Final = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "description": "What went wrong.",
            "properties": {
                "code": {"type": "string", "description": "The kind of error, such as `not_found`."},
                "message": {"type": "string", "description": "What happened, to which thing, and what to do."},
                "detail": {"description": "More about it for programs."},
            },
            "required": ["code", "message", "detail"],
        }
    },
    "required": ["error"],
    "example": {"error": {"code": "not_found", "message": "there is no record 'a' in this scope", "detail": None}},
}
_EXAMPLES: Final[dict[str, Any]] = {
    "add": {"text": "The kettle is broken", "metadata": {"room": "kitchen"}},
    "add_many": {"items": ["one", {"text": "two", "kind": "note", "pinned": True}]},
    "search": {"query": "what is broken?", "limit": 5, "explain": True},
    "context": {"query": "where does she live now?", "max_tokens": 1500},
    "messages.add": {"role": "user", "content": "I moved to Lisbon in May."},
    "facts.add": {"subject": "ana", "predicate": "lives_in", "object": "Lisbon"},
    "kv.set": {"value": {"step": 2}, "ttl": "1h"},
    "update": {"text": "The kettle is mended"},
    "batch": {
        "operations": [
            {"call": "add", "arguments": {"text": "The kettle is broken"}, "scope": {"room": "kitchen"}},
            {"call": "working.todos.add", "arguments": {"text": "Mend the kettle", "priority": 5}},
        ]
    },
    "messages.add_pair": {"user": "Where did I move?", "assistant": "To Lisbon, in May."},
    "relationships.add": {"entity": "ana", "target": "bo", "type": "friend"},
    "documents.add": {"title": "Tin", "text": "The food is in the blue tin."},
    "documents.search": {"query": "where is the food?"},
    "goals.add": {"text": "Learn to swim", "priority": 3},
    "tasks.add": {"text": "Water the plants", "due": "2026-12-01T09:00:00+00:00"},
    "actions.add": {"tool": "weather", "result": {"sky": "blue"}},
    "thoughts.add": {"step": "THINK", "text": "It may rain."},
    "posts.add": {"content": "Hello, world"},
    "working.todos.add": {"text": "Mend the kettle", "priority": 5},
    "working.context.set": {"value": "at the station"},
    "typed.set": {"value": {"city": "Lisbon"}, "expected_version": 0},
    "flow.start": {"steps": ["address", "pay", "done"], "ttl": "2h", "data": {"city": "Lisbon"}},
    "flow.advance": {"steps": ["address", "pay", "done"], "data": {"street": "Rua Augusta"}},
    "flow.progress": {"steps": ["address", "pay", "done"]},
    "profiles.update": {"fields": {"city": "Porto"}},
    "compose": {"message": "where do I live?"},
}


@cache
def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document."""
    definitions: dict[str, Any] = {"Error": _ERROR}
    paths: dict[str, Any] = {}
    for call in SPECS:
        path = paths.setdefault(f"/v1{call.operation.path}", {})
        path[call.operation.verb.lower()] = _operation(call, definitions)
    lines = {"application/x-ndjson": {"schema": {"type": "string"}}}
    paths["/v1/export"] = {
        "get": {
            "operationId": "memory.export",
            "tags": ["memory"],
            "summary": "Stream everything in this scope as JSON Lines.",
            "parameters": [
                _query_parameter("plain", {"type": "boolean"}, "Not encrypted, though the memory is."),
                *_scope_parameters(),
            ],
            "responses": {"200": {"description": "The export.", "content": lines}, **_error_responses(())},
        }
    }
    paths["/v1/audit:export"] = {
        "get": {
            "operationId": "audit.export",
            "tags": ["audit"],
            "summary": "Stream the audit trail of the tenant as JSON Lines, with all that is needed to verify it elsewhere.",
            "parameters": _scope_parameters(),
            "responses": {"200": {"description": "The trail.", "content": lines}, **_error_responses(())},
        }
    }
    paths["/v1/import"] = {
        "post": {
            "operationId": "memory.import_",
            "tags": ["memory"],
            "summary": "Import an export into this tenant; repeating it is harmless.",
            "parameters": _scope_parameters(),
            "requestBody": {"required": True, "content": lines},
            "responses": {"200": _json_response(schema(Transferred, definitions)), **_error_responses((413, 415, 507))},
        }
    }
    for path, description in (
        ("/healthz", "Report that the server runs."),
        ("/readyz", "Report whether the memory can be read."),
    ):
        plain = _json_response({"type": "object", "properties": {"status": {"type": "string"}}})
        paths[path] = {
            "get": {
                "operationId": path[1:],
                "tags": ["health"],
                "summary": description,
                "security": [],
                "responses": {"200": plain, **_error_responses(())},
            }
        }
    paths["/metrics"] = {
        "get": {
            "operationId": "metrics",
            "tags": ["health"],
            "summary": "Return the server's metrics in Prometheus' text format; needs a key for all tenants.",
            "responses": {
                "200": {"description": "metrics", "content": {"text/plain": {"schema": {"type": "string"}}}},
                **_error_responses(()),
            },
        }
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Rememo", "version": __version__, "description": "Memory for AI agents."},
        "security": [{"key": []}],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "parameters": {name: _query_parameter(name, {"type": "string"}, _SCOPE_TEXTS[name]) for name in SCOPE},
            "responses": {
                str(status): {
                    "description": description,
                    "content": {JSON: {"schema": {"$ref": "#/components/schemas/Error"}}},
                }
                for status, description in _STATUS_TEXTS.items()
            },
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer", "bearerFormat": "rememo_…"}},
        },
    }


def _operation(call: OperationSpec, definitions: dict[str, Any]) -> dict[str, Any]:
    operation, doc = call.operation, getdoc(call.function) or ""
    parameters = [parameter for parameter in call.parameters if parameter.location != "body"]
    description: dict[str, Any] = {
        "operationId": operation.name,
        "tags": [operation.name.partition(".")[0]],
        "summary": doc.split("\n")[0],
        "description": doc,
        "x-right": operation.right,
        "x-reach": operation.reach,
        "parameters": [
            *(_parameter(parameter, definitions, operation.method_path) for parameter in parameters),
            *_scope_parameters(),
        ],
        "responses": {
            str(operation.status): _json_response(_result_schema(call, definitions)),
            **_error_responses(_extra_statuses(call)),
        },
    }
    if call.pages:
        description["parameters"].append(_query_parameter("cursor", {"type": "string"}, "`next` of the page before."))
    if operation.method_path == "changes":
        description["responses"][str(operation.status)]["content"]["text/event-stream"] = {"schema": {"type": "string"}}
        meaning = "The id of the last event received: the stream continues after it."
        description["parameters"].append(
            {
                "name": "Last-Event-ID",
                "in": "header",
                "required": False,
                "description": meaning,
                "schema": {"type": "string"},
            }
        )
    if call.takes_body:
        body = call.parameters_in("body")
        needed = [parameter.name for parameter in body if parameter.required]
        shape = {
            "type": "object",
            "properties": {
                parameter.name: schema(parameter.hint, definitions)
                | {"description": describe_parameter(operation.method_path, parameter.name)}
                for parameter in body
            },
            "required": needed,
            "additionalProperties": operation.more,
        }
        content: dict[str, Any] = {"schema": shape}
        if operation.method_path in _EXAMPLES:
            content["example"] = _EXAMPLES[operation.method_path]
        description["requestBody"] = {"required": bool(needed), "content": {JSON: content}}
    return description


def _extra_statuses(call: OperationSpec) -> tuple[int, ...]:
    """Return the statuses beyond those of every operation."""
    more = (413, 415)
    if call.operation.right != "read":
        more += (507,)
    if any(parameter.location == "header" and parameter.name == "expected_version" for parameter in call.parameters):
        more += (412,)
    return (*more, 501) if call.operation.method_path == "documents.add" else more


def _result_schema(call: OperationSpec, definitions: dict[str, Any]) -> dict[str, Any]:
    inner, under = schema(call.returns, definitions), call.wrapper_key
    if under is None:
        return inner
    shapes = {under: inner} | ({"next": {"type": ["string", "null"]}} if under == "items" else {})
    return {"type": "object", "properties": shapes, "required": list(shapes)}


def _parameter(parameter: Parameter, definitions: dict[str, Any], operation: str) -> dict[str, Any]:
    meaning = describe_parameter(operation, parameter.name)
    if parameter.location == "path":
        return {
            "name": parameter.name,
            "in": "path",
            "required": True,
            "description": meaning,
            "schema": {"type": "string", "minLength": 1},
        }
    if parameter.location == "header":
        meaning = (
            "A retry with the same key has no further effect."
            if parameter.name == "key"
            else 'The version expected, as "3".'
        )
        return {
            "name": HEADERS[parameter.name],
            "in": "header",
            "required": False,
            "description": meaning,
            "schema": {"type": "string"},
        }
    shape = schema(parameter.hint, definitions)
    description: dict[str, Any] = {
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": meaning,
    }
    if parameter.as_json:
        return description | {"content": {JSON: {"schema": shape}}}
    return description | {"schema": shape}


def _scope_parameters() -> list[dict[str, Any]]:
    return [{"$ref": f"#/components/parameters/{name}"} for name in SCOPE]


def _query_parameter(name: str, shape: dict[str, Any], meaning: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": meaning, "schema": shape}


def _json_response(shape: dict[str, Any]) -> dict[str, Any]:
    return {"description": "Done.", "content": {JSON: {"schema": shape}}}


def _error_responses(more: tuple[int, ...]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted({*_ALWAYS, *more})}
