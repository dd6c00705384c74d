"""The error of an adapter whose framework is not installed."""

from rememo.errors import MissingExtra


def missing_framework(framework: str, extra: str, error: ImportError) -> MissingExtra:
    """Return the error of an adapter whose framework cannot be imported."""
    return MissingExtra(f'this adapter needs {framework} ({error}): pip install "rememo[{extra}]"')
