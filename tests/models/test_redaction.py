"""Keys and passwords: checked where they enter, and kept nowhere."""

import json
from base64 import b64encode
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.asking import ask, read, said
from tests.servers.fake import FakeServer, Raw, Say, Status
from timeful.errors import ModelError, SettingsError
from timeful.models.chat import OpenAIModel
from timeful.models.redaction import Redactor, clean_key, find_secrets
from timeful.models.request import address

pytest.importorskip("openai")

KEY = "sk-CANARY/7+x"
FORMS = (KEY, quote(KEY, safe=""), b64encode(KEY.encode()).decode(), f"{KEY}\\n")


@pytest.fixture(autouse=True)
def _loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def test_a_key_with_a_newline_is_sent_without_it() -> None:
    with FakeServer([Say("one")]) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url, api_key=f"\t{KEY}\n")
        read(model.open(ask(), max_tokens=None, seed=1))
        model.close()
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", ["sk-CANARY\nx", "sk-CANARY\x00", "sk-CANARY\u2028x", "sk-CANARYé"])
def test_a_key_that_no_header_takes_is_refused_without_its_text(key: str) -> None:
    with pytest.raises(SettingsError) as caught:
        OpenAIModel(model="fake", base_url="http://127.0.0.1:1/v1", api_key=key)
    assert "CANARY" not in str(caught.value)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["malformed", "html", "status", "in_stream"])
def test_an_echo_of_the_key_is_in_no_error(form: str, kind: str) -> None:
    error = {"error": {"message": f"Bearer {form}", "code": 400}}
    script = {
        "malformed": Raw(f"data: [{json.dumps(form)}]\n\n".encode()),
        "html": Raw(f"{form} is your header\n\n".encode()),
        "status": Status(401, f"wrong key: {form}"),
        "in_stream": Raw(f"data: {json.dumps(error)}\n\n".encode()),
    }[kind]
    with FakeServer([script]) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url, api_key=KEY, retries=0)
        with pytest.raises(ModelError) as caught:
            read(model.open(ask(), max_tokens=None, seed=1))
        model.close()
    for hidden in FORMS:
        assert hidden not in str(caught.value)


def test_an_answer_that_repeats_the_key_is_kept_without_it() -> None:
    with FakeServer([Say("a "), Say(f"key: {KEY[:5]}"), Say(KEY[5:]), Say(" sk-")]) as server:
        model = OpenAIModel(model="fake", base_url=server.base_url, api_key=KEY)
        chunks, _ = read(model.open(ask(), max_tokens=None, seed=1))
        model.close()
    assert said(chunks) == "a key: <key> sk-"


@given(st.lists(st.sampled_from([*KEY, KEY[:6], KEY[6:], "x", " "]), max_size=30))
def test_cuts_do_not_matter(pieces: list[str]) -> None:
    redactor = Redactor((KEY,))
    text = "".join([*map(redactor.feed, pieces), redactor.flush()])
    assert text == "".join(pieces).replace(KEY, "<key>")


def test_the_password_of_an_address_is_a_secret_in_all_its_forms() -> None:
    secrets = find_secrets("http://me:p%40ssw@host/v1", "none")
    assert {"p%40ssw", "p@ssw", b64encode(b"me:p@ssw").decode()} <= set(secrets)
    assert find_secrets("http://host/v1", "none") == ()


@pytest.mark.parametrize(
    "url",
    ["htp://u:PASSW@h/v1", "http://u:PASSW@/v1", "http://u:PASSW@[::1/v1", "http://u:1/PASSW@h/v1"],
)
def test_a_wrong_address_is_shown_without_its_password(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        address(url)
    assert "PASSW" not in str(caught.value)


def test_white_space_alone_is_no_key() -> None:
    assert clean_key(" \n") == ""
