"""An MCP server of the official package, to be asked in tests: over stdio when it is run."""

from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from pydantic import Field

server = MCPServer("desk")


@server.tool()
def find_account(
    customer_name: Annotated[str, Field(description="First and last name.")],
    region: Literal["north", "south"] = "north",
    tries: int | None = None,
) -> str:
    """Find the account of a customer."""
    return f"{customer_name} {region} {tries}"


@server.tool()
def list_orders() -> str:
    """List the orders of the account that is open."""
    return ""


if __name__ == "__main__":
    server.run("stdio")
