"""An endpoint that answers as told, and a model behind it that never waits long."""

from collections.abc import Iterator

import pytest

from rememo.llm.openai import OpenAICompatible
from rememo.testing.endpoint import ScriptedEndpoint


@pytest.fixture
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint() as served:
        yield served


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def llm(endpoint: ScriptedEndpoint, pauses: list[float]) -> Iterator[OpenAICompatible]:
    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    with OpenAICompatible(endpoint.url, "scripted", "secret-key", retries=2, sleep=sleep) as model:
        yield model
