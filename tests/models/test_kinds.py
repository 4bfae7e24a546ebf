"""Models by the kinds that a command line names."""

from dataclasses import dataclass

import pytest

from timeful.errors import SettingsError
from timeful.experiments.options import Endpoint
from timeful.experiments.run import choose_keys
from timeful.models.chat import OpenAIModel
from timeful.models.kinds import KINDS, PROVIDERS, is_live, is_sampled
from timeful.models.model_spec import ModelSpec, read_spec
from timeful.models.preflight import Preflight
from timeful.models.role import ModelRole, read_role
from timeful.registry import names


@dataclass(frozen=True)
class Episode:
    planner: ModelSpec
    writer: ModelRole


def episode(planner: str, writer: str = "prose") -> Episode:
    base_url = "http://127.0.0.1:1/v1" if planner.startswith("openai:") else None
    return Episode(read_spec(planner, base_url=base_url), read_role(writer, stand_in="prose"))


def test_every_kind_has_a_model_of_its_name() -> None:
    assert set(KINDS) <= set(names("model"))


@pytest.mark.parametrize("kind", ["ollama", "vllm", "llama.cpp"])
def test_presets_are_endpoints_with_an_address(kind: str) -> None:
    spec = ModelSpec(spec=f"{kind}:m:7b")
    model = spec.connect(pace=None, api_key="")
    assert isinstance(model, OpenAIModel)
    assert (model.model, model.base_url) == ("m:7b", KINDS[kind].base_url)
    assert spec.settings()["endpoint"] == model.endpoint == KINDS[kind].base_url
    assert spec.is_live
    assert spec.is_sampled
    assert not spec.needs_key
    elsewhere = ModelSpec(spec=f"{kind}:m", base_url="http://far:1/v1", extra='{"top_k": 3}')
    moved = elsewhere.connect(pace=None, api_key="")
    assert isinstance(moved, OpenAIModel)
    assert moved.base_url == "http://far:1/v1"
    assert moved.extra == {**KINDS[kind].options, "top_k": 3}


def test_llama_cpp_counts_each_part() -> None:
    assert KINDS["llama.cpp"].options == {"timings_per_token": True}


@pytest.mark.parametrize("kind", PROVIDERS)
def test_a_provider_needs_a_key_at_its_own_address(kind: str) -> None:
    spec = ModelSpec(spec=f"{kind}:m")
    with pytest.raises(SettingsError, match=KINDS[kind].key_name):
        Preflight().check_keys([spec], {})
    Preflight(needs_key=False).check_keys([spec], {})
    keys = {KINDS[kind].key_name: "secret"}
    Preflight().check_keys([spec], keys)
    assert spec.find_key(choose_keys([episode(f"{kind}:m")], keys)) == "secret"
    assert not ModelSpec(spec=f"{kind}:m", base_url="http://127.0.0.1:1").needs_key


def test_one_key_stays_a_text_and_several_go_by_their_variables() -> None:
    keys = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "OTHER": "x"}
    assert choose_keys([episode("search"), episode("openai:m")], keys) == "o"
    mixed = choose_keys([episode("openai:m", "anthropic:c")], keys)
    assert mixed == {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a"}
    assert ModelSpec(spec="anthropic:c").find_key(mixed) == "a"
    assert ModelSpec(spec="anthropic:c", key_variable="OTHER").find_key(keys) == "x"
    assert ModelSpec(spec="vllm:m").find_key(mixed) == ""


def test_a_key_that_is_used_is_checked_and_stripped() -> None:
    keys = {"OPENAI_API_KEY": "o\n", "ANTHROPIC_API_KEY": "a\nb"}
    assert choose_keys([episode("openai:m")], keys) == "o"
    with pytest.raises(SettingsError):
        choose_keys([episode("openai:m", "anthropic:c")], keys)


def test_the_address_of_the_environment_is_for_openai_alone() -> None:
    endpoint = Endpoint(openai_url="http://env:1/v1")
    assert endpoint.url_for("openai:m") == endpoint.url_for("responses:m") == "http://env:1/v1"
    assert endpoint.url_for("anthropic:m") is None
    assert endpoint.url_for("vllm:m") is None
    assert Endpoint(base_url="http://far:1").url_for("anthropic:m") == "http://far:1"


def test_options_of_endpoints_do_not_reach_other_models() -> None:
    spec = read_spec("search", base_url="http://far:1", record="tape", extra="{}")
    assert spec == ModelSpec()
    assert not is_live("my.py:model")
    assert not is_sampled("prose")


@pytest.mark.parametrize(
    "spec",
    [
        {"spec": "anthropic:"},
        {"spec": "anthropics:m"},
        {"spec": "openai:m"},
        {"spec": "vllm:m", "base_url": "nowhere"},
        {"spec": "vllm:m", "extra": "[1]"},
        {"spec": "vllm:m", "extra": "{"},
        {"spec": "search", "extra": '{"a": 1}'},
    ],
)
def test_wrong_names_and_options_are_refused(spec: dict[str, str]) -> None:
    with pytest.raises(SettingsError):
        ModelSpec(**spec)  # type: ignore[arg-type]


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_none(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("timeful.models.provider.find_spec", find_none)
    for kind in PROVIDERS:
        with pytest.raises(SettingsError, match=rf"timeful\[{KINDS[kind].extra}\]"):
            ModelSpec(spec=f"{kind}:m").connect(pace=None, api_key="")
