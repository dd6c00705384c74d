"""`/docs`: the OpenAPI document as one HTML page, without scripts and without anything from elsewhere."""

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from typing import Any, Final

from rememo.serve.rest.openapi import openapi_document

_STYLE: Final = """
body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; color-scheme: light dark }
code, pre { font-family: ui-monospace, monospace; font-size: .9em }
pre { overflow-x: auto; padding: .5rem; border: 1px solid #8886 }
details { border-top: 1px solid #8884; padding: .4rem 0 }
summary { cursor: pointer }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid #8883 }
.verb { display: inline-block; min-width: 4.5rem; font-weight: bold }
"""
_POLICY: Final = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'"
)
DOCS_HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@cache
def render_docs() -> str:
    """Return the page."""
    document = openapi_document()
    tags: dict[str, list[str]] = {}
    for path, verbs in document["paths"].items():
        for verb, route in verbs.items():
            tags.setdefault(route["tags"][0], []).append(_route(verb, path, route))
    contents = " · ".join(f'<a href="#{escape(tag)}">{escape(tag)}</a>' for tag in tags)
    chapters = "".join(f'<h2 id="{escape(tag)}">{escape(tag)}</h2>{"".join(routes)}' for tag, routes in tags.items())
    schemas = "".join(
        f'<h3 id="{escape(name)}">{escape(name)}</h3>{_text(shape.get("description", ""))}{_fields(shape)}'
        for name, shape in sorted(document["components"]["schemas"].items())
    )
    title = f"{document['info']['title']} {document['info']['version']}: REST"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{escape(title)}</h1>"
        "<p>A key goes into the header <code>Authorization: Bearer …</code>. Every route under <code>/v1</code> takes "
        f"{_scope(document)}. Machines read <code>openapi.json</code>.</p>"
        f'<p>{contents} · <a href="#types">types</a></p>{chapters}<h2 id="types">types</h2>{schemas}</body></html>'
    )


def type_name(schema: dict[str, Any]) -> str:
    """Return what a schema is called."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    choices = schema.get("anyOf") or schema.get("oneOf")
    if choices:
        return " | ".join(dict.fromkeys(type_name(choice) for choice in choices))
    kind = schema.get("type", "anything")
    if isinstance(kind, list):
        return " | ".join(map(str, kind))  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return f"list of {type_name(schema['items'])}" if kind == "array" and "items" in schema else str(kind)


def _route(verb: str, path: str, route: dict[str, Any]) -> str:
    own = [parameter for parameter in route.get("parameters", []) if "$ref" not in parameter]
    body: dict[str, Any] = route.get("requestBody", {}).get("content", {}).get("application/json", {})
    rows = [_row(parameter["name"], parameter["in"], _parameter_schema(parameter), parameter) for parameter in own]
    needed = set(body.get("schema", {}).get("required", ()))
    for name, field in body.get("schema", {}).get("properties", {}).items():
        rows.append(_row(name, "body", field, {**field, "required": name in needed}))
    success: dict[str, Any] = next(answer for status, answer in route["responses"].items() if status.startswith("2"))
    returned: dict[str, Any] | None = success.get("content", {}).get("application/json", {}).get("schema")
    example = f"<pre>{escape(json.dumps(body['example'], indent=1))}</pre>" if "example" in body else ""
    head = "<tr><th>name</th><th>in</th><th>type</th><th>meaning</th></tr>"
    return (
        f'<details><summary><span class="verb">{verb.upper()}</span> <code>{escape(path)}</code> '
        f"{escape(route.get('summary', ''))}</summary>{_text(route.get('description', ''))}"
        + (f"<table>{head}{''.join(rows)}</table>" if rows else "")
        + (f"<p>Example of a body:</p>{example}" if example else "")
        + (f"<p>Returns {_link(returned)}.</p>" if returned else "")
        + "</details>"
    )


def _parameter_schema(parameter: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = parameter.get("content", {}).get("application/json", {})
    return parameter.get("schema") or inner.get("schema", {})


def _row(name: str, place: str, schema: dict[str, Any], about: dict[str, Any]) -> str:
    required = ", required" if about.get("required") else ""
    return (
        f"<tr><td><code>{escape(name)}</code></td><td>{place}{required}</td><td>{_link(schema)}</td>"
        f"<td>{escape(about.get('description', ''))}</td></tr>"
    )


def _fields(shape: dict[str, Any]) -> str:
    rows = [_row(name, "", field, field) for name, field in shape.get("properties", {}).items()]
    return f"<table>{''.join(rows)}</table>" if rows else ""


def _link(schema: dict[str, Any]) -> str:
    name = type_name(schema)
    return f'<a href="#{escape(name)}">{escape(name)}</a>' if "$ref" in schema else escape(name)


def _scope(document: dict[str, Any]) -> str:
    shared = document["components"]["parameters"].values()
    return ", ".join(
        f"<code>{escape(parameter['name'])}</code> ({escape(parameter['description'].rstrip('.'))})"
        for parameter in shared
    )


def _text(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n") if part)
