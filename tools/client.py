"""Writes src/rememo/client/faces.py: what a client offers, made from the methods that are served so that it cannot drift.

`python tools/client.py` writes it, `python tools/client.py --check` fails when it is out of date.
"""

import ast
import re
import sys

from mirror import CLASSES, PACKAGE, ROOT, defined, docstring, imported, methods, tidy

from rememo.serve.rest.operations import OPERATIONS

TARGET = PACKAGE / "client" / "faces.py"
# What a client makes of several requests, or of what it holds itself.
BY_HAND = {"flow", "typed"}
HAND_MADE = {"batch"}
HEAD = '''"""The faces of a client: the methods of a memory that are served, each a request.

Made by tools/client.py from the methods themselves; change those and run the tool.
"""

from typing import cast
from rememo.client.transport import Transport
'''
FACE = '''

class Remote{name}:
    """{doc}
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

'''


def main() -> None:
    """Write the file, or compare it."""
    text = faces()
    if "--check" in sys.argv:
        if TARGET.read_text() != text:
            sys.exit(f"{TARGET.relative_to(ROOT)} is out of date: run python tools/client.py")
    else:
        TARGET.write_text(text)


def faces() -> str:
    """Return the text of faces.py."""
    trees = {name: ast.parse((PACKAGE / path).read_text()) for name, path in CLASSES.items()}
    found = {
        name: next(one for one in tree.body if isinstance(one, ast.ClassDef) and one.name == name)
        for name, tree in trees.items()
    }
    memory = {one.name: returned(one) for one in methods(found["Memory"]) if is_face(one)}
    memory |= {f"working.{one.name}": returned(one) for one in methods(found["Working"]) if is_face(one)}
    served: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        face, _, verb = operation.method_path.rpartition(".")
        if face not in BY_HAND:
            served.setdefault(memory[face] if face else "Memory", []).append(verb)
    imports, said = [HEAD], dict[str, set[str]]()
    classes: list[str] = []
    for name, verbs in served.items():
        own = [(found[name], one) for one in methods(found[name])]
        own += [(found["Records"], one) for one in methods(found["Records"])] if name == "Memory" else []
        shown = [one for _, one in own if one.name in verbs and one.name not in HAND_MADE and one.name[0] != "_"]
        face = next((key for key, value in memory.items() if value == name), "")
        parts = [FACE.format(name=name, doc=(ast.get_docstring(found[name]) or "").split("\n")[0])]
        parts += [method(one, f"{face}.{one.name}" if face else one.name) for one in shown]
        if name in ("Memory", "Working"):
            parts += [prop(one) for one in methods(found[name]) if is_face(one) and returned(one) in served]
        classes.append("\n".join(parts))
        said[name] = set(re.findall(r"\w+", "\n".join(parts)))
    for name, path in CLASSES.items():
        words = said.get("Memory" if name == "Records" else name, set[str]())
        imports += imported(trees[name], words)
        module = "rememo." + path.removesuffix(".py").replace("/", ".")
        imports += [
            f"from {module} import {each}" for each in defined(trees[name]) if each in words and each not in CLASSES
        ]
    # Those that speak of others come after them, and Memory's last.
    classes.sort(key=lambda text: ("class RemoteMemory" in text, "class RemoteWorking" in text))
    return tidy("\n".join(dict.fromkeys("\n".join(imports).split("\n"))) + "\n" + "".join(classes))


def returned(one: ast.FunctionDef) -> str:
    """Return what a method says that it returns."""
    return ast.unparse(one.returns) if one.returns else "None"


def is_face(one: ast.FunctionDef) -> bool:
    """Whether it is a property that gives a face."""
    return any(isinstance(each, ast.Name) and each.id == "property" for each in one.decorator_list)


def method(one: ast.FunctionDef, calls: str) -> str:
    """Return a method that asks."""
    names = [each.arg for each in (*one.args.args, *one.args.kwonlyargs) if each.arg != "self"]
    arguments = ", ".join(f'"{name}": {name}' for name in names)
    arguments += f", **{one.args.kwarg.arg}" if one.args.kwarg else ""
    returns = returned(one)
    plain = returns.strip("'\"")
    request = f"self._transport.call('{calls}', {{{arguments}}})"
    given = request if plain == "Any" else f"cast('{plain}', {request})"
    head = f"    def {one.name}({ast.unparse(one.args)}) -> {returns}:\n{docstring(one)}"
    return f"{head}        return {given}\n"


def prop(one: ast.FunctionDef) -> str:
    """Return a property that gives a face."""
    face = f"Remote{returned(one)}"
    head = f"    @property\n    def {one.name}(self) -> {face}:\n{docstring(one)}"
    return f"{head}        return {face}(self._transport)\n"


if __name__ == "__main__":
    main()
