"""Writes src/rememo/aio.py: the async twin of every class that does I/O, made from its source so that it cannot drift.

`python tools/mirror.py` writes it, `python tools/mirror.py --check` fails when it is out of date.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "rememo"
TARGET = PACKAGE / "aio.py"

# Classes to mirror, with where they are written; what a method returns of them is mirrored too.
CLASSES = {
    "Records": "collections/records.py",
    "KeyValues": "working/kv.py",
    "Cached": "working/cached.py",
    "Messages": "collections/messages.py",
    "Facts": "collections/facts.py",
    "Revisions": "collections/revisions.py",
    "Relationships": "collections/relationships.py",
    "Documents": "collections/documents.py",
    "Goals": "collections/goals.py",
    "Tasks": "collections/tasks.py",
    "Actions": "collections/actions.py",
    "Thoughts": "collections/thoughts.py",
    "Posts": "collections/posts.py",
    "Summaries": "collections/summaries.py",
    "Profiles": "working/profiles.py",
    "ContextValues": "working/values.py",
    "Todos": "working/todos.py",
    "Working": "working/working.py",
    "Sessions": "working/sessions.py",
    "Flow": "working/flows.py",
    "Typed": "working/typed.py",
    "Quarantine": "keep/quarantine.py",
    "Jobs": "collections/jobs.py",
    "Audit": "keep/audit.py",
    "Retention": "keep/retention.py",
    "Archive": "keep/archive.py",
    "Memory": "memory.py",
    "BatchView": "memory.py",
    "RecentMessages": "working/recent.py",
}
# What a user opens, and so closes.
OPENED = {"Memory", "RecentMessages"}
# What does no I/O stays as it is.
PLAIN = {
    "scope",
    "pool",
    "bound",
    "hooks",
    "provider",
    "providers",
    "name",
    "id",
    "steps",
    "on_change",
    "off_change",
    "acting",
    "compliance",
    "rule",
}
# What waits for foreign code, which may itself wait for calls on these threads: it has a thread elsewhere.
APART = {"compose"}

OWN = """
    @property
    def _own(self) -> {name}:
        return cast("{name}", self._mirrored)
"""

HEAD = '''"""AsyncMemory: the same surface as `Memory`, each call on a thread of its own pool.

