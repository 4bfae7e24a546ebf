"""Endpoints as settings describe them: one description, for annotations, agents and judges."""

from pathlib import Path

import msgspec
import pytest

from timeful.agents.proactive.settings import AgentFile, load_agent
from timeful.annotation.settings import Settings
from timeful.catalogs.reading import convert
from timeful.errors import SettingsError
from timeful.judges.settings import Judger
from timeful.models.endpoint import Endpoint
from timeful.models.kinds import KINDS, PROVIDERS
from timeful.models.pace import TOKEN_TIME
from timeful.models.provider import ProviderModel

pytest.importorskip("openai")

FIELDS = {
    "model": "openai/gpt-4.1-mini",
    "using_short_model_name": True,
    "temperature": 0.3,
    "max_tokens": 99,
    "base_url": "http://me:secret@localhost:1/v1",
    "api_key_name": "MY_KEY",
    "extra": {"top_k": 20},
}


def test_annotations_agents_and_judges_take_the_same_fields() -> None:
    prompts = {"system_prompt": "", "task_prompt": "{dialogue_context} {tool_catalog}"}
    agent = {"name": "a", "llm": FIELDS, "action_prompts": prompts}
    annotation = {"llm": FIELDS, "tool_catalog": {"domain": "shop"}}
    for one in (
        convert(annotation, Settings, "annotate.yaml").llm,
        convert(agent, AgentFile, "agent.yaml").llm,
        convert(FIELDS, Judger, "judge.yaml"),
        convert(FIELDS, Endpoint, "endpoint"),
    ):
        assert {name: getattr(one, name) for name in FIELDS} == FIELDS
        assert one.model_name == "gpt-4.1-mini"


def test_a_model_is_asked_for_as_it_is_written_unless_its_short_name_is_wanted() -> None:
    assert Endpoint(model="Qwen/Qwen3-8B").model_name == "Qwen/Qwen3-8B"
    assert Endpoint(model="Qwen/Qwen3-8B", using_short_model_name=True).model_name == "Qwen3-8B"
    assert load_agent("reasoning").llm.model_name == "gpt-4.1-mini"


def test_the_model_it_becomes_has_all_of_it() -> None:
    described = Endpoint(**FIELDS)  # type: ignore[arg-type]
    model = described.connect("key", retries=5, label="judge", pace=TOKEN_TIME)
    assert (model.model, model.name) == ("gpt-4.1-mini", "judge")
    assert (model.base_url, model.temperature) == (FIELDS["base_url"], 0.3)
    assert (model.extra, model.retries, model.pace) == ({"top_k": 20}, 5, TOKEN_TIME)
    assert (model.api_key, Endpoint(**FIELDS).connect("", retries=0).api_key) == ("key", "none")  # type: ignore[arg-type]


def test_records_say_who_was_asked_and_hold_no_secret() -> None:
    about = Endpoint(**FIELDS).about()  # type: ignore[arg-type]
    assert about == {
        "model": "gpt-4.1-mini",
        "endpoint": "http://localhost:1/v1",
        "temperature": 0.3,
        "max_tokens": 99,
        "extra": {"top_k": 20},
    }
    assert b"secret" not in msgspec.json.encode(about)


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_kind_before_the_name_has_its_address_and_key(kind: str) -> None:
    endpoint = Endpoint(model=f"{kind}:maker/m", using_short_model_name=True)
    assert (endpoint.model_name, endpoint.key_name) == ("m", KINDS[kind].key_name)
    endpoint.check_complete()
    choice = endpoint.choose(base_url="http://127.0.0.1:1")
    assert (choice.spec, choice.key_name) == (f"{kind}:m", KINDS[kind].key_name)
    pytest.importorskip("pydantic_ai")
    pytest.importorskip(KINDS[kind].packages[-1])
    model = endpoint.connect("key", retries=3, label="judge")
    assert isinstance(model, ProviderModel)
    assert (model.name, model.retries, model.api_key) == ("judge", 3, "key")


def test_a_name_with_a_colon_that_is_no_kind_is_a_name() -> None:
    endpoint = Endpoint(model="llama3:8b", base_url="http://127.0.0.1:1/v1")
    assert (endpoint.kind, endpoint.model_name) == ("openai", "llama3:8b")
    assert Endpoint(model="ollama:llama3:8b").model_name == "llama3:8b"
    assert Endpoint(model="ollama:llama3:8b").key_name == ""
    with pytest.raises(ValueError, match="base_url"):
        Endpoint(model="llama3:8b").check_complete()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"temperature": 3}, r"temperature: .*<= 2"),
        ({"temperature": -1}, r"temperature: .*>= 0"),
        ({"max_tokens": 0}, r"max_tokens: .*>= 1"),
        ({"model": 4}, r"model: .*str"),
        ({"api_key": "secret"}, "api_key"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        convert(FIELDS | change, Endpoint, "endpoint")


@pytest.mark.parametrize("missing", ["model", "base_url"])
def test_nobody_can_be_asked_without_a_name_and_an_address(missing: str) -> None:
    with pytest.raises(SettingsError):
        convert(FIELDS | {missing: ""}, Endpoint, "endpoint").connect("", retries=0)
    with pytest.raises(SettingsError, match=missing):
        convert(FIELDS | {missing: ""}, Judger, "judge")


def test_no_other_settings_describe_an_endpoint() -> None:
    source = Path(__file__).parents[2] / "src" / "timeful"
    for floor in ("agents", "annotation", "judges"):
        for path in (source / floor).rglob("*.py"):
            assert "api_key_name: str" not in path.read_text(), path
