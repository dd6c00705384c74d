"""The MCP server: handlers of tools, resources and prompts for the official SDK, independent of the transport."""

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    PromptArgument,
    PromptMessage,
    PromptReference,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextContent,
    TextResourceContents,
    ToolAnnotations,
)
from mcp.types import Prompt as McpPrompt
from mcp.types import Tool as McpTool

from rememo._version import __version__
from rememo.errors import InvalidInput, NotFound, RememoError, StorageError
from rememo.model.check import dump_json
from rememo.serve.http_errors import STORE_MESSAGES
from rememo.serve.mcp import graph, prompts, resources
from rememo.serve.mcp.graph_models import NoArguments
from rememo.serve.mcp.tool import ScopedArguments, Tool, ToolCaller
from rememo.serve.mcp.tools import INSTRUCTIONS, TOOLS
from rememo.serve.write_only import strip_contents

if TYPE_CHECKING:
    from rememo.memory import Memory

T = TypeVar("T")
Context = ServerRequestContext[Any, Any]

_JSON: Final = "application/json"
_MOST_COMPLETED: Final = 100
INTERNAL_MESSAGE: Final = "internal error; the server's log has the cause"
"""What clients see of an unexpected failure."""
_log = logging.getLogger("rememo.serve.mcp")


class MemoryAccess(Protocol):
    """How requests reach a memory: as the one client of a pipe, or by an API key."""

    async def caller(self, ctx: Context) -> ToolCaller:
        """Return the caller of a request."""
        ...

    async def call(self, ctx: Context, work: "Callable[[Memory], T]") -> T:
        """Run a function with the caller's view, on a thread."""
        ...


