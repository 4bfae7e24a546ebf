"""The whole embedded run by its smallest recipe: killed at any instant, and used afterwards."""

import json
import multiprocessing
import signal
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="training needs the extra `train`")

from click.testing import CliRunner

from tests.training.quick.material import asked, begin, work, write_report
from timeful.cli.main import app
from timeful.environments.reasoning.levels import Course
from timeful.models.calibrate import load_calibration
from timeful.models.local.checkpoint import load
from timeful.models.local.sampler import Sampler
from timeful.seeding import child
from timeful.training.quick.cases import in_turn, scenes
from timeful.training.quick.recipe import BASE, find_recipe
from timeful.training.quick.steps import STYLE
from timeful.training.quick.suite import list_hints
from timeful.training.rollout_tasks import TimelyTask
from timeful.training.rollouts import Player
from timeful.training.tiny.language import ids

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries, about each other

KILLS = 5


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody stopped."""
    out = tmp_path_factory.mktemp("whole")
    begin(out, asked())
    work(out, asked())
    write_report(out)
    return out


def numbers(out: Path) -> dict[str, bytes]:
    return {
        name: (out / name).read_bytes() for name in ("results.json", "episodes.csv", "curves.csv")
    }


def test_a_run_that_is_killed_at_any_instant_comes_to_the_same_numbers(
    whole: Path, tmp_path: Path
) -> None:
    # A server that has loaded everything forks a process at once, which then trains, and is killed.
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.training.quick.killed"])
    what, rng = asked(), child(0, "kills")
    begin(tmp_path, what)
    kills = 0
    while True:
        process = context.Process(target=work, args=(tmp_path, what))
        process.start()
        # Somewhere within a step: most of them take half a second on a machine that is idle.
        process.join(None if kills == KILLS else float(rng.uniform(0.1, 0.8)))
        if process.exitcode is not None:
            break
        process.kill()
        process.join()
        kills += 1
    assert process.exitcode == 0
    assert kills > 1
    write_report(tmp_path)
    assert numbers(tmp_path) == numbers(whole)


def test_the_commands_that_a_run_ends_with_work(whole: Path) -> None:
    (try_it, serve) = (words for _, words in list_hints(whole))
    assert load_calibration(Path(try_it[try_it.index("--pace") + 1])).pace(1) == 100_000_000
    result = CliRunner().invoke(app, [*try_it[1:], "--size", "2", "--workers", "1"])
    assert result.exit_code == 0, result.output
    settings = json.loads((Path(f"{whole}-timely") / "settings.json").read_text())
    assert settings["soft"] is True
    assert Path(serve[-1]).is_dir()


def test_the_report_command_makes_it_again(whole: Path) -> None:
    before = numbers(whole)
    (whole / "results.json").unlink()
    result = CliRunner().invoke(app, ["report", str(whole)])
    assert result.exit_code == 0, result.output
    assert numbers(whole) == before
    assert max(map(len, result.output.partition("\nreport ")[0].splitlines())) <= 80


def _question(spec: object) -> str:
    from timeful.tasks.library import process_library

    rig = spec.shared  # type: ignore[attr-defined]
    known = process_library().problems(rig.source, rig.seed)
    return known[spec.case].question  # type: ignore[attr-defined]


def test_what_is_read_in_an_episode_is_what_lessons_are_made_of(whole: Path) -> None:
    recipe, model = find_recipe("smoke"), whole / "seed-1" / BASE
    some = scenes(recipe, "test", in_turn(recipe, 4), model=model, seed=3, cap=9)
    player = Player(Sampler(load(model)), generation=STYLE, pace=recipe.language.pace)
    for played, budget in zip(player.play([(one, 0) for one in some]), (4, 8, 4, 8), strict=True):
        assert isinstance(played.task, TimelyTask)
        question = _question(played.task.spec)
        start, signs = question.split(" starts at ")[1][0], question.split(", after ")[1]
        course = Course(int(start), tuple(1 if one == "+" else -1 for one in signs.split()[:-1]))
        assert course.question == question
        assert played.sequence is not None
        asked_for = ids(recipe.language.question(course, budget), recipe.language)
        assert list(played.sequence.prompt_ids) == asked_for


def test_bad_options_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    def said(*options: str) -> str:
        result = CliRunner().invoke(
            app, ["train", "quick", "--out", str(tmp_path / "out"), *options]
        )
        assert result.exit_code != 0
        return str(result.exception) if result.exception else result.output

    assert "workers must be at least 1" in said("--workers", "0")
    assert "Did you mean 'EP-aware'" in said("--arm", "EP-awar")
    assert "seeds are numbers" in said("--seeds", "1,x")
    assert "from 0 to 1" in said("--cold-start-fraction", "2")
    assert "--cold-start-fraction" in said("--ablation", "--cold-start-fraction", "0.5")
    assert "--arm" in said("--ablation", "--arm", "EP-aware")
    assert "unknown recipe" in said("--recipe", "quik")
    assert not (tmp_path / "out").exists()


def test_ctrl_c_says_how_it_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> list[str]:
        raise KeyboardInterrupt(signal.SIGINT)

    monkeypatch.setattr("timeful.training.quick.run._do_steps", interrupted)
    out = tmp_path / "out"
    result = CliRunner().invoke(app, ["train", "quick", "--recipe", "smoke", "--out", str(out)])
    assert result.exit_code == 130
    assert "the same command" in result.output + result.stderr
