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
    sources = {
        name: next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
        for name, tree in trees.items()
    }
    memory = {method.name: returned(method) for method in methods(sources["Memory"]) if is_face(method)}
    memory |= {f"working.{method.name}": returned(method) for method in methods(sources["Working"]) if is_face(method)}
    served: dict[str, list[str]] = {}
    for operation in OPERATIONS:
        face, _, verb = operation.method_path.rpartition(".")
        if face not in BY_HAND:
            served.setdefault(memory[face] if face else "Memory", []).append(verb)
    imports, words_of = [HEAD], dict[str, set[str]]()
    classes: list[str] = []
    for name, verbs in served.items():
        own = [(sources[name], method) for method in methods(sources[name])]
        own += [(sources["Records"], method) for method in methods(sources["Records"])] if name == "Memory" else []
        served_methods = [
            method
            for _, method in own
            if method.name in verbs and method.name not in HAND_MADE and method.name[0] != "_"
        ]
        face = next((key for key, value in memory.items() if value == name), "")
        parts = [FACE.format(name=name, doc=(ast.get_docstring(sources[name]) or "").split("\n")[0])]
        parts += [
            method(served_method, f"{face}.{served_method.name}" if face else served_method.name)
            for served_method in served_methods
        ]
        if name in ("Memory", "Working"):
            parts += [
                prop(method) for method in methods(sources[name]) if is_face(method) and returned(method) in served
            ]
        classes.append("\n".join(parts))
        words_of[name] = set(re.findall(r"\w+", "\n".join(parts)))
    for name, path in CLASSES.items():
        words = words_of.get("Memory" if name == "Records" else name, set[str]())
        imports += imported(trees[name], words)
        module = "rememo." + path.removesuffix(".py").replace("/", ".")
        imports += [
            f"from {module} import {name}" for name in defined(trees[name]) if name in words and name not in CLASSES
        ]
    # Those that speak of others come after them, and Memory's last.
    classes.sort(key=lambda text: ("class RemoteMemory" in text, "class RemoteWorking" in text))
    return tidy("\n".join(dict.fromkeys("\n".join(imports).split("\n"))) + "\n" + "".join(classes))


def returned(method: ast.FunctionDef) -> str:
    """Return what a method says that it returns."""
    return ast.unparse(method.returns) if method.returns else "None"


def is_face(method: ast.FunctionDef) -> bool:
    """Whether it is a property that gives a face."""
    return any(isinstance(decorator, ast.Name) and decorator.id == "property" for decorator in method.decorator_list)


def method(method: ast.FunctionDef, calls: str) -> str:
    """Return a method that asks."""
    names = [argument.arg for argument in (*method.args.args, *method.args.kwonlyargs) if argument.arg != "self"]
    arguments = ", ".join(f'"{name}": {name}' for name in names)
    arguments += f", **{method.args.kwarg.arg}" if method.args.kwarg else ""
    returns = returned(method)
    plain = returns.strip("'\"")
    request = f"self._transport.call('{calls}', {{{arguments}}})"
    given = request if plain == "Any" else f"cast('{plain}', {request})"
    head = f"    def {method.name}({ast.unparse(method.args)}) -> {returns}:\n{docstring(method)}"
    return f"{head}        return {given}\n"


def prop(method: ast.FunctionDef) -> str:
    """Return a property that gives a face."""
    face = f"Remote{returned(method)}"
    head = f"    @property\n    def {method.name}(self) -> {face}:\n{docstring(method)}"
    return f"{head}        return {face}(self._transport)\n"


if __name__ == "__main__":
    main()
