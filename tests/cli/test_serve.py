"""`timeful serve` as a process of its own: it comes up, answers, and ends as it is told."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.serving.here import parrot
from timeful.cli.main import app
from timeful.errors import SettingsError
from timeful.models.local import checkpoint
from timeful.serving.server import serve
from timeful.serving.settings import Serving

openai = pytest.importorskip("openai")

PATIENCE_S = 60
KEY = "a-key-of-the-test"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that says "round" for some ten thousand tokens, if it is asked to."""
    path = tmp_path_factory.mktemp("models") / "parrot"
    of = parrot(context=20_000)
    of.model.save_pretrained(path)
    of.tokenizer.save_pretrained(path)
    return path


@dataclass
class Process:
    process: subprocess.Popen[str]
    base_url: str

    def end(self, by: signal.Signals) -> tuple[int, str]:
        self.process.send_signal(by)
        _, err = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, err


@pytest.fixture
def up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Process]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    process = subprocess.Popen(
        [sys.executable, "-m", "timeful", "serve", str(folder), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TIMEFUL_API_KEY": KEY},
    )
    with process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"serving parrot at (http://127\.0\.0\.1:\d+/v1); .*\n", line)
        try:
            assert found, (line, process.stderr and process.stderr.read())
            yield Process(process, found[1])
        finally:
            process.kill()


ASKED = {"model": "parrot", "messages": [{"role": "user", "content": "count"}]}
ENDLESS = {"model": "parrot", "messages": [{"role": "user", "content": "round"}], "stream": True}
SAID = "one two three four five six seven eight nine ten"


def test_it_answers_both_clients_until_ctrl_c_also_in_the_middle_of_an_answer(up):
    with openai.OpenAI(base_url=up.base_url, api_key=KEY, max_retries=0) as client:
        assert client.chat.completions.create(**ASKED).choices[0].message.content == SAID

        async def ask():
            async with openai.AsyncOpenAI(base_url=up.base_url, api_key=KEY) as other:
                stream = await other.chat.completions.create(**ASKED, stream=True)
                return [chunk.choices[0].delta.content or "" async for chunk in stream]

        assert "".join(asyncio.run(ask())) == SAID
        with pytest.raises(openai.AuthenticationError):
            client.with_options(api_key="another").models.list()
        stream = iter(client.chat.completions.create(**ENDLESS))
        assert [next(stream).choices[0].delta.content for _ in range(3)] == ["", "round", " round"]
        code, err = up.end(signal.SIGINT)
        with pytest.raises(openai.APIError, match="closed"):
            list(stream)
    assert (code, err) == (0, "stopped\n")


def test_two_cannot_have_one_port(folder):
    def forget(name: str, address: str) -> None:
        pytest.fail(f"{name} is at {address}")

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=f"port {port} of 127.0.0.1 .*--port"):
            serve(Serving(path=folder, port=port), announce=forget)
    with pytest.raises(SettingsError, match="no address 'no host'"):
        serve(Serving(path=folder, host="no host", api_key=KEY), announce=forget)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["/nowhere"], "no checkpoint '/nowhere'"),
        (["FOLDER", "--dtype", "float31"], "Did you mean 'float32'"),
        (["FOLDER", "--port", "70000"], "a port is 0 to 65535"),
        (["FOLDER", "--threads", "0"], "threads must be 1 or more"),
        (["FOLDER", "--host", "0.0.0.0"], "set TIMEFUL_API_KEY"),
        (["FOLDER", "--host", "::"], "set TIMEFUL_API_KEY"),
        (["FOLDER", "--host", ""], "set TIMEFUL_API_KEY"),
    ],
)
def test_what_cannot_be_served_is_refused_at_once(folder, arguments, says):
    given = [str(folder) if one == "FOLDER" else one for one in arguments]
    with pytest.raises(SettingsError, match=re.escape(says)):
        CliRunner().invoke(app, ["serve", *given], catch_exceptions=False)


def test_a_missing_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr(checkpoint, "find_spec", lambda name: None if name == "uvicorn" else name)
    with pytest.raises(SettingsError, match=r"uvicorn: pip install 'timeful\[serve\]'"):
        Serving(path=folder)


def test_a_key_is_no_option_and_is_shown_nowhere(folder):
    said = CliRunner().invoke(app, ["serve", str(folder), "--api-key", KEY])
    assert said.exit_code == 2
    assert KEY not in repr(Serving(path=folder, api_key=KEY))


def test_help_needs_nothing_heavy():
    code = (
        "import sys; sys.argv = ['timeful', 'serve', '--help']\n"
        "from timeful.cli.main import app\n"
        "try: app()\n"
        "finally: assert not {'torch', 'starlette', 'uvicorn'} & set(sys.modules)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
