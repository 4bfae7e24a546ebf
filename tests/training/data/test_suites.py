"""Runs of the other suites as data: rewards of turns, agents of two thoughts, modules."""

from pathlib import Path
from typing import Any

import pytest

from tests.training.data.making import rows_of, timeful


def run(folder: Path, *arguments: object) -> Path:
    options = ("--transcripts", "full", "--workers", 1, "--out", folder)
    found = timeful("run", *arguments, *options)
    assert found.exit_code == 0, found.output
    return folder


def exported(run: Path, kind: str, *options: object) -> list[dict[str, Any]]:
    out = run.parent / f"{kind}.jsonl"
    found = timeful("export", run, "--as", kind, "--out", out, "--replace", *options)
    assert found.exit_code == 0, found.output
    return rows_of(out)


def test_a_reward_of_turns_pays_what_was_predicted_for_each(tmp_path: Path) -> None:
    pytest.importorskip("yaml", reason="needs the extra proactor")
    from timeful.records.recorder import read_record
    from timeful.rewards.registry import Reward, reward_of

    who = ("--agent", "non-reasoning", "--threshold", 0.1, "--threshold", 0.9)
    folder = run(tmp_path / "run", "proactor", "--dialogues", 1, "--runs", 1, "--no-curve", *who)
    rows = exported(folder, "sft", "--reward", "max_rac_score")
    assert {row["reward"] for row in rows} > {0.0, 1.0}
    assert {row["split"] for row in rows} == {"test"}, "as the dialogues say, and no hash"
    for row in rows[::7]:
        events = list(read_record(folder / "episodes" / f"{row['episode']}.jsonl"))
        talk = row["messages"][-2]["content"]
        turn = max(int(line[5:].partition(",")[0]) for line in talk.splitlines() if is_turn(line))
        assert row["reward"] == reward_of(events, Reward(name="max_rac_score"), turn=turn)
    pairs = exported(folder, "preference", "--reward", "max_rac_score")
    assert pairs
    for pair in pairs:
        assert pair["chosen_reward"] > pair["rejected_reward"]
        assert pair["chosen"] != pair["rejected"]


def is_turn(line: str) -> bool:
    return line.startswith("Turn ") and line[5:].partition(",")[0].isdecimal()


def test_each_thought_about_a_state_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    some = ("--game", "freeway", "--difficulty", "easy", "--seeds", 1, "--samples", 1)
    folder = run(tmp_path / "run", "realtime", *some)
    rows = exported(folder, "sft")
    assert {row["purpose"] for row in rows} == {"plan", "react"}
    for row in rows:
        assert [one["role"] for one in row["messages"]].count("assistant") == 1
        assert row["case"] == "freeway/easy/compat/0"
        assert row["budget_s"] is None
    prompts = exported(folder, "prompts")
    assert 0 < len(prompts) <= len(rows) + 3
    assert len({str(row["prompt"]) + row["conditions"] for row in prompts}) == len(prompts)


def test_what_a_module_thought_is_a_conversation_too(tmp_path: Path) -> None:
    some = ("--setting", "one-dish", "--seeds", 1, "--cases", 1, "--no-variants")
    folder = run(tmp_path / "run", "engagement/kitchen", *some)
    rows = exported(folder, "sft")
    assert {row["purpose"] for row in rows} == {"control", "tutor"}
    laws = {row["conditions"] for row in rows}
    assert laws == {
        f'{{"episode.law":"{law}"}}' for law in ("loop", "polling", "reflex", "event-driven")
    }
