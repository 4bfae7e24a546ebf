"""The tools of an MCP server, listed by the official package `mcp`.

A server is started by a command and queried over its standard input and output, or queried at an
address (Streamable HTTP). Only its tools are listed; none is called. Standard error of the command
is shown only if it fails: servers of mcp 1 log errors about an unknown first request.
"""

import asyncio
import logging
from contextlib import AsyncExitStack
from pathlib import Path, PurePath
from tempfile import TemporaryFile
from typing import IO, Any

import msgspec

from timeful.catalogs.catalog import McpTool
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.reading import extra
from timeful.errors import SettingsError


class McpSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An MCP server.

    Attributes:
        command: The program that starts the server, with arguments, in the folder of the settings.
        url: The address instead of a command, such as http://127.0.0.1:8000/mcp.
        name: Its name in the catalog; by default the url or the name of the program.
        env: Environment variables for the command, in addition to a few such as PATH.
        headers: HTTP headers for the url.
        timeout_s: Time limit for the whole listing, in seconds.
        prefix: A prefix for the name of each tool.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    name: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}
    timeout_s: float = 30.0
    prefix: str = ""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ValueError("an MCP server is given by a command or by a url, one of the two")
        if self.url and not self.url.startswith(("http://", "https://")):
            raise ValueError(f"the url must begin with http:// or https://, got {self.url!r}")
        if not 0 < self.timeout_s < float("inf"):
            raise ValueError(f"timeout_s must be above 0, got {self.timeout_s}")

    @property
    def label(self) -> str:
        """The name of the server."""
        return self.name or self.url or PurePath(self.command[0]).name


def mcp_types(source: McpSource, folder: Path = Path()) -> dict[str, ActionType]:
    """List the tools of a server.

    Args:
        source: The server.
        folder: The working directory of its command.

    Raises:
        SettingsError: If the server cannot be started or reached, exceeds the time limit, fails,
            or lists an invalid tool; names the server.
    """
    with TemporaryFile("w+") as stderr:
        tools = asyncio.run(_list_tools(source, folder, stderr))
    if not tools:
        raise SettingsError(f"the MCP server {source.label} lists no tools")
    types = {}
    for index, data in enumerate(tools):
        tool = McpTool(
            name=data["name"],
            description=data.get("description") or data.get("title") or "",
            input_schema=data["inputSchema"],
        )
        try:
            action = tool.action()
        except ValueError as error:
            raise SettingsError(
                f"the MCP server {source.label}: tools[{index}] ({tool.name!r}): {error}"
            ) from None
        types[source.prefix + tool.name] = ActionType(
            kind="mcp",
            description=tool.description,
            parameters=action.parameters,
            at_least=action.at_least,
            server=source.label,
        )
    return types


async def _list_tools(source: McpSource, folder: Path, stderr: IO[str]) -> list[dict[str, Any]]:
    try:
        async with asyncio.timeout(source.timeout_s):
            return await _pages(source, folder, stderr)
    except TimeoutError:
        raise SettingsError(
            f"the MCP server {source.label} did not list its tools in {source.timeout_s:g} s"
            f"{_last_line(stderr)}"
        ) from None
    except SettingsError:
        raise
    except Exception as error:  # noqa: BLE001 -- sockets, pipes, protocol, JSON: all are the server's
        raise SettingsError(
            f"the MCP server {source.label} failed: {_reason(error)}{_last_line(stderr)}"
        ) from None


def _last_line(stderr: IO[str]) -> str:
    """The last line of standard error for an error message."""
    stderr.seek(0)
    lines = [line.strip() for line in stderr if line.strip()]
    return f"; it said: {lines[-1]}" if lines else ""


async def _pages(source: McpSource, folder: Path, stderr: IO[str]) -> list[dict[str, Any]]:
    mcp = extra("mcp")
    # Otherwise invalid messages of a server are printed with a traceback.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    tools: list[dict[str, Any]] = []
    async with AsyncExitStack() as stack:
        transport = await _transport(source, folder, stderr, stack)
        client = mcp.Client(transport, read_timeout_seconds=source.timeout_s)
        await stack.enter_async_context(client)
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [tool.model_dump(by_alias=True, mode="json") for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:  # the time limit ends an infinite sequence of pages
                return tools


async def _transport(
    source: McpSource, folder: Path, stderr: IO[str], stack: AsyncExitStack
) -> Any:
    """The transport of messages; the stack closes its resources."""
    if source.command:
        stdio = extra("mcp.client.stdio")
        program, *arguments = source.command
        return stdio.stdio_client(
            stdio.StdioServerParameters(
                command=program, args=arguments, env=dict(source.env), cwd=folder
            ),
            errlog=stderr,
        )
    # mcp's own client takes no headers, but an HTTP client that has them.
    http = extra("httpx2").AsyncClient(headers=source.headers, timeout=source.timeout_s)
    await stack.enter_async_context(http)
    return extra("mcp.client.streamable_http").streamable_http_client(source.url, http_client=http)


def _reason(error: BaseException) -> str:
    """The innermost reason: groups of tasks raise groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
