"""The tools of an MCP server, listed by the official package `mcp`.

A server is started by a command and asked over its standard input and output, or is asked at an
address (Streamable HTTP). It is asked for its tools only; none is called. What the command writes
to standard error is kept to itself, unless it fails: servers of mcp 1 complain at length of a first
question that they do not know, and then answer.
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
    """An MCP server to ask for its tools.

    Attributes:
        command: The program and its arguments that start the server, in the settings' folder; or
        url: Where it listens, such as http://127.0.0.1:8000/mcp.
        name: What it is called in the catalog; the url, or the program's name, if none is given.
        env: Environment variables for the command, besides a few plain ones such as PATH.
        headers: HTTP headers for the url.
        timeout_s: How long it may take in all, in seconds.
        prefix: Put before the name of each tool.
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
        """What it is called."""
        return self.name or self.url or PurePath(self.command[0]).name


def mcp_types(source: McpSource, folder: Path = Path()) -> dict[str, ActionType]:
    """Ask a server for its tools.

    Args:
        source: The server.
        folder: Where its command runs.

    Raises:
        SettingsError: If it cannot be started or reached, takes too long, fails, or lists a tool
            that cannot be one; the message names the server.
    """
    with TemporaryFile("w+") as said:
        listed = asyncio.run(_listed(source, folder, said))
    if not listed:
        raise SettingsError(f"the MCP server {source.label} lists no tools")
    found = {}
    for index, data in enumerate(listed):
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
        found[source.prefix + tool.name] = ActionType(
            kind="mcp",
            description=tool.description,
            parameters=action.parameters,
            at_least=action.at_least,
            server=source.label,
        )
    return found


async def _listed(source: McpSource, folder: Path, said: IO[str]) -> list[dict[str, Any]]:
    """All tools, page by page, as MCP has them in JSON."""
    try:
        async with asyncio.timeout(source.timeout_s):
            return await _pages(source, folder, said)
    except TimeoutError:
        raise SettingsError(
            f"the MCP server {source.label} did not list its tools in {source.timeout_s:g} s"
            f"{_last_words(said)}"
        ) from None
    except SettingsError:
        raise
    except Exception as error:  # noqa: BLE001 -- sockets, pipes, protocol, JSON: all are the server's
        raise SettingsError(
            f"the MCP server {source.label} could not be asked: {_reason(error)}{_last_words(said)}"
        ) from None


def _last_words(said: IO[str]) -> str:
    """The last line that a server wrote to its standard error, if it wrote any."""
    said.seek(0)
    lines = [line.strip() for line in said if line.strip()]
    return f"; it said: {lines[-1]}" if lines else ""


async def _pages(source: McpSource, folder: Path, said: IO[str]) -> list[dict[str, Any]]:
    mcp = extra("mcp")
    # Else what a server says that is no message is printed, with a traceback.
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    found: list[dict[str, Any]] = []
    async with AsyncExitStack() as stack:
        transport = await _transport(source, folder, said, stack)
        client = mcp.Client(transport, read_timeout_seconds=source.timeout_s)
        await stack.enter_async_context(client)
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            found += [tool.model_dump(by_alias=True, mode="json") for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:  # a server whose pages never end meets the time limit
                return found


async def _transport(source: McpSource, folder: Path, said: IO[str], stack: AsyncExitStack) -> Any:
    """What carries the messages; what it needs is closed with the stack."""
    if source.command:
        stdio = extra("mcp.client.stdio")
        program, *arguments = source.command
        return stdio.stdio_client(
            stdio.StdioServerParameters(
                command=program, args=arguments, env=dict(source.env), cwd=folder
            ),
            errlog=said,
        )
    # mcp's own client takes no headers, but any client of the library that it is written with.
    http = extra("httpx2").AsyncClient(headers=source.headers, timeout=source.timeout_s)
    await stack.enter_async_context(http)
    return extra("mcp.client.streamable_http").streamable_http_client(source.url, http_client=http)


def _reason(error: BaseException) -> str:
    """The innermost reason: what ran in groups of tasks fails in groups of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__
