"""Catalogs from MCP servers: real ones, of the official package, started by the tests."""

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from timeful.catalogs.mcp_source import McpSource, mcp_types
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.schema import Parameter
from timeful.errors import SettingsError

pytestmark = pytest.mark.skipif(find_spec("mcp") is None, reason="mcp is not installed")

SERVER = Path(__file__).with_name("mcp_server.py")

FIND_ACCOUNT = ActionType(
    description="Find the account of a customer.",
    parameters=(
        Parameter(name="customer_name", description="First and last name.", required=True),
        Parameter(name="region", enum=("north", "south")),
        Parameter(name="tries", type="integer"),
    ),
    at_least=1,
    server="desk",
)
LIST_ORDERS = ActionType(description="List the orders of the account that is open.", server="desk")


@pytest.fixture
def served() -> Iterator[tuple[str, list[Any]]]:
    """The server of the tests, over HTTP on loopback: its address, and what it was sent."""
    import uvicorn

    from tests.catalogs.mcp_server import server

    seen: list[Any] = []
    answer = server.streamable_http_app()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        seen.append(scope)
        await answer(scope, receive, send)

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # what comes before the server runs waits for it here
    config = uvicorn.Config(app, log_level="error", ws="none")
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", seen
    running.should_exit = True
    thread.join()


def test_the_tools_of_a_server_that_a_command_starts_are_listed() -> None:
    source = McpSource(name="desk", command=(sys.executable, str(SERVER)), timeout_s=120)
    assert mcp_types(source) == {"find_account": FIND_ACCOUNT, "list_orders": LIST_ORDERS}


def test_the_tools_of_a_server_at_an_address_are_listed(served: tuple[str, list[Any]]) -> None:
    address, seen = served
    source = McpSource(name="desk", url=address, headers={"X-Team": "tests"}, prefix="desk-")
    found = mcp_types(source)
    assert found == {"desk-find_account": FIND_ACCOUNT, "desk-list_orders": LIST_ORDERS}
    asked = [scope["headers"] for scope in seen if scope["type"] == "http"]
    assert asked
    assert all((b"x-team", b"tests") in headers for headers in asked)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (
            McpSource(command=("no-such-program-of-timeful",)),
            "no-such-program-of-timeful",
        ),
        (McpSource(command=(sys.executable, "-c", "raise SystemExit(3)")), "python failed"),
        (
            McpSource(command=(sys.executable, "-c", "raise SystemExit('no licence')")),
            "python failed: .*; it said: no licence",
        ),
        (McpSource(url="http://127.0.0.1:9/mcp"), "http://127.0.0.1:9/mcp failed"),
    ],
)
def test_a_server_that_cannot_be_asked_is_named(source: McpSource, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        mcp_types(source)


def test_what_a_server_complains_of_before_it_answers_is_kept_from_the_terminal(
    capfd: pytest.CaptureFixture[str],
) -> None:
    complaining = (
        "import runpy, sys; sys.stderr.write('31 validation errors\\n'); "
        f"runpy.run_path({str(SERVER)!r}, run_name='__main__')"
    )
    found = mcp_types(McpSource(command=(sys.executable, "-c", complaining), timeout_s=120))
    assert set(found) == {"find_account", "list_orders"}
    assert capfd.readouterr().err == ""


def test_a_server_that_speaks_something_else_is_one_line(tmp_path: Path) -> None:
    chatty = {"name": "chatty", "command": [sys.executable, "-c", "print(1)"]}
    settings = {"catalog_metadata": {"name": "x"}, "sources": [{"mcp": chatty}]}
    (tmp_path / "catalog.yaml").write_text(json.dumps(settings))
    command = ("-m", "timeful", "catalog", "make", "catalog.yaml", "--out", "catalog.json")
    ran = subprocess.run(
        (sys.executable, *command), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    [line] = ran.stderr.splitlines()
    assert "MCP server chatty failed" in line


def test_a_server_that_says_nothing_meets_the_time_limit() -> None:
    # It reads until its input is closed, so it ends by itself once nobody waits any more.
    silent = (sys.executable, "-c", "import sys; sys.stdin.read()")
    with pytest.raises(SettingsError, match=r"did not list its tools in 0\.2 s"):
        mcp_types(McpSource(command=silent, timeout_s=0.2))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "by a command or by a url"),
        ({"command": ("a",), "url": "http://b"}, "by a command or by a url"),
        ({"url": "ftp://b"}, "must begin with http"),
        ({"url": "http://b", "timeout_s": 0}, "timeout_s must be above 0"),
    ],
)
def test_a_source_says_how_to_reach_it(fields: dict[str, object], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        McpSource(**fields)  # type: ignore[arg-type]
