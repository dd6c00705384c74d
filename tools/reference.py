"""The reference, made from the code: classes and methods, value types, errors, settings, REST, MCP tools, commands.

Each method shows an example: a statement of a guide that calls it, or one of `tools/reference_examples.py`.
"""

import ast
import inspect
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final, cast

from typer.main import get_command

import rememo
from rememo import Memory, Settings, aio, errors
from rememo.cli.app import cli
from rememo.model.field_docs import field_docs
from rememo.public_operations import PUBLIC_CLASSES
from rememo.serve.mcp.tools import TOOLS
from rememo.serve.rest.descriptions import describe_field, describe_parameter
from rememo.serve.rest.docs_page import type_name
from rememo.serve.rest.openapi import openapi_document

ROOT: Final = Path(__file__).parent.parent
_BLOCK: Final = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
_LONGEST_EXAMPLE: Final = 8
_OWNERS: Final[Mapping[str, frozenset[str]]] = {
    "flow.": frozenset({"flow", "checkout", "onboarding", "booking", "signup"}),
    "typed.": frozenset({"typed", "profile", "settings", "box"}),
    "recent.": frozenset({"recent", "window", "room"}),
}
"""What objects are called whose class has no attribute of a memory."""


_INTERNAL: Final = (
    "rememo.engine.",
    "rememo.store.audit_chain",
    "rememo.store.drafts",
    "rememo.store.kv",
    "rememo.store.writes",
)
"""Where types live that only the library itself uses."""
_MEANINGS: Final = {
    "url": 'A file\'s path, ":memory:" or postgresql://…; a file that is not there is made.',
    "Client:url": "The server's address, such as http://127.0.0.1:8765.",
    "RecentMessages:url": "The address of a Redis server, redis://….",
    "AsyncRecentMessages:url": "The address of a Redis server, redis://….",
    "Client:key": "A key of the server, as `rememo keys add` prints it; not needed where there are none.",
    "Client:timeout": "How many seconds to wait for a response.",
    "embedder": "The embedding model or its name; None keeps no vectors. The one that the settings name unless given.",
    "llm": "A language model that sharpens what is learned; its owner closes it. The one that the settings name unless given.",
    "reranker": "What orders hits where `search(rerank=True)` asks for it.",
    "encryption": "The master keys, for contents that are stored encrypted.",
    "settings": "The settings; from the environment and `rememo.toml` unless given.",
    "clock": "What tells the time, for tests.",
    "ttl_hours": "How many hours after its last message the room is gone.",
    "memory": "The memory whose scope it works in.",
    "Keyring:key": "The master key: 32 bytes, as they are, as base64 or hex, or a function that returns them.",
    "former": "Keys that were current before, and still open what they wrapped.",
    "key_store": "Where the wrapped keys of a store lie.",
    "wrapped": "The wrapped data key.",
    "where": "What it opens, for the text of an error.",
    "wrap:key": "The data key.",
    "serial": "The number of the place that it is for.",
}
"""What parameters mean that no method of a collection has."""


def pages() -> dict[str, str]:
    """Return the pages: a name and a text each."""
    return {
        "python": "\n".join(_python()),
        "values": "\n".join(_values()),
        "errors": "\n".join(_errors()),
        "settings": "\n".join(_settings()),
        "rest": "\n".join(_rest()),
        "mcp": "\n".join(_mcp()),
    }


# ---- Python


