"""Rewards of one's own: what is taken, what is refused before anything runs, and what breaks."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.rewards.material import RIGHT, WRONG, failed, task, thought
from timeful.errors import RecordError, RewardError, SettingsError
from timeful.records.events import Entry, Happened
from timeful.rewards.registry import Reward, reward_of

DOCS = Path(__file__).parents[2] / "docs" / "rewards.md"


def own(folder: Path, code: str, *, name: str = "mine") -> str:
    """The name of a reward whose function is `of`."""
    (folder / f"{name}.py").write_text(code)
    return f"{folder / name}.py:of"


def calls(events: list[Entry], count: int) -> list[Entry]:
    """The same record, with so many replies of tools."""
    data = {"tool": "get_duration", "id": "", "text": "1 s", "took": 0}
    reply = Happened(at=0, number=1, what="reply", data=data, reward=0.0, score=0.0)
    return [events[0], *[reply] * count, *events[1:]]


def test_the_example_of_the_docs_pays_what_it_says(tmp_path: Path) -> None:
    [code] = re.findall(r"```python\n(.*?def frugal.*?)```", DOCS.read_text(), re.DOTALL)
    code = code.rpartition("```python\n")[2]
    (tmp_path / "mine.py").write_text(code)
    name = f"{tmp_path}/mine.py:frugal"

    def of(events: list[Entry], **parameters: float) -> float | None:
        return reward_of(events, Reward(name=name, parameters=parameters))

    assert of(task(RIGHT, counted=10, budget=20)) == 1.0
    assert of(calls(task(RIGHT, counted=10, budget=20), 3)) == pytest.approx(0.94)
    assert of(calls(task(RIGHT, counted=10, budget=20), 3), price=0.1) == pytest.approx(0.7)
    assert of(calls(task(RIGHT, counted=21, budget=20), 1)) == pytest.approx(-0.02)
    assert of(task(WRONG)) == 0.0
    assert of(failed(task(RIGHT))) is None


def test_it_is_given_the_record_its_parameters_and_the_progress(tmp_path: Path) -> None:
    code = "def of(events, scale, *, kind='a', progress): return None if kind == 'b' else "
    name = own(tmp_path, code + "scale * progress + len(events)")
    events = task(RIGHT)
    reward = Reward(name=name, parameters={"scale": 10})
    assert reward.all_parameters == {"kind": "a", "scale": 10}
    assert reward.spec.of == "either"
    assert reward_of(iter(events), reward, progress=0.5) == 5.0 + len(events)
    texts: Any = {"scale": 1, "kind": "b"}
    assert reward_of(events, Reward(name=name, parameters=texts), progress=0.5) is None
    with pytest.raises(SettingsError, match="progress of training"):
        reward_of(events, reward)
    with pytest.raises(SettingsError, match="no turn 1"):
        reward_of(events, reward, progress=0.5, turn=1)
    with pytest.raises(RecordError, match="incomplete"):
        reward_of(events[:-1], reward, progress=0.5)


def test_a_file_is_read_as_it_stands(tmp_path: Path) -> None:
    # Two of the same length within a second: what was compiled of the first must not be found.
    for number in (1, 2, 1):
        name = own(tmp_path, f"def of(events): return {number}")
        assert reward_of(task(RIGHT), Reward(name=name)) == number


def test_what_helps_in_a_file_works_there(tmp_path: Path) -> None:
    code = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass A:\n    x: int\ndef of(events): return A(3).x > 2"
    )
    assert reward_of(task(RIGHT), Reward(name=own(tmp_path, code))) == 1.0


@pytest.mark.parametrize(
    ("code", "parameters", "reason"),
    [
        ("def off(events): return 1", {}, r"unknown function of .*mine\.py 'of'.*mean 'off'"),
        ("of = 3", {}, "not a function, but 3"),
        ("class of: pass", {}, "not a function"),
        ("def of(): return 1", {}, r"must take the events.*it takes \(\)"),
        ("def of(*, events): return 1", {}, "must take the events"),
        ("def of(events, more, /): return 1", {}, "must take the events"),
        ("async def of(events): return 1", {}, "coroutine"),
        ("def of(events): yield 1", {}, "generator"),
        ("def of(events):\n  return (", {}, r"mine\.py, line 2: "),
        ("import nothing_by_this_name", {}, "line 1: ModuleNotFoundError: No module named"),
        ("def of(events): return 1", {"price": 1}, "unexpected keyword argument 'price'"),
        ("def of(events, price=1): return 1", {"prize": 1}, "Did you mean 'price'"),
        ("def of(events, price): return 1", {}, "missing a required argument: 'price'"),
        ("def of(events, progress): return 1", {"progress": 1}, "progress comes from the training"),
    ],
)
def test_what_cannot_be_a_reward_is_refused_before_anything_runs(
    tmp_path: Path, code: str, parameters: dict[str, Any], reason: str
) -> None:
    name = own(tmp_path, code)
    with pytest.raises(SettingsError, match=reason):
        Reward(name=name, parameters=parameters)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("nowhere.py:of", "nowhere.py: No such file"),
        ("mine.py", "FILE.py:FUNCTION, got 'mine.py'"),
        ("mine.py:", "FILE.py:FUNCTION"),
        ("mine:of", "FILE.py:FUNCTION"),
        (":of", "FILE.py:FUNCTION"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused(name: str, reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        Reward(name=name)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("return 1 / 0", r"mine\.py:of, line 2: ZeroDivisionError: division by zero"),
        ("return float('nan')", "got nan"),
        ("return 1e999", "got inf"),
        ("return '1'", "got '1'"),
        ("return 10 ** 400", "OverflowError"),
        ("return [][1].x", "line 2: IndexError"),
    ],
)
def test_one_that_breaks_says_where(tmp_path: Path, code: str, reason: str) -> None:
    reward = Reward(name=own(tmp_path, f"def of(events):\n    {code}"))
    with pytest.raises(RewardError, match=reason):
        reward_of(task(RIGHT), reward)


@pytest.mark.slow
def test_in_a_training_it_is_a_path_from_the_settings_and_a_part_of_what_goes_on(
    tmp_path: Path,
) -> None:
    pytest.importorskip("torch")
    from timeful.training.config_io import read_config
    from timeful.training.folder import check_training, open_training

    own(tmp_path, "def of(events): return 1")
    (tmp_path / "a.toml").write_text(
        '[model]\npath = "m"\n[cases]\nbudgets = ["1s"]\n[reward]\nname = "mine.py:of"\n'
        '[run]\nout = "out"\n'
    )
    config = read_config(tmp_path / "a.toml")
    assert config.reward.name == f"{tmp_path / 'mine.py'}:of"
    with open_training(config):
        pass
    check_training(config)
    own(tmp_path, "def of(events): return 2")
    with pytest.raises(SettingsError, match=r"differs in: sha256\.reward\.name"):
        check_training(config)


@pytest.mark.slow
def test_in_a_training_one_that_breaks_leaves_the_record_at_which_it_did(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from types import SimpleNamespace

    from timeful.records.recorder import read_record
    from timeful.training.reward_functions import RecordReward
    from timeful.training.rollouts import Rollout

    name = own(tmp_path, "def of(events, progress):\n    return progress / (len(events) - 4)")
    scene: Any = SimpleNamespace(key="case", turn=None)
    good, bad = task(RIGHT), calls(task(RIGHT), 0)[:1] + task(RIGHT)[1:]
    good = [*good[:1], thought(1), *good[1:]]
    groups = [[Rollout(task=scene, sampling=7, events=tuple(one), ok=True)] for one in (good, bad)]
    rewards = RecordReward(Reward(name=name), tmp_path / "episodes")
    assert rewards(groups[:1], 3, 0.5) == [[0.5]]
    with pytest.raises(
        RewardError, match=r"line 2: ZeroDivisionError.*broke at the record .*00003"
    ):
        rewards(groups, 3, 0.5)
    [path] = (tmp_path / "episodes" / "00003").iterdir()
    assert list(read_record(path)) == bad
