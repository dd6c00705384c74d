"""Optional packages of embedders, imported in one place."""

from importlib import import_module
from types import ModuleType

from rememo.errors import MissingExtra


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional package; raise `MissingExtra` with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f'this embedder needs the package {module}, which cannot be imported ({error}): pip install "rememo[{extra}]"'
        ) from error