def _python() -> Iterator[str]:
    yield "# Python\n\nEvery public class with its methods. `AsyncMemory` has the methods of `Memory` to be awaited, and `Client` has them over HTTP.\n"
    yield "## `Memory`\n"
    yield from _class(Memory)
    yield "## `AsyncMemory`\n\nThe methods of [`Memory`](#memory), each to be awaited: `await memory.search(...)`.\n"
    yield from _constructor(rememo.AsyncMemory)
    yield "## `Client`\n\nThe methods of [`Memory`](#memory) that a server offers, over HTTP: `Client(address, key)`.\n"
    yield from _constructor(rememo.Client)
    for owner, prefix in PUBLIC_CLASSES.items():
        if owner is Memory:
            continue
        name = f"`{owner.__name__}`" + (f": `memory.{prefix.rstrip('.')}`" if _is_attribute(owner, prefix) else "")
        yield f"## {name}\n" if owner.__name__ not in rememo.__all__ else f"## `{owner.__name__}`\n"
        yield from _class(owner)
    listed = {owner.__name__ for owner in PUBLIC_CLASSES} | {"AsyncMemory", "Client", "Settings"}
    values = {kind.__name__ for kind in value_types()}
    for name in rememo.__all__:
        kind = getattr(rememo, name)
        if name in listed | values or issubclass(kind, BaseException):
            continue
        yield f"## `{name}`\n"
        yield from _class(kind)


def _is_attribute(owner: type[Any], prefix: str) -> bool:
    return prefix not in _OWNERS and owner is not Memory


def _class(owner: type[Any]) -> Iterator[str]:
    yield f"{plain(inspect.getdoc(owner) or '')}\n"
    if owner.__name__ in rememo.__all__:
        yield from _constructor(owner)
    for name, member in inspect.getmembers(owner):
        if name.startswith("_"):
            continue
        if inspect.isfunction(member):
            yield method_entry(owner, name)
        elif isinstance(member, property):
            yield f"### `{PUBLIC_CLASSES.get(owner, '')}{name}`\n\n{plain(inspect.getdoc(member) or '')}\n"


def _constructor(owner: type[Any]) -> Iterator[str]:
    yield f"```text\n{owner.__name__}{_signature(owner.__init__)}\n```\n"
    yield from _parameters(owner.__init__, owner.__name__)


@cache
def method_entry(owner: type[Any], name: str) -> str:
    """Return what the reference says of a method."""
    method, full = getattr(owner, name), PUBLIC_CLASSES.get(owner, "") + name
    lines = [
        f"### `{full}`\n",
        f"```text\n{full}{_signature(method)}\n```\n",
        f"{plain(inspect.getdoc(method) or '')}\n",
    ]
    lines += _parameters(method, full)
    if example := find_example(PUBLIC_CLASSES.get(owner, ""), name):
        lines.append(f"```python\n{example}\n```\n")
    return "\n".join(lines)


def _signature(method: Any) -> str:
    try:
        shape = str(inspect.signature(method, eval_str=True, locals=vars(aio)))
    except (NameError, TypeError):
        shape = str(inspect.signature(method))
    shape = shape.replace("(self, ", "(").replace("(self)", "()").replace("typing.", "").replace("collections.abc.", "")
    return (
        re.sub(r"\brememo\.[\w.]+\.(\w+)|<function (\w+) at \w+>", r"\1\2", shape)
        .replace("datetime.datetime", "datetime")
        .replace("datetime.timedelta", "timedelta")
    )


def _parameters(method: Any, full: str) -> Iterator[str]:
    rows = [
        f"| `{name}` | {_default(parameter)} | {cell(_describe(full, name))} |"
        for name, parameter in list(inspect.signature(method).parameters.items())[1:]
    ]
    if rows:
        yield "| parameter | unless given | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _describe(full: str, name: str) -> str:
    ours = _MEANINGS.get(name, "")
    usual = ours or describe_parameter(full, name) if full in rememo.__all__ else describe_parameter(full, name) or ours
    return _MEANINGS.get(f"{full}:{name}") or usual


def _default(parameter: inspect.Parameter) -> str:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return ""
    if parameter.default is parameter.empty:
        return "required"
    shown = parameter.default.__name__ if inspect.isfunction(parameter.default) else repr(parameter.default)
    return "as it is" if shown == "UNSET" or "Unset" in shown else f"`{shown}`"


# ---- examples


