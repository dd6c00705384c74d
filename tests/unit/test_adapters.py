import importlib
import pkgutil
import re

import pytest

import rememo.adapters
from rememo.errors import MissingExtra

# What adapters are made of; these need no framework.
PARTS = {
    "finding",
    "items",
    "memory_files",
    "memory_lines",
    "memory_paths",
    "needs",
    "opening",
    "reading",
    "vectors",
    "verbatim",
    "waiting",
}
ADAPTERS = [one.name for one in pkgutil.iter_modules(rememo.adapters.__path__) if one.name not in PARTS]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_without_its_framework_an_adapter_says_in_a_line_what_to_install(adapter: str):
    with pytest.raises(MissingExtra) as told:
        importlib.import_module(f"rememo.adapters.{adapter}")
    assert "\n" not in str(told.value)
    assert re.fullmatch(r".*: pip install \"rememo\[[a-z-]+\]\"", str(told.value))