class RequestHandlers:
    """The handlers of the protocol's requests."""

    def __init__(self, access: MemoryAccess, tools: Sequence[Tool], *, in_turn: bool = False) -> None:
        """Offer tools; `in_turn` serializes writing calls in the order they came."""
        self._access = access
        self._tools = {tool.name: tool for tool in tools}
        self._turn = anyio.Lock() if in_turn else None

    async def tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        """List the tools that the caller may use."""
        _refuse_cursor(params)
        caller = await self._access.caller(ctx)
        return ListToolsResult(
            tools=[_tool_declaration(tool, caller) for tool in self._tools.values() if tool.right in caller.rights]
        )

    async def use(self, ctx: Context, params: CallToolRequestParams) -> CallToolResult:
        """Call a tool; errors are returned to the assistant as text that says what to do."""
        caller = await self._access.caller(ctx)
        tool = self._tools.get(params.name)
        if tool is None or tool.right not in caller.rights:
            allowed = [tool.name for tool in self._tools.values() if tool.right in caller.rights]
            raise MCPError(
                INVALID_PARAMS, f"Unknown tool: {params.name[:100]}; there are {', '.join(allowed) or 'none'}"
            )
        turn: AbstractAsyncContextManager[Any] = nullcontext()
        if self._turn is not None and tool.right == "write":
            turn = self._turn
        try:
            arguments = tool.arguments(params.arguments)
            async with turn:
                answer, text = await self._access.call(
                    ctx, lambda memory: tool.handler(_narrow_view(memory, arguments), caller, arguments)
                )
        except RememoError as error:
            return CallToolResult(content=[TextContent(text=describe_error(error))], is_error=True)
        except Exception:  # noqa: BLE001 - its details are logged, not returned
            _log.exception("the tool %s failed", tool.name)
            return CallToolResult(content=[TextContent(text=INTERNAL_MESSAGE)], is_error=True)
        if tool.right != "read" and "read" not in caller.rights:
            emptied = strip_contents(answer)
            return CallToolResult(content=[TextContent(text=dump_json(emptied))], structured_content=emptied)
        return CallToolResult(content=[TextContent(text=text)], structured_content=answer.to_wire())

    async def resources(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List rooms, documents and profiles, page by page."""
        await self._need_read(ctx)
        cursor = None if params is None else params.cursor
        page, next_cursor = await self._run(ctx, lambda memory: resources.list_page(memory, cursor))
        return ListResourcesResult(resources=page, next_cursor=next_cursor)

    async def templates(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        """List the resource templates."""
        _refuse_cursor(params)
        return ListResourceTemplatesResult(
            resource_templates=[
                ResourceTemplate(
                    uri_template=kind.template, name=kind.name, title=kind.title, description=kind.description,
                    mime_type=resources.MARKDOWN,
                )
                for kind in resources.KINDS
            ]
        )  # fmt: skip

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read a resource."""
        await self._need_read(ctx)
        text = await self._run(ctx, lambda memory: resources.read_resource(memory, params.uri), {"uri": params.uri})
        return _resource_result(params.uri, text, resources.MARKDOWN)

    async def prompts(self, ctx: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """List the prompts."""
        _refuse_cursor(params)
        caller = await self._access.caller(ctx)
        if "read" not in caller.rights:
            return ListPromptsResult(prompts=[])
        return ListPromptsResult(
            prompts=[
                McpPrompt(
                    name=prompt.name,
                    title=prompt.title,
                    description=prompt.description,
                    arguments=[
                        PromptArgument(name=name, description=about, required=needed)
                        for name, (about, needed) in prompt.arguments.items()
                        if name not in caller.bound
                    ],
                )
                for prompt in prompts.PROMPTS
            ]
        )

    async def prompt(self, ctx: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """Render a prompt."""
        await self._need_read(ctx)
        arguments: Mapping[str, str] = params.arguments or {}
        text = await self._run(ctx, lambda memory: prompts.render_prompt(memory, params.name, arguments))
        return GetPromptResult(messages=[PromptMessage(role="user", content=TextContent(text=text))])

    async def complete(self, ctx: Context, params: CompleteRequestParams) -> CompleteResult:
        """Complete the name of a room, a document or a user."""
        await self._need_read(ctx)
        template = "" if isinstance(params.ref, PromptReference) else params.ref.uri
        argument = params.argument
        names = await self._run(
            ctx, lambda memory: resources.complete_names(memory, template, argument.name, argument.value)
        )
        return CompleteResult(
            completion=Completion(
                values=names[:_MOST_COMPLETED], total=len(names), has_more=len(names) > _MOST_COMPLETED
            )
        )

    async def graph_listed(self, ctx: Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """List the resource of the knowledge graph."""
        await self._need_read(ctx)
        resource = Resource(
            uri=graph.RESOURCE,
            name="knowledge-graph",
            title="Knowledge Graph",
            description="The full knowledge graph with all entities and relations",
            mime_type=_JSON,
        )
        return ListResourcesResult(resources=[resource])

    async def graph_read(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Read the resource of the knowledge graph."""
        await self._need_read(ctx)
        if params.uri != graph.RESOURCE:
            raise MCPError(INVALID_PARAMS, f"there is no resource {params.uri[:200]!r}; there is {graph.RESOURCE}")
        _, text = await self._run(ctx, lambda memory: graph.read_graph(memory, ToolCaller(), NoArguments()))
        return _resource_result(params.uri, text, _JSON)

    async def _need_read(self, ctx: Context) -> None:
        if "read" not in (await self._access.caller(ctx)).rights:
            raise MCPError(INVALID_PARAMS, "this key has no right to read; use one with the right `read`")

    async def _run(self, ctx: Context, work: "Callable[[Memory], T]", about: object = None) -> T:
        """Run a function; errors become errors of the protocol, with `about` as their data."""
        try:
            return await self._access.call(ctx, work)
        except (InvalidInput, NotFound) as error:
            raise MCPError(INVALID_PARAMS, str(error), about) from None
        except RememoError as error:
            raise MCPError(INTERNAL_ERROR, describe_error(error)) from None
        except Exception:  # noqa: BLE001 - the same
            _log.exception("%s failed", ctx.method)
            raise MCPError(INTERNAL_ERROR, INTERNAL_MESSAGE) from None


def build_server(access: MemoryAccess) -> Server[Any]:
    """Return the server of a memory."""
    handlers = RequestHandlers(access, TOOLS)
    return Server(
        "rememo",
        version=__version__,
        title="Rememo",
        description="Long-term memory for assistants and agents.",
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.tools,
        on_call_tool=handlers.use,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_read_resource=handlers.read,
        on_list_prompts=handlers.prompts,
        on_get_prompt=handlers.prompt,
        on_completion=handlers.complete,
    )


def build_graph_server(access: MemoryAccess) -> Server[Any]:
    """Return the server that replaces the reference knowledge-graph memory server."""
    handlers = RequestHandlers(access, graph.TOOLS, in_turn=True)
    return Server(
        "rememo",
        version=__version__,
        title="Rememo (knowledge graph)",
        on_list_tools=handlers.tools,
        on_call_tool=handlers.use,
        on_list_resources=handlers.graph_listed,
        on_read_resource=handlers.graph_read,
    )


def describe_error(error: RememoError) -> str:
    """Return the text of an error, and log errors of the store."""
    if isinstance(error, StorageError):
        _log.error("%s: %s", error.code, error)
    return STORE_MESSAGES.get(error.code, str(error))


def source_of(ctx: Context) -> str:
    """Return the source of a client's records: `mcp`, with the client's name where it sent one."""
    client = ctx.session.client_params
    name = (
        ""
        if client is None
        else "".join(letter for letter in client.client_info.name if letter.isprintable())[:64].strip()
    )
    return f"mcp:{name}" if name else "mcp"


def _refuse_cursor(params: PaginatedRequestParams | None) -> None:
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "this list has one page; ask for it without a cursor")


def _tool_declaration(tool: Tool, caller: ToolCaller) -> McpTool:
    hints = ToolAnnotations(
        read_only_hint=tool.right == "read",
        destructive_hint=tool.destructive,
        idempotent_hint=tool.idempotent,
        open_world_hint=False,
    )
    return McpTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema(caller.bound),
        output_schema=tool.output,
        annotations=hints,
    )


def _narrow_view(memory: "Memory", arguments: object) -> "Memory":
    """Return the caller's view, narrowed by the labels among the arguments."""
    if not isinstance(arguments, ScopedArguments) or (arguments.user, arguments.room) == (None, None):
        return memory
    return memory.scope(user=arguments.user, room=arguments.room)


def _resource_result(uri: str, text: str, kind: str) -> ReadResourceResult:
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])
