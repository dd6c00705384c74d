"""The meanings of fields: the strings that stand below them in the source of their class."""

import ast
import inspect
from functools import cache
from itertools import pairwise
from textwrap import dedent


@cache
def field_docs(kind: type) -> dict[str, str]:
    """Return what each field and property of a class means, those that it inherits too; nothing where the source is missing."""
    docs: dict[str, str] = {}
    for owner in reversed(kind.__mro__[:-1]):
        try:
            tree = ast.parse(dedent(inspect.getsource(owner)))
        except (OSError, TypeError, SyntaxError):
            continue
        [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef)] or [[]]
        for field, text in pairwise(body):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(text, ast.Expr)
                and isinstance(text.value, ast.Constant)
                and isinstance(text.value.value, str)
            ):
                docs[field.target.id] = inspect.cleandoc(text.value.value)
        for name, member in vars(owner).items():
            if isinstance(member, property) and (text := inspect.getdoc(member)):
                docs[name] = text.partition("\n\n")[0]
    return docs
