"""The reference is whole: every public name has an entry, with what its parameters and fields mean."""

import inspect
import re
import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.serve.conftest import running

import rememo
from rememo import Memory, Settings
from rememo.public_operations import PUBLIC_CLASSES
from rememo.serve.rest.openapi import openapi_document

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "tools"))

import reference  # noqa: E402 - a tool, not a package

PAGES = reference.pages()
TEXT = "\n".join(PAGES.values())


def test_every_public_name_has_an_entry():
    assert [name for name in rememo.__all__ if f"## `{name}`" not in TEXT] == []


@pytest.mark.parametrize("page", [*PAGES, "commands"])
def test_no_row_of_a_table_is_without_its_meaning(page: str):
    text = "\n".join(reference.commands()) if page == "commands" else PAGES[page]
    rows = [line for line in text.splitlines() if line.startswith("|") and set(line) - set("|- ")]
    assert len(rows) > 0 or page == "errors"
    assert [row for row in rows if row.replace("\\|", "").split("|")[-2].strip() == ""] == []
    assert not re.search(r"\bat 0x[0-9a-f]+", text), "an address in memory"


def test_every_public_class_says_how_it_is_made():
    for name in ("Memory", "AsyncMemory", "Client", "RecentMessages", "AsyncRecentMessages", "Working", "Keyring"):
        entry = PAGES["python"].split(f"\n## `{name}`\n")[1].split("\n##")[0]
        assert f"```text\n{name}(" in entry
        for parameter in list(inspect.signature(getattr(rememo, name).__init__).parameters)[1:]:
            assert f"\n| `{parameter}` |" in entry, f"{name}({parameter})"


@pytest.mark.parametrize("owner", PUBLIC_CLASSES, ids=lambda owner: owner.__name__)
def test_every_public_method_has_an_entry_with_parameters_and_an_example(owner: type[Any]):
    for name, method in inspect.getmembers(owner, inspect.isfunction):
        if name.startswith("_"):
            continue
        entry = reference.method_entry(owner, name)
        assert entry in TEXT, name
        for parameter in list(inspect.signature(method).parameters)[1:]:
            assert re.search(rf"^\| `{parameter}` \|.*\| \S.* \|$", entry, re.MULTILINE), f"{name}({parameter})"
        assert re.search(rf"```python\n(.*\n)*?.*\b{name}\(.*", entry), f"{owner.__name__}.{name} has no example"


def test_every_value_has_its_fields_and_every_error_is_there():
    for kind in reference.value_types():
        entry = TEXT.split(f"## `{kind.__name__}`")[1].split("\n## ")[0]
        assert is_dataclass(kind)
        for field in fields(kind):
            if not field.name.startswith("_"):
                assert re.search(rf"^\| `{field.name}` \|.*\| \S.* \|$", entry, re.MULTILINE), (
                    f"{kind.__name__}.{field.name}"
                )


def test_every_setting_has_its_meaning():
    for field in fields(Settings):
        assert re.search(rf"^\| `{field.name}` \| `.*` \| \S.* \|$", PAGES["settings"], re.MULTILINE), field.name


def test_every_parameter_and_field_of_the_rest_interface_is_described():
    document = openapi_document()
    routes = [(path, route) for path, verbs in document["paths"].items() for route in verbs.values()]
    lacking = [
        f"{path}: {name}"
        for path, route in routes
        for name, text in [
            *(
                (parameter.get("name"), parameter.get("description", "$ref" in parameter))
                for parameter in route.get("parameters", [])
            ),
            *(
                (name, field.get("description"))
                for name, field in route.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema", {})
                .get("properties", {})
                .items()
            ),
        ]
        if not text
    ]
    lacking += [
        f"{name}.{field}"
        for name, shape in document["components"]["schemas"].items()
        for field, about in shape["properties"].items()
        if not about.get("description")
    ]
    assert lacking == []


def test_the_server_shows_its_routes_as_a_page_that_loads_nothing():
    with Memory(":memory:") as memory, running(memory) as address:
        answer = httpx.get(f"{address}/docs", trust_env=False)
    assert answer.headers["content-type"].startswith("text/html")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert all(f"<code>{path}</code>" in answer.text for path in openapi_document()["paths"])
    assert not re.search(r"<script|src=|https?://(?!127)", re.sub(r"<(td|p|pre)>.*?</\1>", "", answer.text))


def test_the_examples_that_no_guide_shows_run(tmp_path: Path):
    command = [sys.executable, "-W", "error", str(ROOT / "tools" / "reference_examples.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
