"""The description of the API against the API: whatever it allows is answered as it says, and nothing makes the server fail.

`REMEMO_SCHEMA_EXAMPLES=60` looks much further, differently each time.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis as untyped
from hypothesis import HealthCheck, Phase, settings
from schemathesis import checks as general
from schemathesis.specs.openapi import checks as particular

from rememo import Memory, Settings
from rememo.serve.app import create_app
from rememo.serve.rest.openapi import openapi_document
from rememo.testing import ManualClock, WordEmbedder

# Half of its types cannot be told.
schemathesis: Any = untyped
both: Any = (general, particular)
CHECKS: list[Any] = [
    both[0].not_a_server_error,
    both[1].status_code_conformance,
    both[1].content_type_conformance,
    both[1].response_schema_conformance,
]
FEW = 4
EXAMPLES = int(os.environ.get("REMEMO_SCHEMA_EXAMPLES", str(FEW)))
GIVEN = Settings(durability="fast", audit=True)
schema = schemathesis.openapi.from_dict(openapi_document())
schema.config.phases.coverage.enabled = EXAMPLES != FEW  # some fifty requests more for each operation


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: Any) -> bytes:
    """Send what is made up as it is."""
    return value.encode(errors="replace") if isinstance(value, str) else json.dumps(value).encode()


@pytest.fixture(scope="module")
def address(hub: Any) -> Iterator[str]:
    """Serve one memory to all: what one operation leaves behind is what the next finds."""
    apps, place = hub
    with Memory(":memory:", embedder=WordEmbedder(), settings=GIVEN, clock=ManualClock()) as memory:
        app = create_app(memory)
        apps.apps["schema"] = app
        yield f"{place}/schema"
        del apps.apps["schema"]
        app.state.service.close()


@schema.parametrize()
@settings(
    max_examples=EXAMPLES, derandomize=EXAMPLES == FEW, deadline=None, database=None,
    phases=[Phase.explicit, Phase.generate], suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)  # fmt: skip
def test_the_api_is_what_it_says(case: Any, address: str):
    case.call_and_validate(base_url=address, checks=CHECKS)
