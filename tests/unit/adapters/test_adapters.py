import importlib
import pkgutil
import re

import pytest

import rememo.adapters
from rememo.errors import MissingExtra

# What adapters are made of; these need no framework.
PARTS = {
    "json_values",
    "memory_files",
    "memory_holder",
    "memory_lines",
    "memory_paths",
    "messages",
    "missing_framework",
    "paging",
    "retries",
    "retrieval",
    "store_items",
    "threads",
    "vector_index",
}
ADAPTERS = [module.name for module in pkgutil.iter_modules(rememo.adapters.__path__) if module.name not in PARTS]


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_without_its_framework_an_adapter_says_in_a_line_what_to_install(adapter: str):
    with pytest.raises(MissingExtra) as raised:
        importlib.import_module(f"rememo.adapters.{adapter}")
    assert "\n" not in str(raised.value)
    assert re.fullmatch(r".*: pip install \"rememo\[[a-z-]+\]\"", str(raised.value))
