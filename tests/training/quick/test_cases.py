"""Which problems are whose, by a hash of the test's own; and the time for each."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest

from timeful.environments.reasoning.split import Split
from timeful.seeding import child
from timeful.tasks.library import process_library
from timeful.training.quick import steps
from timeful.training.quick.cases import in_turn, lessons, relative, scenes
from timeful.training.quick.recipe import find_recipe
from timeful.training.quick.steps import Kind, Step, perform
from timeful.training.rollout_tasks import TimelyTask

QUICK = find_recipe("quick")


@pytest.fixture(autouse=True)
def any_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model plays here, so that there need not be one."""
    monkeypatch.setattr("timeful.models.model_spec.check", lambda path: None)


def side(question: str) -> str:
    """0.8 of all problems are to be learnt from, 0.1 to choose by, 0.1 for the table."""
    words = " ".join(question.split()).casefold()
    place = int.from_bytes(sha256(b"split\x1f" + words.encode()).digest()[:8], "big") / 2**64
    return "train" if place < 0.8 else "validation" if place < 0.9 else "test"


def question(scene: TimelyTask) -> str:
    rig = scene.spec.shared
    return process_library().problems(rig.source, rig.seed)[scene.spec.case].question


def drawn(split: Split, count: int) -> list[TimelyTask]:
    limits = in_turn(QUICK, count)
    return scenes(QUICK, split, limits, model=Path("model"), seed=3, cap=9)


def test_every_lesson_is_one_to_learn_from() -> None:
    some = lessons(QUICK, child(3, "lessons"))
    assert {side(next(some).question) for _ in range(300)} == {"train"}


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_every_scene_is_on_the_side_that_was_asked_for(split: Split) -> None:
    some = drawn(split, 60)
    asked = [question(one) for one in some]
    assert {side(one) for one in asked} == {split}
    assert len(set(asked)) == 60


def test_scenes_have_their_time_in_turn_and_nobody_is_cut_at_it() -> None:
    some = [one.spec for one in drawn("test", 6)]
    assert [one.span for one in some] == [t * 10**8 for t in (4, 8, 16, 32, 4, 8)]
    assert {(one.shared.is_soft, one.shared.most_tokens) for one in some} == {(True, 9)}
    assert drawn("test", 6)[0].spec.shared.seed != drawn("train", 6)[0].spec.shared.seed


def test_a_relative_budget_is_rounded_down_and_cut_to_a_step_that_the_model_has_a_word_for() -> (
    None
):
    limits = relative(QUICK, [50, 26, 3, 10, 11], (0.75, 1.0))  # steps of 4, 8, 16 and 32 tokens
    assert [(str(limit.budget), limit.span) for limit in limits] == [
        ("0.75x", 3_200_000_000),  # 37 tokens
        ("1x", 1_600_000_000),
        ("0.75x", 400_000_000),  # 2 tokens, and the shortest step is 4
        ("1x", 800_000_000),
        ("0.75x", 800_000_000),  # 8.25 tokens
    ]


def test_what_is_sampled_hangs_on_the_seed_and_on_the_scene(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="a player samples")
    from timeful.training.quick.steps import write_rows

    class Nobody:
        def play(self, tasks: list[tuple[TimelyTask, int]]) -> list[None]:
            seeds.append({sampling for _, sampling in tasks})
            return []

    seeds: list[set[int]] = []
    for seed in (1, 2, 1):
        write_rows(Nobody(), drawn("test", 5), seed=seed, out=tmp_path / "graded" / "base.jsonl")  # type: ignore[arg-type]
    assert len(seeds[0] | seeds[1]) == 10
    assert seeds[0] == seeds[2]
    assert [path.name for path in tmp_path.rglob("*.*")] == ["base.jsonl"]


@pytest.mark.parametrize("kind", ["measure", "grade", "mislead", "hurry"])
def test_a_recipe_is_chosen_by_problems_of_its_own(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[TimelyTask] = []
    monkeypatch.setattr(steps, "_play", lambda step, cases, out: played.extend(cases))
    monkeypatch.setattr(Step, "unhurried_tokens", lambda step, split: [9] * step.recipe.problems)
    recipe = replace(find_recipe("smoke", timer=True), exam="validation")
    perform(Step(kind=kind, recipe=recipe, seed=3, out=tmp_path))
    assert {side(question(scene)) for scene in played} == {"validation"}
