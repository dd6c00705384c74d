"""Templates: a Jinja template shapes what stands inside the fence.

A template may come from whoever configures an agent, so it is not trusted. It runs in Jinja's sandbox, and before that
its tree is walked: only the nodes, names and filters below are let through. None of them calls anything, makes a longer
text out of itself or goes round inside another loop, so what passes comes to an end soon, whatever it holds: there is
nothing to be stopped. What it writes is counted as it is written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from rememo.context.dates import ago, day, day_and_time
from rememo.context.gather import due_time
from rememo.context.rendering import HEADINGS, PackedItem
from rememo.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    import jinja2
    from jinja2 import nodes

FIELDS: Final = ("mark", "id", "kind", "text", "speaker", "date", "ago", "due", "score", "line")
"""What a template may ask of an item."""
MOST_CHARACTERS: Final = 16_384
"""The longest template."""

_VARIABLES: Final = frozenset({*HEADINGS, "now", "query"})
_LOOP: Final = ("index", "index0", "first", "last", "length")
_NODES: Final = frozenset({
    "Template", "Output", "TemplateData", "Name", "Getattr", "Const", "For", "If", "CondExpr", "Compare", "Operand", "And",
    "Or", "Not", "Filter", "Keyword", "Test", "Neg",
})  # fmt: skip
_WORDS: Final = {
    "Call": "calls", "Assign": "set", "AssignBlock": "set", "Macro": "macros", "CallBlock": "calls", "Include": "include",
    "Import": "import", "FromImport": "import", "Extends": "extends", "Block": "blocks", "Getitem": "[…]",
    "FilterBlock": "filter blocks", "With": "with", "List": "lists", "Dict": "mappings", "Tuple": "tuples",
    "Concat": "~", "Mul": "*", "Pow": "**", "Add": "+", "Sub": "-", "Div": "/", "FloorDiv": "//", "Mod": "%",
}  # fmt: skip
_FILTERS: Final = ("default", "join", "length", "lower", "trim", "truncate", "upper")
_TESTS: Final = ("defined", "even", "none", "odd", "undefined")
_MOST_NODES: Final = 500
_LONGEST_ARGUMENT: Final = 256
_LARGEST_ARGUMENT: Final = 100_000
_MOST_WRITTEN: Final = 4_000_000


@dataclass(frozen=True, slots=True)
class Template:
    """A template that was found harmless."""

    compiled: "jinja2.Template"

    @staticmethod
    def parse(source: object) -> "Template":
        """Return a checked template; one that cannot be understood, or should not be run, is `InvalidInput`."""
        if not isinstance(source, str):
            raise InvalidInput(f"template must be the text of a Jinja template, not {type(source).__name__}")
        if len(source) > MOST_CHARACTERS:
            raise InvalidInput(
                f"the template has {len(source):,} characters, more than the {MOST_CHARACTERS:,} allowed"
            )
        return _compile(source)

    def render(self, packed: Sequence[PackedItem], now: datetime, *, parts: Sequence[str], query: str) -> str:
        """Return what the template makes of the items of some parts; the other parts are empty to it."""
        values: dict[str, Any] = {part: [] for part in HEADINGS}
        for packed_item in packed:
            if packed_item.part in parts:
                values[packed_item.part].append(_fields(packed_item, now))
        written: list[str] = []
        length = 0
        try:
            for piece in self.compiled.generate({**values, "now": day_and_time(now), "query": query}):
                written.append(piece)
                length += len(piece)
                if length > _MOST_WRITTEN:
                    break
        except Exception as error:  # noqa: BLE001 - whatever goes wrong inside is the template's fault
            raise InvalidInput(f"the template failed: {type(error).__name__}: {str(error)[:200]}") from None
        if length > _MOST_WRITTEN:
            raise InvalidInput(f"the template writes more than {_MOST_WRITTEN:,} characters; make it shorter")
        return "".join(written).strip("\n")


@lru_cache(64)
def _compile(source: str) -> Template:
    try:
        import jinja2  # noqa: PLC0415 - optional
        from jinja2.sandbox import ImmutableSandboxedEnvironment  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtra(f'template= needs Jinja ({error}): pip install "rememo[templates]"') from None
    environment = ImmutableSandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=False
    )
    environment.globals.clear()
    filters: dict[str, Any] = {**environment.filters, "join": _join}
    environment.filters = {name: filters[name] for name in _FILTERS}
    environment.tests = {name: environment.tests[name] for name in _TESTS}
    try:
        tree = environment.parse(source)
        _check(tree, names=_VARIABLES, looping=False, seen=[0])
        return Template(environment.from_string(source))
    except jinja2.TemplateSyntaxError as error:
        raise InvalidInput(f"the template cannot be read, line {error.lineno}: {error.message}") from None
    except InvalidInput:
        raise
    except (jinja2.TemplateError, RecursionError, MemoryError, SyntaxError, ValueError) as error:
        raise InvalidInput(f"the template cannot be read: {str(error)[:200]}") from None


def _check(node: "nodes.Node", *, names: frozenset[str], looping: bool, seen: list[int]) -> None:
    """Refuse a tree that holds anything but what is known to come to an end."""
    kind, location = type(node).__name__, f"line {node.lineno}"
    parts: Mapping[str, Any] = {name: getattr(node, name, None) for name in node.fields}
    seen[0] += 1
    if seen[0] > _MOST_NODES:
        raise InvalidInput(f"the template has more than {_MOST_NODES:,} parts; make it simpler")
    if kind not in _NODES:
        raise InvalidInput(f"a template may not use {_WORDS.get(kind, kind)}, {location}")
    if kind == "Name" and parts["name"] not in names:
        raise InvalidInput(f"a template has no {parts['name']!r}, {location}; there are {', '.join(sorted(names))}")
    if kind == "Getattr":
        _check_field(parts["node"], parts["attr"], location)
    if kind == "Filter":
        _check_filter(parts, location)
    if kind == "Test" and parts["name"] not in _TESTS:
        raise InvalidInput(f"a template has no test {parts['name']!r}, {location}; there are {', '.join(_TESTS)}")
    if kind == "For":
        names = names | {_check_loop(parts, location, looping=looping), "loop"}
        looping = True
    for child in node.iter_child_nodes():
        _check(child, names=names, looping=looping, seen=seen)


def _check_loop(parts: Mapping[str, Any], location: str, *, looping: bool) -> str:
    """Return the name that a loop gives to its items."""
    if looping or parts["recursive"]:
        raise InvalidInput(f"a template may not loop inside a loop, {location}")
    if getattr(parts["iter"], "name", None) not in HEADINGS or type(parts["iter"]).__name__ != "Name":
        raise InvalidInput(f"a template may loop over {', '.join(HEADINGS)} only, {location}")
    name: str | None = getattr(parts["target"], "name", None)
    if name is None or name in _VARIABLES or name == "loop":
        raise InvalidInput(f"a loop needs one new name for its items, {location}")
    return name


def _check_field(of: "nodes.Node", name: str, location: str) -> None:
    owner = getattr(of, "name", None)
    if type(of).__name__ != "Name" or owner in _VARIABLES:
        raise InvalidInput(f"a template may ask for fields of items only, not for {name!r}, {location}")
    allowed = _LOOP if owner == "loop" else FIELDS
    if name not in allowed:
        raise InvalidInput(f"a template may not ask for {name!r}, {location}; it may for {', '.join(allowed)}")


def _check_filter(parts: Mapping[str, Any], location: str) -> None:
    name = parts["name"]
    if name not in _FILTERS:
        raise InvalidInput(f"a template has no filter {name!r}, {location}; there are {', '.join(_FILTERS)}")
    if name == "join" and getattr(parts["node"], "name", None) not in HEADINGS:
        raise InvalidInput(f"join takes one of {', '.join(HEADINGS)}, {location}")
    arguments = [*parts["args"], *(keyword.value for keyword in parts["kwargs"])]
    values = [getattr(argument, "value", None) for argument in arguments if type(argument).__name__ == "Const"]
    small = all(
        len(value) <= _LONGEST_ARGUMENT if isinstance(value, str) else abs(value) <= _LARGEST_ARGUMENT
        for value in values
        if isinstance(value, str | int)
    )
    if len(values) < len(arguments) or not small or parts["dyn_args"] is not None or parts["dyn_kwargs"] is not None:
        raise InvalidInput(f"the filter {name!r} takes short constants only, {location}")


def _join(items: list[dict[str, Any]], between: str = "\n", attribute: str = "line") -> str:
    """Return one field of all items, with something in between."""
    return str(between).join(str(item.get(attribute, "")) for item in items)


def _fields(packed_item: PackedItem, now: datetime) -> dict[str, Any]:
    item = packed_item.item
    when = None if item.record is None or item.kind not in ("goal", "task") else due_time(item.record)
    return {
        "mark": packed_item.mark,
        "id": item.id,
        "kind": item.kind,
        "text": packed_item.content,
        "speaker": item.speaker or "",
        "date": "" if item.at is None else day(item.at),
        "ago": "" if item.at is None else ago(item.at, now),
        "due": "" if when is None else day(when),
        "score": round(item.score, 3),
        "line": f"{packed_item.mark} {packed_item.text}".strip(),
    }
