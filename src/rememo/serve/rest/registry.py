"""All that is served, by what it calls."""

from collections.abc import Mapping
from functools import cache

from rememo.serve.rest.batch import batch
from rememo.serve.rest.operations import OPERATIONS
from rememo.serve.rest.overrides import OVERRIDES
from rememo.serve.rest.signature import OperationSpec


@cache
def operation_specs() -> Mapping[str, OperationSpec]:
    """Return every operation with the method it calls."""
    OVERRIDES["batch"] = batch  # made of the others, so that it comes after them
    return {operation.method_path: OperationSpec(operation) for operation in OPERATIONS}
