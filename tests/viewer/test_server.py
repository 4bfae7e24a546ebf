"""Each rule of the viewer's server, one test."""

import asyncio
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.material import write_run
from timeful.errors import SettingsError
from timeful.viewer import server
from timeful.viewer.catalogue import Runs
from timeful.viewer.guard import Address
from timeful.viewer.server import bind, make_app

ADDRESS = Address(host="127.0.0.1", port=7800)
TOKEN = "secret"


class Answer:
    def __init__(self, messages: list[dict[str, Any]]) -> None:
        start = messages[0]
        self.status: int = start["status"]
        self.headers = {k.decode(): v.decode() for k, v in start["headers"]}
        self.body = b"".join(message.get("body", b"") for message in messages[1:])

    def json(self) -> Any:
        is_packed = self.headers.get("content-encoding") == "gzip"
        return json.loads(gzip.decompress(self.body) if is_packed else self.body)


class Client:
    """Calls the application without a socket."""

    def __init__(self, runs: Runs, *, address: Address = ADDRESS, token: str = "") -> None:
        self._app = make_app(runs, address, token)

    def get(
        self, path: str, *, method: str = "GET", host: str = "127.0.0.1:7800", **headers: str
    ) -> Answer:
        path, _, query = path.partition("?")
        pairs = {"host": host, **headers}
        scope = {
            **{"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1"},
            **{"method": method, "path": path, "raw_path": path.encode(), "root_path": ""},
            **{"query_string": query.encode(), "scheme": "http", "client": ("127.0.0.1", 1)},
            "headers": [(k.encode(), v.encode()) for k, v in pairs.items()],
        }
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        asyncio.run(self._app(scope, receive, send))
        return Answer(messages)


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    write_run(tmp_path / "run")
    return Runs([tmp_path])


def test_the_page_and_its_data_are_served(runs: Runs) -> None:
    client = Client(runs)
    assert b'data-store="server"' in client.get("/").body
    assert client.get("/page.js").headers["content-type"].startswith("text/javascript")
    assert client.get("/page.css").status == 200
    assert client.get("/health").json() == {"status": "ok"}
    assert [run["name"] for run in client.get("/api/runs").json()["runs"]] == ["run"]
    assert client.get("/api/runs/0/rows").json()["keys"] == ["e0", "e1"]
    for part in ("lanes", "texts", "frames"):
        assert client.get(f"/api/runs/0/e/1/{part}").json()["pack"] == 1


def test_answers_are_compressed_for_clients_that_read_it(runs: Runs) -> None:
    answer = Client(runs).get("/api/runs/0/e/0/lanes", **{"accept-encoding": "gzip, br"})
    assert answer.headers["content-encoding"] == "gzip"
    assert answer.json()["pack"] == 1


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_only_reading_methods_are_answered(runs: Runs, method: str) -> None:
    assert Client(runs).get("/api/runs", method=method).status == 405


def test_head_is_answered(runs: Runs) -> None:
    assert Client(runs).get("/", method="HEAD").status == 200


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7800", "127.0.0.1:1", "", "a@b"])
def test_a_host_that_is_rebound_is_refused(runs: Runs, host: str) -> None:
    assert Client(runs).get("/", host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:7800", "localhost", "[::1]:7800"])
def test_the_names_of_the_machine_are_accepted(runs: Runs, host: str) -> None:
    assert Client(runs).get("/", host=host).status == 200


def test_any_address_in_numbers_is_accepted_where_all_are_listened_at(runs: Runs) -> None:
    client = Client(runs, address=Address(host="0.0.0.0", port=7800))
    assert client.get("/", host="192.168.0.7:7800").status == 200
    assert client.get("/", host="evil.example:7800").status == 421


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:7800", "x"])
def test_a_page_of_another_site_is_refused(runs: Runs, origin: str) -> None:
    assert Client(runs).get("/api/runs", origin=origin).status == 403


def test_the_own_origin_is_accepted(runs: Runs) -> None:
    assert Client(runs).get("/api/runs", origin="http://127.0.0.1:7800").status == 200


def test_a_request_without_the_token_is_refused(runs: Runs) -> None:
    client = Client(runs, token=TOKEN)
    for path in ("/", "/page.js", "/api/runs", "/api/changes", "/health"):
        assert client.get(path).status == 403
    assert client.get("/?token=wrong").status == 403
    assert client.get("/", cookie="timeful_7800=wrong").status == 403


def test_the_token_becomes_a_cookie_and_leaves_the_address(runs: Runs) -> None:
    client = Client(runs, token=TOKEN)
    answer = client.get(f"/?token={TOKEN}")
    assert answer.status == 303
    assert answer.headers["location"] == "/"
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert client.get("/api/runs", cookie=f"a=b; timeful_7800={TOKEN}").status == 200


def test_every_answer_has_the_headers_that_bind_the_page(runs: Runs) -> None:
    client = Client(runs, token=TOKEN)
    for answer in (client.get("/"), client.get(f"/?token={TOKEN}"), client.get("/", host="x")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert answer.headers["cache-control"] == "no-store"
        assert "server" not in answer.headers


@pytest.mark.parametrize(
    "path",
    [
        "/api/runs/9/rows",
        "/api/runs/0/e/9/lanes",
        "/api/runs/0/e/0/secret",
        "/api/runs/-1/rows",
        "/api/runs/0/e/..%2f..%2fetc/lanes",
        "/../settings.json",
        "/episodes/e0.jsonl",
    ],
)
def test_episodes_are_numbers_and_never_paths(runs: Runs, path: str) -> None:
    assert Client(runs).get(path).status == 404


def test_a_link_that_leads_out_of_a_run_is_not_followed(tmp_path: Path) -> None:
    run = write_run(tmp_path / "runs" / "run", count=1)
    secret = tmp_path / "secret.jsonl"
    secret.write_text('{"event":"noted","at":0,"topic":"a","text":"secret"}\n')
    (run / "episodes" / "link.jsonl").symlink_to(secret)
    client = Client(Runs([tmp_path / "runs"]))
    assert client.get("/api/runs/0/rows").json()["keys"] == ["e0", "link"]
    answer = client.get("/api/runs/0/e/1/lanes")
    assert answer.status == 404
    assert b"secret" not in answer.body.replace(b"link.jsonl", b"")
    rows = {c["name"]: c["values"] for c in client.get("/api/runs/0/rows").json()["columns"]}
    assert rows["status"] == ["ok", "unreadable"]


def test_a_part_that_is_too_large_is_refused(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LARGEST_PART", 100)
    assert Client(runs).get("/api/runs/0/e/0/lanes").status == 404


def test_the_next_free_port_is_taken() -> None:
    first, address = bind("127.0.0.1", 0)
    second, other = bind("127.0.0.1", address.port)
    assert other.port > address.port
    first.close()
    second.close()


def test_an_address_of_another_machine_cannot_be_taken() -> None:
    with pytest.raises(SettingsError):
        bind("203.0.113.7", 7800)


def test_a_run_that_grows_is_announced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CHECK_S", 0)
    run = write_run(tmp_path / "run", count=1)
    runs = Runs([tmp_path])

    async def follow() -> list[str]:
        changes = server._changes(runs)
        lines = [await anext(changes)]
        (run / "episodes" / "new.jsonl").write_text("{}\n")
        lines.append(await anext(changes))
        await changes.aclose()  # type: ignore[attr-defined]
        return lines

    assert all(line.startswith("event: change\n") for line in asyncio.run(follow()))
    assert runs.rows(0).keys == ["e0", "new"]
