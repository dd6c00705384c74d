"""All that is served, by what it calls."""

from collections.abc import Mapping
from functools import cache

from rememo.serve.rest.adapted import ADAPTED
from rememo.serve.rest.batch import batch
from rememo.serve.rest.signature import Call
from rememo.serve.rest.table import OPERATIONS


@cache
def calls() -> Mapping[str, Call]:
    """Return every operation with the method it calls."""
    ADAPTED["batch"] = batch  # made of the others, so that it comes after them
    return {one.calls: Call(one) for one in OPERATIONS}
