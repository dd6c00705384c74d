"""Registry of the served operations."""

from collections.abc import Mapping
from functools import cache

from rememo.serve.rest.batch import batch
from rememo.serve.rest.operations import OPERATIONS
from rememo.serve.rest.overrides import OVERRIDES
from rememo.serve.rest.signature import OperationSpec


@cache
def operation_specs() -> Mapping[str, OperationSpec]:
    """Return the specification of every operation, by the path of its method."""
    OVERRIDES["batch"] = batch  # it uses the other operations, so it is added after them
    return {operation.method_path: OperationSpec(operation) for operation in OPERATIONS}
