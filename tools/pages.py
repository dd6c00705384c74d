"""Builds the documentation as a site: the pages of `docs`, and the references, which are made from the code itself.

`python tools/pages.py [FOLDER]` writes HTML to `build/site` unless told otherwise. A link that leads nowhere, a page that is
in no chapter, a heading that is out of order: all are errors.
"""

import inspect
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, cast

from sphinx.cmd.build import main as build
from typer.main import get_command

from rememo import Memory, Settings, _version, aio
from rememo.cli.app import cli
from rememo.serve.mcp.tools import TOOLS
from rememo.serve.rest.openapi import openapi_document

ROOT: Final = Path(__file__).parent.parent
DOCS: Final = ROOT / "docs"
CHAPTERS: Final[Mapping[str, tuple[str, ...]]] = {
    "Start": ("concepts", "recipes/*", "importing", "coming-from/*"),
    "Remembering": ("records", "sharing", "messages", "summaries", "facts", "documents", "plans-and-deeds", "time"),
    "Finding and showing": ("recall", "context", "providers", "models"),
    "Working": ("workbench", "flows-and-typed"),
    "Keeping": ("keeping", "retention", "archive", "erasure", "encryption", "audit", "trust", "threats"),
    "In production": ("postgres", "redis", "serve", "dashboard", "mcp", "mem0", "observe", "deploy", "scale"),
    "Frameworks": ("frameworks/*", "compatibility"),
    "Reference": ("peers", "cli", "reference/*", "extending", "dependencies"),
}
_LINK: Final = re.compile(r"(?<!!)\[(?P<label>[^\]]*)\]\((?P<target>[^)#:\s]+)(?:#[^)]*)?\)")
"""A link to a file, perhaps to a heading in it."""
CONF: Final = """
project = "Rememo"
version = release = {version!r}
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Rememo"
exclude_patterns = ["_build"]
suppress_warnings = ["misc.highlighting_failure"]
"""


def main() -> None:
    """Build it."""
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "build" / "site"
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "docs"
        shutil.copytree(DOCS, source)
        (source / "reference").mkdir()
        for name, text in references().items():
            (source / "reference" / f"{name}.md").write_text(text)
        for page in source.rglob("*.md"):
            page.write_text(_within_the_site(page, source))
        with (source / "index.md").open("a") as index:
            index.writelines(_contents(source))
        (source / "conf.py").write_text(CONF.format(version=_version.__version__))
        if build(["-q", "-W", "--keep-going", "-b", "html", str(source), str(target)]):
            sys.exit("the site was not built: see above")
    sys.stdout.write(f"{target / 'index.html'}\n")


def references() -> dict[str, str]:
    """Return the pages that are made from the code: a name and a text each."""
    return {
        "rest": "\n".join(_rest()),
        "mcp": "\n".join(_mcp()),
        "command-line": "\n".join(_commands()),
        "settings": "\n".join(_settings()),
        "memory": "\n".join(_memory()),
    }


# ---- the pages


def _within_the_site(page: Path, source: Path) -> str:
    """Return a page with links to files outside of the site as plain text: they are only in a checkout."""

    def shown(link: re.Match[str]) -> str:
        target = (page.parent / link["target"]).resolve()
        return link[0] if target.is_relative_to(source.resolve()) else link["label"]

    return _LINK.sub(shown, page.read_text())


def _contents(source: Path) -> Iterator[str]:
    placed: set[Path] = {source / "index.md"}
    for chapter, patterns in CHAPTERS.items():
        pages = [page for pattern in patterns for page in _first_the_index(sorted(source.glob(f"{pattern}.md")))]
        placed |= set(pages)
        names = "\n".join(str(page.relative_to(source).with_suffix("")) for page in pages)
        yield f"\n```{{toctree}}\n:hidden:\n:caption: {chapter}\n\n{names}\n```\n"
    lost = sorted(str(page.relative_to(source)) for page in set(source.rglob("*.md")) - placed)
    if lost:
        sys.exit(f"in no chapter of tools/pages.py: {', '.join(lost)}")


def _first_the_index(pages: list[Path]) -> list[Path]:
    return sorted(pages, key=lambda page: page.name != "README.md")


# ---- the references


