"""Settings that cannot work are refused before anything heavy is loaded."""

import json
import re
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from tests.training.material import checkpoint, config, file_of
from timeful.environments.reasoning.split import Split
from timeful.errors import SandboxError, SettingsError
from timeful.models.local import checkpoint as checkpoint_files
from timeful.training import checks, loading
from timeful.training.checks import check_machine, check_settings, check_task_count
from timeful.training.config import (
    CasesPart,
    Config,
    ExamplesPart,
    ModelPart,
    RunPart,
    SftConfig,
    TurnsPart,
)
from timeful.training.config_io import read_config, recipe
from timeful.training.folder import METRICS, check_training, open_training, settings_of
from timeful.training.loading import load_empty
from timeful.training.rollout_tasks import TimelyTask, make_rollout_tasks

pytest.importorskip("trl", reason="training needs the extra `train`")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # PEFT reads what will go

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


def check(config: Config | SftConfig, processes: int = 1) -> None:
    check_settings(config, processes=processes)
    check_machine(config)


@pytest.mark.parametrize(
    "changes",
    [
        (),
        ("rollout.cases=3", "processes=2"),
        ("reward.name=ruler", "rollout.cases=3", *JUDGE),
        ("cases.family=coding", "cases.sets=['iris']", "reward.name=timely", "cases.unsafe=true"),
    ],
)
def test_settings_that_work_pass(start: Path, changes: tuple[str, ...]) -> None:
    fields = [change for change in changes if "." in change]
    found = read(start, *fields)
    check(found, processes=1 + (len(fields) < len(changes)))
    assert load_empty(found).tokenizer.chat_template
    assert found.run.out == str(start / "out")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ("reward.name=ep_awar", "'ep_aware'"),
        ("cases.budgets=['0s']", "cases"),
        ("cases.budgets=['none']", "'none'"),
        ("cases.budgets=['0.75x']", "'0.75x'"),
        ("cases.budgets=[]", "budgets"),
        ("cases.budgets=['1s', '1.0s']", "1s, 1s"),
        ("cases.sets=[]", "sets"),
        ("cases.sets=['sums', 'sums']", "sums, sums"),
        ("cases.kind=turn", "'turns'"),
        ("cases.kind=turns", "abcd, agent, asks, catalog"),
        ("cases.token_seconds=inf", "token_seconds"),
        ("cases.token_seconds=4e-10", "1e-09"),
        ("cases.token_seconds=1", "0.6s"),
        ("cases.size=100001", "100,001"),
        ("cases.calls=nativ", "'native'"),
        ("cases.family=fiction", "fiction"),
        ("cases.family=fiction cases.sets=['skerry'] cases.problems=p.jsonl", "fiction"),
        ("cases.family=fiction cases.sets=['skerry'] cases.split=test", "fiction"),
        ("grpo.temperature=inf", "temperature"),
        ("grpo.learning_rate=inf", "learning_rate"),
        ("grpo.num_generations=1", "num_generations"),
        ("grpo.max_steps=ten", "max_steps"),
        ("run.seed=-1", "seed"),
        ("run.seed=4294967296", "4294967295"),
        ("run.seed", "table.field=value"),
        ("reward.name=ruler", "[judge]"),
        ("judge.model=some judge.base_url=http://localhost:1/v1", "[judge]"),
        ("reward.name=rac_score", "rac_score"),
        ("reward.parameters={r_f=0.2}", "parameters"),
        ("reward.credit=turn grpo.scale_rewards=batch", "scale_rewards"),
        ("reward.credit=turn rollout.cases=3", "3 groups on 2"),
        ("rollout.sample=4", "rollout"),
        ("rollout.server=somewhere", "server"),
        ("rollout.server=http://localhost:1/v1", "old_logprobs"),
        ("rollout.server=vllm model.adapter=lora model.quantise=nf4", "4 bits"),
        ("model.quantise=nf4", "adapter = 'lora'"),
        ("model.adapter=lora model.targets=[]", "targets"),
        ("model.path=./nothing", "nothing"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(
    start: Path, changes: str, said: str
) -> None:
    with pytest.raises(SettingsError, match=re.escape(said)):
        check(read(start, *re.split(r" (?=\w+\.)", changes)), processes=2)


@pytest.mark.parametrize("given", ["quik", "timly.toml", "epp"])
def test_the_nearest_training_is_offered(start: Path, given: str) -> None:
    near = {"quik": "quick", "timly.toml": "timely", "epp": "ep"}[given]
    with pytest.raises(SettingsError, match=f"'{near}'"):
        read_config(start / given, commands=["quick"])


@pytest.mark.parametrize(
    ("missing", "changes"),
    [
        (("trl", "peft"), ()),
        (("bitsandbytes",), ("model.adapter=lora", "model.quantise=nf4")),
        (("mlflow",), ("run.report_to=mlflow",)),
        (("wandb",), ("run.report_to=wandb",)),
        (("vllm",), ("rollout.server=vllm",)),
    ],
)
def test_a_missing_extra_is_named(
    start: Path,
    monkeypatch: pytest.MonkeyPatch,
    missing: tuple[str, ...],
    changes: tuple[str, ...],
) -> None:
    found = dict.fromkeys(missing)
    for module in (checks, checkpoint_files):
        monkeypatch.setattr(module, "find_spec", lambda name: found.get(name, name))
    with pytest.raises(SettingsError, match=missing[0]):
        check(read(start, *changes))


def test_a_reward_is_of_the_kind_of_its_cases(start: Path) -> None:
    file = file_of(start, "turns.toml", cases='kind = "turns"\nsize = 2')
    with pytest.raises(SettingsError, match="ep_aware"):
        check(read_config(file))
    check(read_config(file, ["reward.name=weighted_rac_score"]))


# --- the checkpoint -------------------------------------------------------------------------------


@pytest.fixture
def other(start: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint, to be changed."""
    return Path(shutil.copytree(start / "tiny", tmp_path / "other"))


def at(path: Path) -> str:
    return f"model.path={str(path)!r}"


@pytest.mark.parametrize(
    ("template", "offers"),
    [
        ("{% for one in tools %}{{ one }}{% endfor %}", False),
        ("{{ tool_calls }} <tool_call>", False),
        ("{% for one in tools %}{{ one }}{% endfor %} <tool_call>", True),
        ([{"name": "tool_use", "template": "{{ tools }} <tool_call>"}], True),
    ],
)
def test_a_template_must_offer_the_tools_that_are_left_to_it(
    start: Path, other: Path, template: Any, offers: bool
) -> None:
    (other / "chat_template.jinja").unlink()
    about = json.loads((other / "tokenizer_config.json").read_text())
    about["chat_template"] = template
    (other / "tokenizer_config.json").write_text(json.dumps(about))
    found = read(start, "cases.calls=native", at(other))
    with nullcontext() if offers else pytest.raises(SettingsError, match="calls"):
        load_empty(found)


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("config.json", {"vocab_size": 34}),
        ("config.json", {"num_hidden_layers": 2}),
        ("model.safetensors", None),
        ("model.safetensors.index.json", {"weight_map": {"a": "part-1.safetensors"}}),
        ("model.safetensors.index.json", {}),
    ],
)
def test_a_checkpoint_that_is_not_whole_or_of_another_shape_is_refused(
    start: Path, other: Path, file: str, content: dict[str, Any] | None
) -> None:
    check(read(start, at(other)))
    path = other / file
    if content is None:
        path.write_bytes(path.read_bytes()[:-1])
    else:
        old = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**old, **content}))
    with pytest.raises(SettingsError, match="other"):
        check(read(start, at(other)))


def test_targets_are_compared_with_the_layers_of_the_model(start: Path) -> None:
    load_empty(read(start, "model.adapter=lora"))
    with pytest.raises(SettingsError, match=r"attend.*q_proj"):
        load_empty(read(start, "model.adapter=lora", "model.targets=['q_proj', 'attend']"))


def test_the_hub_is_asked_once_for_a_model_that_is_not_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Any] = []

    def load(path: str, *, local_files_only: bool = False) -> str:
        asked.append(local_files_only)
        if path != "some/fetched" and local_files_only:
            raise OSError("not here")
        return path

    def unreachable(self: object, name: str, timeout: float) -> None:
        asked.append(name)
        raise OSError("no route")

    monkeypatch.setattr(loading.hub.HfApi, "model_info", unreachable)
    assert loading._load(load, ModelPart(path="some/fetched"), "model") == "some/fetched"
    with pytest.raises(SettingsError, match=r"some/other.*no route"):
        loading._load(load, ModelPart(path="some/other"), "model")
    assert asked == [True, True, "some/other"]
    monkeypatch.setattr(loading.hub.HfApi, "model_info", lambda self, name, timeout: name)
    assert loading._load(load, ModelPart(path="some/other"), "model") == "some/other"
    assert asked[-1] is False


# --- cases ----------------------------------------------------------------------------------------


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


def test_programs_need_a_sandbox_before_any_is_played(
    start: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*, unsafe: bool) -> None:
        if not unsafe:
            raise SandboxError("nothing confines them; --unsafe runs them")

    monkeypatch.setattr(checks, "choose_backend", none)
    coding = ["cases.family=coding", "cases.sets=['iris']", "reward.name=timely"]
    with pytest.raises(SettingsError, match=r"cases\.unsafe"):
        check(read(start, *coding))
    check(read(start, *coding, "cases.unsafe=true"))


def test_weights_that_lack_a_part_are_not_filled_up_with_chance(
    start: Path, tmp_path: Path
) -> None:
    shutil.copytree(start / "tiny", tmp_path / "other")
    about = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({**about, "attention_bias": True}))
    with pytest.raises(SettingsError, match="lacks weights of its own model"):
        loading.load_model(ModelPart(path=str(tmp_path / "other"), dtype="float32"))


@pytest.mark.parametrize(("changes", "calls"), [((), "text"), (("cases.calls=native",), "native")])
def test_calls_are_offered_as_the_file_says(
    start: Path, changes: tuple[str, ...], calls: str
) -> None:
    found = read(start, *changes)
    tasks = make_rollout_tasks(found).values()
    assert {task.spec.shared.calls for task in tasks if isinstance(task, TimelyTask)} == {calls}
    # Settings of trainings that were begun before there was a choice are equal to those of text.
    assert settings_of(found)["cases"].get("calls", "text") == calls
    assert ("calls" in settings_of(found)["cases"]) == (calls == "native")


def test_cases_must_be_there_and_enough(start: Path) -> None:
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
    with pytest.raises(SettingsError, match=r"d\.jsonl"):
        check(found)
    (start / "d.jsonl").write_text('{"messages": []}\n')
    check(found)


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


# --- the page -------------------------------------------------------------------------------------


def test_the_problems_of_the_page_are_learnt_from_and_want_math_verify(
    start: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from timeful.tasks.library import process_library

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
