"""RULER's judge as a file, with the fields of the paper's Figure 21."""

from pathlib import Path

import pytest

pytest.importorskip("openai")

from timeful.errors import SettingsError
from timeful.judges.ruler_prompts import PROACTIVE
from timeful.judges.ruler_settings import RulerJudge, read_ruler

YAML = """\
judge:
  model: "openai/gpt-4.1-mini"
  using_short_model_name: true
  api_key_name: MY_KEY
  base_url: http://localhost:1/v1
  temperature: 0.0
  max_tokens: 512
  max_retries: 2
  max_concurrent_api_number: 8
  seed: 5
  custom_ruler_placeholder:
    - |
      Be on time.
      Specifically, be early.
"""

TOML = """\
[judge]
model = "openai/gpt-4.1-mini"
using_short_model_name = true
api_key_name = "MY_KEY"
base_url = "http://localhost:1/v1"
temperature = 0.0
max_tokens = 512
max_retries = 2
max_concurrent_api_number = 8
seed = 5
custom_ruler_placeholder = ["Be on time.\\nSpecifically, be early.\\n"]
"""


def read(tmp_path: Path, text: str, name: str = "judge.toml") -> RulerJudge:
    path = tmp_path / name
    path.write_text(text)
    return read_ruler(path)


def test_yaml_and_toml_say_the_same(tmp_path: Path) -> None:
    judge = read(tmp_path, TOML)
    pytest.importorskip("yaml")
    assert read(tmp_path, YAML, "judge.yaml") == judge


def test_settings_make_a_judge_and_a_rubric(tmp_path: Path) -> None:
    judge = read(tmp_path, TOML)
    model, rubric = judge.endpoint("secret"), judge.rubric()
    assert (model.model, model.temperature, model.retries) == ("gpt-4.1-mini", 0.0, 2)
    assert (rubric.max_tokens, rubric.tries, rubric.seed) == (512, 3, 5)
    assert "- Be on time. Specifically, be early.\n" in rubric.system
    assert (judge.max_concurrent_api_number, judge.api_key_name) == (8, "MY_KEY")
    assert "secret" not in repr(model) + repr(judge) + repr(judge.about())


def test_general_unless_rules_are_given_and_proactive_ones_come_first() -> None:
    def custom(**fields: object) -> tuple[str, ...]:
        judge = RulerJudge(model="m", base_url="http://localhost:1", **fields)  # type: ignore[arg-type]
        return judge.rubric().custom

    assert custom() == ()
    assert custom(proactive=True) == PROACTIVE
    assert custom(proactive=True, custom_ruler_placeholder=("mine",)) == (*PROACTIVE, "mine")
    assert custom(custom_ruler_placeholder=("mine",)) == ("mine",)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('model = "openai/gpt-4.1-mini"', "", "model is required"),
        ('base_url = "http://localhost:1/v1"', "", "base_url is required"),
        ("http://localhost:1/v1", "localhost", "judge"),
        ("seed = 5", "sed = 5", "sed"),
        ("max_retries = 2", "max_retries = -1", "max_retries"),
        ("api_number = 8", "api_number = 0", "max_concurrent_api_number"),
        ("temperature = 0.0", "temperature = 2.1", "temperature"),
        ("temperature = 0.0", 'temperature = "cold"', "temperature"),
        ('["Be on time.\\nSpecifically, be early.\\n"]', '[" "]', "empty"),
        ('["Be on time.\\nSpecifically, be early.\\n"]', '"Be on time."', "custom_ruler"),
        ("[judge]", "[judges]", "judges"),
        ("[judge]", "[judge", "not valid TOML"),
        ("seed = 5", 'api_key = "secret"', "api_key"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    assert old in TOML
    with pytest.raises(SettingsError, match=reason) as raised:
        read(tmp_path, TOML.replace(old, new))
    assert "judge.toml" in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"none\.toml"):
        read_ruler(tmp_path / "none.toml")