def _rest() -> Iterator[str]:
    yield "# REST\n\nEvery route of `rememo serve`, made from the same table as the server. `/openapi.json` says it to machines.\n"
    described = openapi_document()
    for path, verbs in described["paths"].items():
        for verb, route in cast("dict[str, dict[str, Any]]", verbs).items():
            yield f"## `{verb.upper()} {path}`\n"
            yield _plain(route.get("description") or route.get("summary") or "") + "\n"
            rows = [
                (
                    parameter["name"],
                    parameter["in"],
                    _type(parameter.get("schema", {})),
                    "yes" if parameter.get("required") else "",
                )
                for parameter in (_followed(given, described) for given in route.get("parameters", []))
            ]
            body = route.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
            body = _followed(body, described)
            needed = set(body.get("required", ()))
            rows += [
                (name, "body", _type(field), "yes" if name in needed else "")
                for name, field in body.get("properties", {}).items()
            ]
            if rows:
                yield "| parameter | in | type | required |\n|---|---|---|---|"
                yield "\n".join(f"| `{name}` | {where} | {kind} | {must} |" for name, where, kind, must in rows) + "\n"


def _followed(schema: dict[str, Any], described: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference within the description stands for; anything else as it is."""
    *_, sort, name = str(schema.get("$ref", "//")).split("/")
    return described["components"][sort][name] if name else schema


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    several = schema.get("anyOf") or schema.get("oneOf")
    if several:
        return " or ".join(dict.fromkeys(_type(part) for part in several))
    kind = schema.get("type", "anything")
    return f"list of {_type(schema['items'])}" if kind == "array" and "items" in schema else str(kind)


def _mcp() -> Iterator[str]:
    yield "# MCP tools\n\nWhat an assistant can call, as it is told about it.\n"
    for tool in TOOLS:
        yield f"## `{tool.name}`\n\n{_plain(tool.description)}\n"
        schema = tool.schema(frozenset())
        needed = set(schema.get("required", ()))
        rows = [
            f"| `{name}` | {_type(field)} | {'yes' if name in needed else ''} | {_cell(field.get('description', ''))} |"
            for name, field in schema.get("properties", {}).items()
        ]
        if rows:
            yield "| argument | type | required | meaning |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _commands(group: Any = None, prefix: str = "rememo") -> Iterator[str]:
    if group is None:
        yield "# Every command\n\nWith its arguments and options; a [shorter list](../cli.md) says what for.\n"
        group = get_command(cli)
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{prefix} {name}")
            continue
        yield f"## `{prefix} {name}`\n\n{_plain(command.help or '')}\n"
        rows = [
            f"| `{' '.join(param.opts) if param.param_type_name == 'option' else param.name.upper()}` |"
            f" {_cell(getattr(param, 'help', None) or '')} |"
            for param in command.params
            if param.name != "help"
        ]
        if rows:
            yield "| argument or option | meaning |\n|---|---|\n" + "\n".join(rows) + "\n"


def _settings() -> Iterator[str]:
    yield "# Settings\n\nFrom `Settings(...)`, the environment (`REMEMO_` and the name in capitals) or `rememo.toml`.\n"
    yield "| setting | unless given |\n|---|---|"
    usual = Settings()
    for field in fields(Settings):
        yield f"| `{field.name}` | `{getattr(usual, field.name)!r}` |"


def _memory() -> Iterator[str]:
    yield "# Memory\n\nEvery public name of a memory; `AsyncMemory` and `Client` have the same.\n"
    for name, what in inspect.getmembers(Memory):
        if name.startswith("_"):
            continue
        method = inspect.isfunction(what)
        doc = inspect.getdoc(what.fget if isinstance(what, property) and what.fget else what) or ""
        shape = (
            str(inspect.signature(what, eval_str=True, locals=vars(aio)))
            .replace("(self, ", "(")
            .replace("(self)", "()")
            if method
            else ""
        )
        yield f"## `{name}`\n"
        yield (f"```text\n{name}{shape}\n```\n" if method else "") + f"\n{_plain(doc)}\n"


def _plain(text: str) -> str:
    """Return a text as Markdown that cannot be taken for anything else."""
    return text.replace("<", "&lt;").replace("[", "\\[").strip()


def _cell(text: str) -> str:
    return " ".join(_plain(text).split()).replace("|", "\\|")


if __name__ == "__main__":
    main()
