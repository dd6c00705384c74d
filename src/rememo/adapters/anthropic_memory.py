"""Claude's memory tool for the Anthropic SDK's tool runners, over files that are kept as records."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from rememo.adapters.memory_files import COMMANDS, MemoryFiles
from rememo.adapters.missing_framework import missing_framework
from rememo.errors import InvalidInput
from rememo.memory import Memory

try:
    from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command
    from anyio.to_thread import run_sync  # the SDK runs on what anyio runs on, not on asyncio alone
except ImportError as error:
    raise missing_framework("the Anthropic SDK", "anthropic", error) from error


class RememoMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `client.beta.messages.tool_runner(tools=[…])`; its tree belongs to the scope of the view.

    An impossible request is answered with an error for the model; an unreachable store raises.
    """

    def __init__(
        self,
        memory: Memory | str | Path = "rememo.db",
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Keep files in a memory, a view of one, or a memory at a path or address, which `files.close()` closes."""
        super().__init__(cache_control=cache_control)
        self.files = MemoryFiles(memory)

    def call(self, input: object) -> str:
        """Execute the command of a `tool_use` block."""
        return cast("str", super().call(_check_command(input)))

    def clear_all_memory(self) -> str:
        """End all files of this tree."""
        return self.files.clear()

    def _answer(self, command: BetaMemoryTool20250818Command) -> str:
        """Execute a command."""
        try:
            return self.files.run(command.to_dict())
        except InvalidInput as error:
            raise ToolError(str(error)) from error

    view = create = str_replace = insert = delete = rename = _answer


class AsyncRememoMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for `AsyncAnthropic`; the event loop goes on meanwhile."""

    def __init__(
        self,
        memory: Memory | str | Path = "rememo.db",
        *,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Keep files in a memory, a view of one, or a memory at a path or address, which `files.close()` closes."""
        super().__init__(cache_control=cache_control)
        self.files = MemoryFiles(memory)

    async def call(self, input: object) -> str:
        """Execute the command of a `tool_use` block."""
        return cast("str", await super().call(_check_command(input)))

    async def clear_all_memory(self) -> str:
        """End all files of this tree."""
        return await run_sync(self.files.clear)

    async def _answer(self, command: BetaMemoryTool20250818Command) -> str:
        """Execute a command."""
        try:
            return await run_sync(self.files.run, command.to_dict())
        except InvalidInput as error:
            raise ToolError(str(error)) from error

    view = create = str_replace = insert = delete = rename = _answer


def _check_command(input: object) -> Mapping[str, Any]:
    """Return a command that the SDK can parse, or raise `ToolError`."""
    command = cast("Mapping[str, Any]", input if isinstance(input, Mapping) else {})
    name = command.get("command")
    if not isinstance(name, str) or name not in COMMANDS:
        raise ToolError(f"Unknown command: {name}")
    return command