@cache
def _statements() -> Sequence[tuple[ast.stmt, str]]:
    """Give the statements of all guides, the smallest that hold a call whole, with their source."""
    sources = [
        block
        for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
        for block in _BLOCK.findall(page.read_text())
    ]
    sources.append((ROOT / "tools" / "reference_examples.py").read_text())
    found: list[tuple[ast.stmt, str]] = []
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.stmt):
                decorators = [decorator.lineno for decorator in getattr(node, "decorator_list", ())]
                lines = source.splitlines()[min([node.lineno, *decorators]) - 1 : node.end_lineno]
                if len(lines) <= _LONGEST_EXAMPLE:
                    found.append((node, inspect.cleandoc("\n" + "\n".join(lines))))
    return sorted(found, key=lambda pair: len(pair[1]))


@cache
def find_example(prefix: str, name: str) -> str | None:
    """Return the shortest statement that calls a method."""
    return next((source for node, source in _statements() if _calls(node, prefix, name)), None)


def _calls(statement: ast.stmt, prefix: str, name: str) -> bool:
    for node in ast.walk(statement):
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == name and _is_owner(called.value, prefix):
            return True
    return False


def _is_owner(node: ast.expr, prefix: str) -> bool:
    names = prefix.rstrip(".").split(".")
    last = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
    if isinstance(node, ast.Await):
        return False
    if prefix == "":
        return isinstance(node, ast.Name) and node.id in {
            "memory",
            "chat",
            "ana",
            "home",
            "team",
            "before",
            "acme",
            "batch",
            "other",
            "view",
            "agent",
        }
    if prefix in _OWNERS:
        return isinstance(node, ast.Name) and node.id in _OWNERS[prefix]
    if names[-1] == "cached":
        return isinstance(node, ast.Name) and node.id in {"cached", "cache", "configs"}
    return last == names[-1]


# ---- values, errors, settings


@cache
def value_types() -> tuple[type[Any], ...]:
    """Return the types of what methods take and return: dataclasses of this library, and those that they hold."""
    found: dict[str, type[Any]] = {}
    waiting: list[Any] = [getattr(rememo, name) for name in rememo.__all__]
    for owner in PUBLIC_CLASSES:
        for _, method in inspect.getmembers(owner, inspect.isfunction):
            try:
                waiting += typing.get_type_hints(method, localns=vars(aio)).values()
            except (NameError, TypeError):
                continue
    while waiting:
        hint = waiting.pop()
        waiting += typing.get_args(hint)
        origin = typing.get_origin(hint) or hint
        if not (isinstance(origin, type) and origin.__module__.startswith("rememo.") and is_dataclass(origin)):
            continue
        if origin.__module__.startswith(_INTERNAL):
            continue
        if origin.__name__ in found or origin is Settings or origin in PUBLIC_CLASSES:
            continue
        found[origin.__name__] = origin
        try:
            waiting += [hint for name, hint in typing.get_type_hints(origin).items() if not name.startswith("_")]
        except (NameError, TypeError):
            continue
    return tuple(found[name] for name in sorted(found))


def _values() -> Iterator[str]:
    yield "# Values\n\nWhat methods take and return.\n"
    for kind in value_types():
        yield f"## `{kind.__name__}`\n\n{plain(inspect.getdoc(kind) or '')}\n"
        rows = [
            f"| `{field.name}` | `{_type_text(field.type).replace('|', chr(92) + '|')}` | {cell(describe_field(kind, field.name))} |"
            for field in fields(kind)
            if not field.name.startswith("_")
        ]
        rows += [
            f"| `{name}` | | {cell(text)} |"
            for name, text in field_docs(kind).items()
            if isinstance(inspect.getattr_static(kind, name, None), property) and not name.startswith("_")
        ]
        if rows:
            yield "| field | type | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n"


def _type_text(kind: Any) -> str:
    return kind if isinstance(kind, str) else re.sub(r"\b[a-z_.]+\.(\w+)", r"\1", inspect.formatannotation(kind))


