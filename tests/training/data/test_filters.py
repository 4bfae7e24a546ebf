"""The rules, one by one: a real trace passes, and the same with one thing changed does not."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.data.making import saved, timeful
from timeful.training.data.episodes import Run
from timeful.training.data.filters import find_broken_rule

Change = Callable[[str], str]

TEXT = """
[problems]
sets = ["sums:8"]
size = 1
[time]
budget = ["20s", "20s"]
alpha = [1.0, 1.0]
jitter_s = [%s, %s]
"""


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    config = saved(folder, TEXT % ("0.0", "0.0"))
    found = timeful("traces", config, "--out", folder / "out", "--workers", 1)
    assert found.exit_code == 0, found.output
    return folder / "out"


def found(run: Path, change: Change = lambda text: text, *, least_calls: int = 1) -> str | None:
    """The rule that the one trace of a run breaks, once its record is changed."""
    [path] = (run / "episodes").glob("*.jsonl")
    before = path.read_text()
    changed = change(before)
    path.write_text(changed)
    try:
        [episode] = Run(run)
        return find_broken_rule(episode, least_calls=least_calls)
    finally:
        path.write_text(before)


def later(text: str) -> str:
    """The timer says a second more, wherever it is quoted."""
    return re.sub(r"(\d+)(\.\d\d seconds)", lambda m: f"{int(m[1]) + 1}{m[2]}", text)


def replaced(old: str, new: str) -> Change:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change


def concluded(words: str) -> Change:
    """Another conclusion."""
    return lambda text: re.sub(
        r"<conclusion>.*?</conclusion>", f"<conclusion>{words}</conclusion>", text
    )


def test_a_trace_as_it_was_played_passes(plain: Path) -> None:
    assert found(plain) is None


@pytest.mark.parametrize(
    ("rule", "change"),
    [
        ("times", later),
        ("times", lambda text: text.replace('"alpha":1.0', '"alpha":1.5', 1)),
        ("times", lambda text: re.sub(r'"text":"\d+', '"text":"7', text)),
        ("times", lambda text: re.sub(r"(<tool_response>..)(\d+)", r"\g<1>7", text)),
        ("times", replaced('"scale":1.0', '"scale":2.0')),
        ("times", lambda text: re.sub(r"(total duration: )[0-9.]+", r"\g<1>0.01", text)),
        ("times", lambda text: re.sub(r"(total duration: )[0-9.]+", r"\g<1>19.99", text)),
        ("calls", lambda text: text.replace("<tool_response>", "<tool_reply>")),
        ("calls", replaced('"tool":"get_duration"', '"tool":"calculator"')),
        ("late", replaced('"budget_ns":20000000000', '"budget_ns":1000000000')),
        ("answer", replaced('"correct":true', '"correct":false')),
        ("times", concluded("total duration: 19.9 s")),
        ("times", concluded("total duration: 1 minute 5 seconds")),
        ("times", concluded("1 call; total duration: 19.9 seconds")),
        (None, concluded("done")),
        (None, lambda text: re.sub(r"<(/?)conclusion>", r"<\1summary>", text)),
        ("form", lambda text: text.replace("<answer>", "<result>")),
        ("form", replaced('"finish":"stop"', '"finish":"length"')),
        ("form", lambda text: text.replace("<summary>", "<tool_response>\\n1\\n<summary>")),
    ],
)
def test_a_trace_with_one_thing_changed_breaks_its_rule(
    plain: Path, rule: str | None, change: Change
) -> None:
    assert found(plain, change) == rule


def test_so_many_calls_are_asked_for_and_no_fewer(plain: Path) -> None:
    [path] = (plain / "episodes").glob("*.jsonl")
    calls = path.read_text().count('"what":"reply"')
    assert calls > 2
    assert found(plain, least_calls=calls) is None
    assert found(plain, least_calls=calls + 1) == "calls"


def test_a_timer_with_noise_may_be_off_by_its_noise(tmp_path: Path) -> None:
    config = saved(tmp_path, TEXT % ("0.3", "0.3"))
    assert timeful("traces", config, "--out", tmp_path / "out", "--workers", 1).exit_code == 0
    assert found(tmp_path / "out") is None
    assert found(tmp_path / "out", later) is None, "a second is within five deviations of 0.3"
    assert found(tmp_path / "out", lambda text: later(later(text))) == "times"
