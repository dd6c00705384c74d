"""The routes of mem0's API, so that its clients work unchanged against this server: keep the client, change the host.

They have the same keys, the same tenant isolation and the same audit trail as our own routes.
"""

from collections.abc import Iterator
from typing import Any, Final

from rememo.serve.mem0.deleting import delete, delete_all, delete_many
from rememo.serve.mem0.entities import delete_entity, list_entities
from rememo.serve.mem0.reading import get_memory, list_memories, memory_history, search_memories
from rememo.serve.mem0.request import Endpoint, Handler, Mem0Request, make_endpoint, not_supported
from rememo.serve.mem0.writing import add, update, update_many
from rememo.serve.rest.operations import Right
from rememo.serve.service import Service


def ping(request: Mem0Request) -> dict[str, Any]:
    """Handle `GET /v1/ping/`: their client expects an organisation and a project; a tenant is both."""
    request.allow_query()
    tenant = request.key.scope.tenant
    return {"status": "ok", "message": "pong", "org_id": "rememo", "project_id": tenant, "user_email": None}


def events(request: Mem0Request) -> dict[str, Any]:
    """Handle `GET /v1/events/`: adds are synchronous, so there are no events."""
    request.allow_query()
    return {"count": 0, "next": None, "previous": None, "results": []}


ROUTES: Final[tuple[tuple[str, str, Right, Handler], ...]] = (
    ("GET", "/v1/ping/", "read", ping),
    ("POST", "/v3/memories/add/", "write", add),
    ("POST", "/v3/memories/search/", "read", search_memories),
    ("POST", "/v3/memories/", "read", list_memories),
    ("GET", "/v1/memories/{id}/", "read", get_memory),
    ("PUT", "/v1/memories/{id}/", "write", update),
    ("DELETE", "/v1/memories/{id}/", "write", delete),
    ("GET", "/v1/memories/{id}/history/", "read", memory_history),
    ("DELETE", "/v1/memories/", "write", delete_all),
    ("GET", "/v1/entities/", "read", list_entities),
    ("DELETE", "/v2/entities/{type}/{name}/", "write", delete_entity),
    ("GET", "/v1/events/", "read", events),
    ("PUT", "/v1/batch/", "write", update_many),
    ("DELETE", "/v1/batch/", "write", delete_many),
)
"""Verb, path, required right and handler of each route."""

_OLD_CLIENT = "this is a route of older clients; upgrade to mem0ai 2"
_PROFILES = "profiles that a model writes are not made here"
_WEBHOOKS = "there are no webhooks here"
_PROJECTS = "there are no projects and members here: a key has a tenant"
NOT_SUPPORTED: Final[tuple[tuple[str, str, str], ...]] = (
    ("GET", "/v1/memories/", _OLD_CLIENT),
    ("POST", "/v1/memories/", _OLD_CLIENT),
    ("POST", "/v1/memories/search/", _OLD_CLIENT),
    ("POST", "/v2/memories/", _OLD_CLIENT),
    ("POST", "/v2/memories/search/", _OLD_CLIENT),
    ("POST", "/v1/exports/", "exports by a schema are not made here; GET /v1/export streams everything"),
    ("POST", "/v1/exports/get/", "exports by a schema are not made here; GET /v1/export streams everything"),
    ("POST", "/v1/summary/", "summaries are made by room here; GET /v1/summaries lists them"),
    ("POST", "/v1/feedback/", "feedback is not taken here; change or delete the memory"),
    ("GET", "/v1/event/{id}/", "there are no events here: an add answers with what it did"),
    ("GET", "/v2/entities/user/{name}/profile/", _PROFILES),
    ("POST", "/v2/profiles/jobs/", _PROFILES),
    ("GET", "/v2/profiles/jobs/{id}/", _PROFILES),
    ("GET", "/v2/profiles/settings/", _PROFILES),
    ("POST", "/v2/profiles/settings/", _PROFILES),
    *((verb, "/api/v1/webhooks/projects/{id}/", _WEBHOOKS) for verb in ("GET", "POST")),
    *((verb, "/api/v1/webhooks/{id}/", _WEBHOOKS) for verb in ("PUT", "DELETE")),
    *(
        (verb, f"/api/v1/orgs/{path}", _PROJECTS)
        for path in ("organizations/{org}/projects/", "organizations/{org}/projects/{id}/")
        for verb in ("GET", "POST", "PATCH", "DELETE")
    ),
    *(
        (verb, "/api/v1/orgs/organizations/{org}/projects/{id}/members/", _PROJECTS)
        for verb in ("GET", "POST", "PUT", "DELETE")
    ),
)
"""Routes of the hosted service that are not supported, and why."""


def routes(service: Service) -> Iterator[tuple[str, str, Endpoint]]:
    """Yield verb, path and endpoint of every route."""
    for verb, path, right, work in ROUTES:
        yield verb, path, make_endpoint(service, right, work)
    for verb, path, what in NOT_SUPPORTED:
        yield verb, path, not_supported(service, what)
