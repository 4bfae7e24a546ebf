"""Settings that cannot work are refused before anything heavy is loaded."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.training.material import checkpoint, config, file_of
from timeful.environments.reasoning.split import Split
from timeful.errors import SandboxError, SettingsError
from timeful.training.checks import check, check_targets, check_task_count, find_layers
from timeful.training.config import (
    CasesPart,
    Config,
    ExamplesPart,
    ModelPart,
    RunPart,
    SftConfig,
    TurnsPart,
)
from timeful.training.config_io import read_config, recipe, recipes
from timeful.training.folder import METRICS, check_training, open_training, settings_of
from timeful.training.rollout_tasks import TimelyTask

pytest.importorskip("trl", reason="training needs the extra `train`")

JUDGE = ["judge.model=some", "judge.base_url=http://localhost:1/v1"]


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("start")
    checkpoint(folder / "tiny")
    file_of(folder)
    return folder


def read(start: Path, *changes: str) -> Config:
    found = read_config(start / "a.toml", changes)
    assert isinstance(found, Config)
    return found


def refused(start: Path, *changes: str, **options: Any) -> str:
    with pytest.raises(SettingsError) as error:
        check(read(start, *changes), **options)
    return str(error.value)


def test_settings_that_work_pass_and_paths_start_at_the_file(start: Path) -> None:
    found = read(start)
    check(found)
    assert found.model.path == str(start / "tiny")
    assert found.run.out == str(start / "out")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("reward.name=ep_awar", "Did you mean 'ep_aware'?"),
        ("cases.budgets=['0s']", "cases"),
        ("cases.budgets=['none']", "in seconds"),
        ("cases.budgets=['0.75x']", "in seconds"),
        ("cases.budgets=[]", "must not be empty"),
        ("cases.budgets=['1s', '1.0s']", "budgets has one of them twice"),
        ("cases.sets=[]", "must not be empty"),
        ("cases.sets=['sums', 'sums']", "sets has one of them twice"),
        ("cases.kind=turn", "Did you mean 'turns'?"),
        ("cases.kind=turns", "there are abcd, agent, asks, catalog"),
        ("cases.token_seconds=inf", "< 1"),
        ("cases.token_seconds=4e-10", ">= 1e-09"),
        ("cases.size=100001", "hardly more than 100,000 different problems"),
        ("cases.calls=nativ", "Did you mean 'native'?"),
        ("cases.calls=native", "take calls = 'text'"),
        ("grpo.temperature=inf", "< 1"),
        ("grpo.learning_rate=inf", "< 1"),
        ("run.seed=-1", ">= 0"),
        ("run.seed=4294967296", "4294967295"),
        ("reward.name=ruler", "give a table [judge]"),
        ("reward.name=rac_score", "kind = 'turns'"),
        ("cases.family=fiction", "ep_aware needs right answers, which fiction has not"),
        ("reward.parameters={r_f = 0.2}", "has no parameters"),
        ("grpo.num_generations=1", ">= 2"),
        ("grpo.max_steps=ten", "max_steps"),
        ("rollout.sample=4", "rollout"),
        ("cases.token_seconds=1", "0.6s"),
        ("model.quantise=nf4", "adapter = 'lora'"),
        ("model.path=./nothing", "does not exist"),
        ("rollout.server=somewhere", "server"),
        ("rollout.server=http://localhost:1/v1", "old_logprobs = 'sampler'"),
        ("run.seed", "table.field=value"),
    ],
)
def test_what_cannot_work_is_named_with_what_to_do(start: Path, change: str, said: str) -> None:
    assert said in refused(start, change)


def test_none_is_null_where_a_field_may_be_so(start: Path) -> None:
    changes = ["cases.size=none", "run.report_to=none", "run.threads=none"]
    found = read(start, *changes, "model.quantise=none", "cases.latencies=['none']")
    assert isinstance(found.cases, CasesPart)
    assert found.cases.size is found.run.report_to is None
    assert found.run.threads is None
    assert (found.model.quantise, found.cases.latencies) == ("none", ("none",))
    turns = file_of(start, "null.toml", cases='kind = "turns"\neach = "none"')
    cases = read_config(turns).cases  # type: ignore[union-attr]
    assert isinstance(cases, TurnsPart)
    assert cases.each is None


def test_the_nearest_training_is_offered(start: Path) -> None:
    for given, near in (("quik", "quick"), ("timly.toml", "timely"), ("epp", "ep")):
        with pytest.raises(SettingsError, match=f"Did you mean '{near}'"):
            read_config(start / given, commands=["quick"])


def test_a_template_must_offer_the_tools_that_are_left_to_it(start: Path, tmp_path: Path) -> None:
    shutil.copytree(start / "tiny", tmp_path / "other")
    template = tmp_path / "other" / "chat_template.jinja"
    native = ["cases.calls=native", f"model.path={str(tmp_path / 'other')!r}"]
    for text in ("{% for one in tools %}{{ one }}{% endfor %}", "{{ tool_calls }} <tool_call>"):
        template.write_text(text)
        assert "does not offer tools with calls between <tool_call>" in refused(start, *native)
    template.write_text("{% for one in tools %}{{ one }}{% endfor %} <tool_call>")
    check(read(start, *native))
    template.unlink()
    about = tmp_path / "other" / "tokenizer_config.json"
    named = [{"name": "tool_use", "template": "{{ tools }} <tool_call>"}]
    about.write_text(json.dumps({**json.loads(about.read_text()), "chat_template": named}))
    check(read(start, *native))


def test_calls_are_offered_as_the_file_says(start: Path) -> None:
    from timeful.training.rollout_tasks import make_rollout_tasks

    for changes, wanted in (((), "text"), (("cases.calls=native",), "native")):
        scenes = make_rollout_tasks(read(start, *changes)).values()
        assert {scene.spec.shared.calls for scene in scenes if isinstance(scene, TimelyTask)} == {
            wanted
        }


def test_calls_in_words_leave_the_settings_of_a_training_as_they_were(start: Path) -> None:
    assert "calls" not in settings_of(read(start))["cases"]
    assert settings_of(read(start, "cases.calls=native"))["cases"]["calls"] == "native"


def test_lora_needs_layers_to_change(start: Path) -> None:
    assert "targets must not be empty" in refused(start, "model.adapter=lora", "model.targets=[]")


@pytest.mark.parametrize("change", ["cases.problems=p.jsonl", "cases.split=test"])
def test_only_problems_have_a_file_and_sides(start: Path, change: str) -> None:
    said = refused(start, "cases.family=fiction", "cases.sets=['skerry']", change)
    assert "fiction has none" in said


def test_programs_need_a_sandbox_before_any_is_played(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*, unsafe: bool) -> None:
        if not unsafe:
            raise SandboxError("nothing confines them; --unsafe runs them")

    monkeypatch.setattr("timeful.training.checks.choose_backend", none)
    coding = ["cases.family=coding", "cases.sets=['iris']", "reward.name=timely"]
    assert "cases.unsafe = true" in refused(start, *coding)
    check(read(start, *coding, "cases.unsafe=true"))


def test_a_judge_that_nobody_asks_is_refused(start: Path) -> None:
    assert "leave the table [judge] out" in refused(start, *JUDGE)


def test_a_task_reward_is_none_of_a_turn(start: Path) -> None:
    with pytest.raises(SettingsError, match=r"unknown field|contains"):
        read(start, "cases.kind=turns")  # the fields of tasks are none of turns
    file = file_of(start, "turns.toml", cases='kind = "turns"\nsize = 2')
    found = read_config(file)
    with pytest.raises(SettingsError, match="is a reward of a task"):
        check(found)
    check(read_config(file, ["reward.name=weighted_rac_score"]))


def test_whole_groups_are_asked_for_where_somebody_compares_them(start: Path) -> None:
    judged = ["reward.name=ruler", *JUDGE, "rollout.cases=3"]
    check(read(start, *judged))
    assert "a judge needs whole groups" in refused(start, *judged, processes=2)
    assert "credit by turn" in refused(start, "reward.credit=turn", "rollout.cases=3", processes=2)
    assert "'group' or 'none'" in refused(start, "reward.credit=turn", "grpo.scale_rewards=batch")
    check(read(start, "rollout.cases=3"), processes=2)


def test_a_missing_extra_is_named(start: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.util import find_spec

    from timeful.training import checks

    def without(*names: str) -> None:
        monkeypatch.setattr(
            checks, "find_spec", lambda name: None if name in names else find_spec(name)
        )

    without("trl", "peft")
    assert "needs trl and peft: pip install 'timeful[train]'" in refused(start)
    without("bitsandbytes")
    said = refused(start, "model.adapter=lora", "model.quantise=nf4")
    assert "pip install 'timeful[quant]'" in said
    without("mlflow")
    assert "pip install mlflow" in refused(start, "run.report_to=mlflow")
    without("wandb")
    assert "pip install wandb" in refused(start, "run.report_to=wandb")
    without("vllm")
    assert "pip install vllm" in refused(start, "rollout.server=vllm")
    said = refused(start, "rollout.server=vllm", "model.adapter=lora", "model.quantise=nf4")
    assert "merging into 4 bits" in said


def test_a_hub_name_passes_if_the_hub_has_it_and_may_be_asked(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import huggingface_hub as hub

    named = "model.path=some/model-of-nobody"
    assert "HF_HUB_OFFLINE" in refused(start, named, is_offline=True)
    monkeypatch.setattr(hub.HfApi, "model_info", lambda self, name, timeout: name)
    check(read(start, named))

    def unknown(self: object, name: str, timeout: float) -> None:
        raise hub.errors.HFValidationError(name)

    def unreachable(self: object, name: str, timeout: float) -> None:
        raise hub.errors.HTTPError("no route")  # type: ignore[attr-defined]

    monkeypatch.setattr(hub.HfApi, "model_info", unknown)
    assert "the hub has no model of this name" in refused(start, named)
    monkeypatch.setattr(hub.HfApi, "model_info", unreachable)
    assert "cannot be asked for it (no route)" in refused(start, named)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"vocab_size": 34}, "another shape"),
        ({"num_hidden_layers": 2}, "1 layers, and config.json says 2"),
    ],
)
def test_a_checkpoint_of_another_shape_is_refused(
    start: Path, tmp_path: Path, change: dict[str, int], said: str
) -> None:
    shutil.copytree(start / "tiny", tmp_path / "other")
    about = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({**about, **change}))
    assert said in refused(start, f"model.path={str(tmp_path / 'other')!r}")


def test_weights_that_lack_a_part_are_not_filled_up_with_chance(
    start: Path, tmp_path: Path
) -> None:
    from timeful.training.loading import load_model

    shutil.copytree(start / "tiny", tmp_path / "other")
    about = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({**about, "attention_bias": True}))
    with pytest.raises(SettingsError, match="lacks weights of its own model"):
        load_model(ModelPart(path=str(tmp_path / "other"), dtype="float32"))


def test_weights_that_are_not_whole_are_refused(start: Path, tmp_path: Path) -> None:
    shutil.copytree(start / "tiny", tmp_path / "other")
    here = f"model.path={str(tmp_path / 'other')!r}"
    weights = tmp_path / "other" / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[:-1])
    assert "are cut off" in refused(start, here)
    weights.write_bytes(whole)
    check(read(start, here))
    index = tmp_path / "other" / "model.safetensors.index.json"
    index.write_text('{"weight_map": {"a": "part-1.safetensors"}}')
    assert "lacks a part of its weights, part-1.safetensors" in refused(start, here)
    index.write_text("{}")
    assert "names no weights" in refused(start, here)


def test_targets_are_compared_with_the_layers_that_there_are(start: Path) -> None:
    there = sorted(find_layers(start / "tiny"))
    assert there
    check(read(start, "model.adapter=lora", f"model.targets={there}"))
    said = refused(start, "model.adapter=lora", "model.targets=['attend']")
    assert "no layers attend" in said
    assert there[0] in said
    check_targets(ModelPart(path="x"), ())  # nobody knows them: nothing is refused
    with pytest.raises(SettingsError, match="c_fc"):
        check_targets(ModelPart(path="x", targets=("q",)), ("c_fc",))


def test_cases_must_be_there_and_enough(start: Path) -> None:
    from timeful.training.rollout_tasks import make_rollout_tasks

    with pytest.raises(SettingsError, match="level"):
        make_rollout_tasks(read(start, "cases.sets=['levle:8']"))
    found = read(start)
    assert len(make_rollout_tasks(found)) == 4
    with pytest.raises(SettingsError, match=r"lower rollout\.cases"):
        check_task_count(found, 1)


@pytest.mark.parametrize("sets", [["mixed"], ["levels:8", "sums"]])
def test_no_problem_that_is_learnt_from_is_on_the_side_that_is_tested_on(
    start: Path, sets: list[str]
) -> None:
    from timeful.tasks.episode import TaskSource
    from timeful.tasks.library import process_library
    from timeful.training.rollout_tasks import make_rollout_tasks

    def asked(split: Split | None) -> set[str]:
        source = TaskSource(sets=tuple(sets), size=200, split=split)
        return {one.question for one in process_library().problems(source, 0).values()}

    scenes = make_rollout_tasks(read(start, f"cases.sets={sets}", "cases.size=200")).values()
    learnt = {scene.spec.case for scene in scenes if isinstance(scene, TimelyTask)}
    source = TaskSource(sets=tuple(sets), size=200, split="train")
    assert learnt == process_library().problems(source, 0).keys()
    assert not asked("train") & asked("test")
    assert not asked("train") & asked("validation")
    assert asked("train") & asked(None)  # whoever tests without a side has seen some of them


def test_data_sets_are_looked_at(start: Path) -> None:
    text = '[model]\npath = "tiny"\nadapter = "full"\n[run]\nout = "o"\n'
    text += '[examples]\ndata = ["d.jsonl"]\n'
    (start / "sft.toml").write_text(text)
    found = read_config(start / "sft.toml")
    assert isinstance(found, SftConfig)
    with pytest.raises(SettingsError, match="does not exist"):
        check(found)
    (start / "d.jsonl").write_text('{"text": "a"}\n')
    with pytest.raises(SettingsError, match="`messages`"):
        check(found)
    (start / "d.jsonl").write_text('{"messages": []}\n')
    check(found)


def test_nothing_heavy_is_loaded_by_the_checks(start: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from timeful.training.config_io import read_config\n"
        "from timeful.training.checks import check\n"
        "from timeful.training.rollout_tasks import make_rollout_tasks\n"
        f"found = read_config(Path({str(start / 'a.toml')!r}))\n"
        "check(found); make_rollout_tasks(found)\n"
        "print([one for one in ('torch', 'transformers', 'trl') if one in sys.modules])\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"


# --- the folder -----------------------------------------------------------------------------------


def open_folder(settings: Config | SftConfig, *, replace: bool = False) -> bool:
    with open_training(settings, replace=replace) as has_work:
        return has_work


def test_a_folder_goes_on_only_with_the_same_settings(start: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    found = config(start / "tiny", out)
    assert not open_folder(found)
    assert open_folder(found)
    other = config(start / "tiny", out, run=config(start, out).run.__class__(out=str(out), seed=3))
    with pytest.raises(SettingsError, match=r"run\.seed"):
        open_folder(other)
    (out / METRICS).write_text("{}\n")
    assert not open_folder(other, replace=True)
    assert not (out / METRICS).exists()
    check_training(other)


def test_a_training_goes_on_only_with_the_data_that_it_began_with(
    start: Path, tmp_path: Path
) -> None:
    problems, examples = tmp_path / "p.jsonl", tmp_path / "d.jsonl"
    domain, agent = tmp_path / "mine", tmp_path / "agent.toml"
    (domain / "deep").mkdir(parents=True)
    found: dict[str, tuple[Path, Any]] = {
        "cases.problems": (problems, {"cases": CasesPart(problems=str(problems), budgets=("1s",))}),
        "cases.data": (problems, {"cases": TurnsPart(data=str(problems))}),
        "cases.domain": (domain / "deep" / "a", {"cases": TurnsPart(domain=str(domain))}),
        "cases.agent": (agent, {"cases": TurnsPart(agent=str(agent))}),
    }
    for n, (field, (path, parts)) in enumerate(found.items()):
        path.write_text("1")
        held = config(start / "tiny", tmp_path / f"out{n}", **parts)
        open_folder(held)
        check_training(held)
        path.write_text("2")
        with pytest.raises(SettingsError, match=f"differs in: sha256.{field}\\)"):
            check_training(held)
        path.write_text("1")
        check_training(held)
    sft = SftConfig(
        model=ModelPart(path="x"),
        examples=ExamplesPart(data=(str(problems), str(examples))),
        run=RunPart(out=str(tmp_path / "sft")),
    )
    with pytest.raises(SettingsError, match=r"d\.jsonl cannot be read: No such file"):
        open_folder(sft)
    examples.write_text("1")
    open_folder(sft)
    examples.write_text("2")
    with pytest.raises(SettingsError, match=r"differs in: sha256\.examples\.data 2\)"):
        check_training(sft)


def test_how_it_is_watched_is_no_setting_of_a_training(start: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    open_folder(config(start / "tiny", out))
    kind = config(start, out).run.__class__
    assert open_folder(
        config(
            start / "tiny", out, run=kind(out=str(out), threads=2, save_total_limit=5, save_steps=1)
        )
    )


# --- the settings in the package ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ep", "proactor", "timely"])
def test_the_recipes_hold_the_papers_values(name: str) -> None:
    found = read_config(Path(name))
    assert isinstance(found, Config)
    assert recipe(name).startswith("#")
    values = {
        "ep": (10, 128, 8000, 90, 0.2, "ep_aware"),
        "timely": (8, 16, 16384, 200, 0.28, "timely"),
        "proactor": (4, 24, 4096, 1586, 0.2, "schedule_ruler_weighted_max_rac_score"),
    }
    assert values[name] == (
        found.grpo["num_generations"],
        found.rollout.cases,
        found.grpo["max_completion_length"],
        found.grpo["max_steps"],
        found.grpo["epsilon_high"],
        found.reward.name,
    )


def test_every_recipe_is_tested() -> None:
    assert recipes() == ("ep", "proactor", "timely")


# --- the page -------------------------------------------------------------------------------------


def test_the_problems_of_the_page_are_learnt_from_and_want_math_verify(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from timeful.tasks.library import process_library
    from timeful.training.rollout_tasks import make_rollout_tasks

    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text(encoding="utf-8")
    [lines] = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.jsonl").write_text(lines)
    file = f"cases.problems={str(tmp_path / 'mine.jsonl')!r}"
    found = read(start, file, "cases.size=none", "cases.split=all")
    monkeypatch.setitem(sys.modules, "math_verify", None)
    process_library().close_all()  # the checker that another test has made
    with pytest.raises(SettingsError, match=r"pip install 'timeful\[timely\]'"):
        make_rollout_tasks(found)
    monkeypatch.undo()
    pytest.importorskip("math_verify")
    assert len(make_rollout_tasks(found)) == 4