Made by tools/mirror.py from memory.py; change that file and run the tool.
"""

'''

BASE = '''
T = TypeVar("T")
P = ParamSpec("P")

_THREADS = 8


class Mirror:
    """A synchronous object and the threads its calls run on."""

    def __init__(self, mirrored: Any, threads: ThreadPoolExecutor) -> None:
        self._mirrored = mirrored
        self._threads = threads

    async def _call_apart(self, run: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run one call on a thread of the event loop's own; async functions it calls run on that loop."""
        context = contextvars.copy_context()
        context.run(caller_loop.set, asyncio.get_running_loop())
        return await asyncio.get_running_loop().run_in_executor(None, lambda: context.run(run, *arguments, **named))

    async def _call(self, run: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Run one call on a thread; the context (tracing and the like) goes with it."""
        context = contextvars.copy_context()

        def call() -> T:
            return context.run(run, *arguments, **named)

        try:
            running = asyncio.get_running_loop().run_in_executor(self._threads, call)
        except RuntimeError:  # what a pool that was shut down says
            raise Closed("this memory was closed; open it again with AsyncMemory(url)") from None
        return await running

    async def _leave(self, manager: AbstractContextManager[object], error: BaseException) -> bool | None:
        """End a block that raised, on a thread; a generator that is thrown away may not wait, so it does so here."""
        if isinstance(error, GeneratorExit):
            return manager.__exit__(type(error), error, error.__traceback__)
        return await self._call(manager.__exit__, type(error), error, error.__traceback__)

'''

IMPORTS = """
import asyncio
import contextvars
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from typing import Any, Generic, ParamSpec, Self, TypeVar, cast
from types import TracebackType
from collections.abc import Callable
from rememo.errors import Closed
from rememo.context.pool import caller_loop
from rememo.collections.records import Duration, Records
from rememo.memory import BatchView, Memory
"""


def main() -> None:
    """Write the file, or compare it."""
    text = mirrored()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            sys.exit(f"{TARGET.relative_to(ROOT)} is out of date: run python tools/mirror.py")
    else:
        TARGET.write_text(text)


def mirrored() -> str:
    """Return the text of aio.py."""
    imports: list[str] = [IMPORTS]
    classes: list[str] = []
    for name, path in CLASSES.items():
        tree = ast.parse((PACKAGE / path).read_text())
        source = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        words = spoken(source)
        imports += imported(tree, words)
        module = "rememo." + path.removesuffix(".py").replace("/", ".")
        imports += [f"from {module} import {name}" for name in defined(tree) if name in words]
        classes.append(mirror_class(source))
    return tidy(HEAD + "\n".join(imports) + BASE + "\n\n".join(classes))


def spoken(source: ast.ClassDef) -> set[str]:
    """Return the words in the signatures of a class's methods, and its own name: only these are imported."""
    public = [method for method in methods(source) if not method.name.startswith("_") or source.name in OPENED]
    signatures = [
        f"{ast.unparse(method.args)} {ast.unparse(method.returns or ast.Constant(None))}" for method in public
    ]
    return set(re.findall(r"\w+", " ".join(signatures))) | {source.name}


def imported(tree: ast.Module, words: set[str]) -> list[str]:
    """Return the imports of a module that bring some of these words, those for type checkers too."""
    lines: list[str] = []
    for statement in [statement for top in tree.body for statement in (top.body if isinstance(top, ast.If) else [top])]:
        if isinstance(statement, ast.Import):
            lines += [f"import {alias.name}" for alias in statement.names if alias.name in words]
        if isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            lines += [
                f"from {statement.module} import {alias.name}" for alias in statement.names if alias.name in words
            ]
    return lines


def defined(tree: ast.Module) -> list[str]:
    """Return the public names a module defines, for annotations; what is not needed is dropped when tidying."""
    names = [node.name for node in tree.body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    names += [ast.unparse(node.targets[0]) for node in tree.body if isinstance(node, ast.Assign)]
    return [name for name in names if not name.startswith("_") and name.isidentifier()]


def mirror_class(source: ast.ClassDef) -> str:
    """Return the async twin of a class."""
    base = next(
        (f"Async{base.id}" for base in source.bases if isinstance(base, ast.Name) and base.id in CLASSES), "Mirror"
    )
    generic = next((ast.unparse(base) for base in source.bases if isinstance(base, ast.Subscript)), "")
    own = source.name + generic.removeprefix("Generic")
    base = f"{base}, {generic}" if generic else base
    doc = ast.get_docstring(source) or ""
    parts = [f'class Async{source.name}({base}):\n    """{doc.replace(chr(10), chr(10) + "    ")}\n    """\n']
    parts.append(OWN.format(name=own))
    if source.name in OPENED:
        parts.append(constructor(source.name, next(method for method in methods(source) if method.name == "__init__")))
    body = zip(source.body, [*source.body[1:], None], strict=True)
    attributes = [(statement, following) for statement, following in body if isinstance(statement, ast.AnnAssign)]
    parts += [
        attribute(statement, following)
        for statement, following in attributes
        if not ast.unparse(statement.target).startswith("_")
    ]
    parts += [mirror_method(method) for method in methods(source) if not method.name.startswith("_")]
    if source.name in OPENED:
        parts.append(LIFE)
    return "\n".join(parts)


def methods(source: ast.ClassDef) -> list[ast.FunctionDef]:
    """Return the methods of a class."""
    return [node for node in source.body if isinstance(node, ast.FunctionDef)]


def constructor(name: str, method: ast.FunctionDef) -> str:
    """Return the twin's constructor."""
    doc = docstring(method)
    return (
        f"    def __init__({ast.unparse(method.args)}) -> None:\n{doc}"
        f"        super().__init__({name}({passed(method)}), ThreadPoolExecutor(_THREADS, 'rememo'))\n"
    )


LIFE = '''
    async def __aenter__(self) -> Self:
        """Return it; it is closed at the end."""
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close it."""
        await self.close()
'''


def attribute(target: ast.AnnAssign, following: ast.stmt | None) -> str:
    """Return a property for a public attribute, with the text below it as its docstring."""
    name, doc = ast.unparse(target.target), ""
    if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
        doc = f'        """{following.value.value}"""\n'
    head = f"    @property\n    def {name}(self) -> {ast.unparse(target.annotation)}:\n{doc}"
    return f"{head}        return self._own.{name}\n"


def mirror_method(method: ast.FunctionDef) -> str:
    """Return the async twin of a method."""
    name, doc = method.name, docstring(method)
    returned = ast.unparse(method.returns) if method.returns else "None"
    decorators = {decorator.id for decorator in method.decorator_list if isinstance(decorator, ast.Name)}
    mirrored_type = mirror_type(returned)
    wrapped = mirrored_type != returned
    if "property" in decorators:
        value = f"self._own.{name}"
        if not wrapped and name not in PLAIN:  # it reads: there is something to wait for
            return f"    @property\n    async def {name}(self) -> {mirrored_type}:\n{doc}        return await self._call(lambda: {value})\n"
        value = f"{plain(mirrored_type)}({value}, self._threads)" if wrapped else value
        return f"    @property\n    def {name}(self) -> {mirrored_type}:\n{doc}        return {value}\n"
    arguments = ast.unparse(method.args)
    if "contextmanager" in decorators:
        inner = plain(mirrored_type).removeprefix("Generator[").removesuffix("]").strip("'\"")
        entered = "await self._call(manager.__enter__)"
        view = f"        view = {entered}\n"
        inner = f"Async{inner}" if inner in CLASSES else inner
        if inner.removeprefix("Async") in CLASSES:
            view = f"        view = {inner}.__new__({inner})\n        Mirror.__init__(view, {entered}, self._threads)\n"
        return (
            f"    @asynccontextmanager\n    async def {name}({arguments}) -> AsyncGenerator['{inner}']:\n{doc}"
            f"        manager = self._own.{name}({passed(method)})\n{view}"
            "        try:\n            yield view\n"
            "        except BaseException as error:\n"
            "            if not await self._leave(manager, error):\n                raise\n"
            "        else:\n            await self._call(manager.__exit__, None, None, None)\n"
        )
    call = f"self._own.{name}({passed(method)})"
    how = "_call_apart" if name in APART else "_call"
    waited = f"await self.{how}(self._own.{name}{', ' if passed(method) else ''}{passed(method)})"
    if wrapped and "[" in mirrored_type:
        made = f"        return {plain(mirrored_type)}({call if name in PLAIN else waited}, self._threads)\n"
    elif wrapped:
        made = f"        view = {plain(mirrored_type)}.__new__({plain(mirrored_type)})\n"
        made += (
            f"        Mirror.__init__(view, {call if name in PLAIN else waited}, self._threads)\n        return view\n"
        )
    else:
        made = f"        return {call if name in PLAIN else waited}\n"
    if name == "close":
        made = f"        {waited}\n        self._threads.shutdown(wait=False)\n"
    prefix = "" if name in PLAIN else "async "
    return f"    {prefix}def {name}({arguments}) -> {mirrored_type}:\n{doc}{made}"


def mirror_type(returned: str) -> str:
    """Return a returned type with mirrored classes in it replaced."""
    for name in sorted(CLASSES, key=len, reverse=True):
        for quote in ("'", '"'):
            returned = returned.replace(f"{quote}{name}{quote}", f"{quote}Async{name}{quote}")
        if returned == name or returned.startswith(f"{name}["):
            return f"'Async{returned}'"
    return returned


def plain(type: str) -> str:
    """Return a type without its quotes."""
    return type.strip("'\"")


def passed(method: ast.FunctionDef) -> str:
    """Return the arguments of a method as they are passed on."""
    positional = [argument.arg for argument in method.args.args if argument.arg != "self"]
    named = [f"{argument.arg}={argument.arg}" for argument in method.args.kwonlyargs]
    rest = [f"*{method.args.vararg.arg}"] if method.args.vararg else []
    others = [f"**{method.args.kwarg.arg}"] if method.args.kwarg else []
    return ", ".join(positional + rest + named + others)


def docstring(method: ast.FunctionDef) -> str:
    """Return a method's docstring, indented."""
    doc = ast.get_docstring(method) or ""
    lines = doc.split("\n")
    text = "\n".join([lines[0], *(f"        {line}" if line else "" for line in lines[1:])])
    return f'        """{text}"""\n' if len(lines) == 1 else f'        """{text}\n        """\n'


def tidy(text: str) -> str:
    """Return the text as ruff would have it."""
    ruff = [sys.executable, "-m", "ruff"]
    for arguments in (["check", "--fix-only", "--quiet", "--select", "F401,I,F811,UP037"], ["format", "--quiet"]):
        command = [*ruff, *arguments, "--stdin-filename", "src/rememo/aio.py", "-"]
        text = subprocess.run(  # noqa: S603 - our own arguments
            command, input=text, capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout
    return text


if __name__ == "__main__":
    main()