def _errors() -> Iterator[str]:
    yield "# Errors\n\nEvery error is a `RememoError` with a `code`, and a message that says what happened, to which thing, and what to do.\n"
    for name in rememo.__all__:
        kind = getattr(rememo, name)
        if isinstance(kind, type) and issubclass(kind, errors.RememoError):
            parents = ", ".join(f"`{base.__name__}`" for base in kind.__bases__ if base is not object)
            yield f"## `{name}`\n\n{plain(inspect.getdoc(kind) or '')}\n\nCode `{kind.code}`; a {parents}.\n"


def _settings() -> Iterator[str]:
    yield "# Settings\n\nFrom `Settings(...)`, the environment (`REMEMO_` and the name in capitals) or `rememo.toml`.\n"
    yield "## `Settings`\n"
    yield "| setting | unless given | meaning |\n|---|---|---|"
    usual, meanings = Settings(), field_docs(Settings)
    for field in fields(Settings):
        yield f"| `{field.name}` | `{getattr(usual, field.name)!r}` | {cell(meanings.get(field.name, ''))} |"


# ---- REST, MCP, commands


def _rest() -> Iterator[str]:
    yield "# REST\n\nEvery route of `rememo serve`, made from the same table as the server, which shows it at `/docs`. `/openapi.json` says it to machines.\n"
    document = openapi_document()
    yield "Every route takes these parameters:\n\n| parameter | meaning |\n|---|---|"
    for parameter in document["components"]["parameters"].values():
        yield f"| `{parameter['name']}` | {cell(parameter['description'])} |"
    yield ""
    for path, verbs in document["paths"].items():
        for verb, route in cast("dict[str, dict[str, Any]]", verbs).items():
            yield f"## `{verb.upper()} {path}`\n\n{plain(route.get('description') or route.get('summary') or '')}\n"
            rows = [
                (
                    parameter["name"],
                    parameter["in"],
                    parameter.get("schema", {}),
                    parameter.get("required"),
                    parameter["description"],
                )
                for parameter in route.get("parameters", [])
                if "$ref" not in parameter
            ]
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            needed = set(body.get("required", ()))
            rows += [
                (name, "body", field, name in needed, field["description"])
                for name, field in body.get("properties", {}).items()
            ]
            if rows:
                yield "| parameter | in | type | required | meaning |\n|---|---|---|---|---|"
                yield (
                    "\n".join(
                        f"| `{name}` | {place} | {cell(type_name(schema))} | {'yes' if must else ''} | {cell(text)} |"
                        for name, place, schema, must, text in rows
                    )
                    + "\n"
                )


def _mcp() -> Iterator[str]:
    yield "# MCP tools\n\nWhat an assistant can call, as it is told about it.\n"
    for tool in TOOLS:
        yield f"## `{tool.name}`\n\n{plain(tool.description)}\n"
        schema = tool.schema(frozenset())
        needed = set(schema.get("required", ()))
        rows = [
            f"| `{name}` | {cell(type_name(field))} | {'yes' if name in needed else ''} | {cell(field.get('description', ''))} |"
            for name, field in schema.get("properties", {}).items()
        ]
        if rows:
            yield "| argument | type | required | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def commands(group: Any = None, prefix: str = "rememo") -> Iterator[str]:
    """Give the entries of all commands: they stand at the end of the guide to the command line."""
    group = get_command(cli) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{prefix} {name}")
            continue
        yield f"### `{prefix} {name}`\n\n{plain(command.help or '')}\n"
        rows = [
            f"| `{' '.join(param.opts) if param.param_type_name == 'option' else param.name.upper()}` |"
            f" {cell(getattr(param, 'help', None) or '')} |"
            for param in command.params
            if param.name != "help"
        ]
        if rows:
            yield "| argument or option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


# ---- Markdown


def plain(text: str) -> str:
    """Return a text as Markdown that cannot be taken for anything else."""
    return text.replace("<", "&lt;").replace("[", "\\[").strip()


def cell(text: str) -> str:
    """Return a text for a cell of a table."""
    return " ".join(plain(text).split()).replace("|", "\\|")
