"""The public surface is pinned: adding or taking away a name is a decision made here."""

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import get_type_hints

import rememo
from rememo import errors, memory


def test_the_names_of_the_package():
    assert sorted(rememo.__all__) == [
        "AlreadyExists",
        "ArchiveError",
        "AsyncMemory",
        "AsyncRecentMessages",
        "Busy",
        "Change",
        "Client",
        "Closed",
        "CommitUnknown",
        "Corrupt",
        "DiskFull",
        "EmbeddingFailed",
        "EmbeddingMismatch",
        "Forbidden",
        "Hit",
        "IncompatibleStore",
        "InvalidFilter",
        "InvalidInput",
        "InvalidStep",
        "JobFailed",
        "KeyMismatch",
        "Keyring",
        "Memory",
        "MissingExtra",
        "ModelChanged",
        "ModelFailed",
        "NotFound",
        "OverBudget",
        "Paused",
        "ProviderRequest",
        "ProviderResponse",
        "RateLimited",
        "ReadOnly",
        "ReadOnlyStore",
        "Receipt",
        "RecentMessages",
        "Record",
        "RememoError",
        "Scope",
        "Settings",
        "StorageError",
        "SummaryPolicy",
        "TypeMismatch",
        "Unauthorised",
        "Unavailable",
        "VersionConflict",
        "Working",
    ]
    for name in rememo.__all__:
        assert getattr(rememo, name) is not None


def test_the_version_is_told():
    assert rememo.__version__.count(".") >= 2


def test_the_verbs_of_a_memory():
    verbs = {name for name in dir(rememo.Memory) if not name.startswith("_")}
    assert verbs >= {
        "add", "add_many", "agents", "as_of", "backup", "batch", "bound", "clear", "close", "count", "delete",
        "delete_where", "diff", "export", "get", "history", "hooks", "import_", "kv", "list", "maintain", "rollback",
        "rooms", "scope", "search", "similar", "snapshot", "snapshots", "stats", "undo", "update", "users", "verify",
    }  # fmt: skip


def test_every_error_is_one_of_ours_with_a_code_of_its_own():
    found: list[type[errors.RememoError]] = []
    for error in vars(errors).values():
        if isinstance(error, type):
            assert issubclass(error, errors.RememoError)
            found.append(error)
    codes = [error.code for error in found]
    assert len(set(codes)) == len(codes)
    assert all(error.__doc__ for error in found)


def test_callers_may_catch_the_usual_exceptions():
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.NotFound, LookupError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert issubclass(errors.InvalidFilter, errors.InvalidInput)
    for error in (errors.Busy, errors.DiskFull, errors.Corrupt, errors.KeyMismatch, errors.IncompatibleStore):
        assert issubclass(error, errors.StorageError)


def test_frameworks_can_read_what_the_verbs_of_a_memory_take():
    """They make tools of methods, and ask for the types. These name types that are loaded later."""
    late = {"export", "flow", "import_", "maintain", "spending", "typed"}
    for name, method in inspect.getmembers(rememo.Memory, inspect.isfunction):
        if not name.startswith("_") and name not in late:
            assert "return" in get_type_hints(method), name


def test_opening_loads_little_and_a_fork_all_of_it():
    modules = [ast.parse(file.read_text()) for file in Path(inspect.getfile(memory)).parent.glob("*.py")]
    functions = [node for module in modules for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    later = {each.module for function in functions for each in ast.walk(function) if isinstance(each, ast.ImportFrom)}
    later.remove("rememo.learn.model_learning")  # it needs an extra
    code = "import json, os, sys, rememo; rememo.Memory; before = set(sys.modules); {}; print(json.dumps([*before]), json.dumps([*sys.modules]))"
    # A child that ends at once: what its parent has loaded by then is what counts.
    forked = code.format("os.fork() or os._exit(0); os.wait()")
    said = subprocess.run([sys.executable, "-c", forked], capture_output=True, text=True, check=True).stdout
    before, after = (set[str](json.loads(f"[{modules}]")) for modules in said.strip()[1:-1].split("] ["))
    assert not before & {
        "rememo.jobs.tasks",
        "rememo.keep.erase",
        "rememo.working.working",
        "rememo.context.compose",
        "asyncio",
    }
    assert later <= after
