"""Turns of dialogues as rollouts, and a judge that sees the groups of an update together."""

import json
from collections.abc import Mapping
from pathlib import Path
from threading import Barrier
from typing import Any

import msgspec
import pytest

from tests.rewards.material import RIGHT, task
from tests.servers.fake import FakeServer, Say, Status
from tests.training.material import checkpoint, config
from timeful.core.units import seconds
from timeful.dialogues.jsonl import write_jsonl
from timeful.errors import ModelError, ModelRefusedError, SettingsError
from timeful.judges.ruler import rule_judge
from timeful.judges.ruler_prompts import read_attempts
from timeful.judges.ruler_settings import RulerJudge
from timeful.models.model import Prompt
from timeful.models.pace import Pace
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Noted, ThoughtEnded, ThoughtStarted
from timeful.records.recorder import Recorder
from timeful.rewards.registry import REWARDS, Reward, reward_of
from timeful.training.config import CasesPart, RewardPart, TurnsPart
from timeful.training.reward_functions import JudgeReward, RecordReward
from timeful.training.rollout_tasks import make_rollout_tasks, timely_tasks
from timeful.training.rollouts import Rollout
from timeful.training.turns import TurnTask, turn_tasks


@pytest.fixture(scope="module")
def scenes() -> Mapping[str, TurnTask]:
    return turn_tasks(TurnsPart(size=2), seed=0)


def says(*names: str) -> ScriptedModel:
    """A model that predicts these actions, all of them pending."""
    found = [
        {
            "name": name,
            "description": "",
            "inputs": {"required": [], "optional": []},
            "readiness_maturity": "low",
            "trigger_confidence": "low",
            "action_trigger_status": "pending",
        }
        for name in names
    ]
    text = json.dumps({"proactive_action_opportunities": found})
    return ScriptedModel(lambda prompt: f"<think>.</think><action>{text}</action>", name="m")


def play(scene: TurnTask, model: Any, *, sampling: int = 1) -> Rollout:
    recorder = Recorder()
    ok = scene.play(model, recorder, sampling=sampling)
    return Rollout(task=scene, sampling=sampling, events=tuple(recorder.events), ok=ok)


def test_every_turn_is_a_scene_of_one_thought_about_what_was_said_so_far(
    scenes: Mapping[str, TurnTask],
) -> None:
    dialogues = {scene.dialogue.id: scene.dialogue for scene in scenes.values()}
    assert len(scenes) == sum(len(one.turns) for one in dialogues.values())
    for scene in scenes.values():
        asked: list[Prompt] = []

        def note(prompt: Prompt, asked: list[Prompt] = asked) -> str:
            asked.append(prompt)
            return "<think></think><action>{}</action>"

        played = play(scene, ScriptedModel(note, name="m"))
        assert played.ok
        assert len(asked) == 1
        said = asked[0].messages[-1].content
        turns = scene.dialogue.turns
        assert all(one.text in said for one in turns[: scene.index + 1])
        later = [one.text for one in turns[scene.index + 1 :]]
        earlier = {one.text for one in turns[: scene.index + 1]}
        assert not any(one in said for one in later if one not in earlier and len(one) > 40)


def test_its_reward_is_that_of_the_whole_conversation_at_this_turn(
    scenes: Mapping[str, TurnTask],
) -> None:
    right = wrong = 0
    for scene in scenes.values():
        names = [one.name for one in scene.dialogue.references.get(scene.turn, ())]
        for reward in ("rac_score", "max_rac_score", "weighted_rac_score"):
            found = RecordReward(Reward(name=reward))([[play(scene, says(*names))]], 0, 0.0)
            assert found[0][0] is not None
        played = play(scene, says())
        [[silent]] = RecordReward(Reward(name="rac_score"))([[played]], 0, 0.0)
        assert silent == (0.0 if names else 1.0)
        # Its record says of which turn it is, so that an audit of it comes to the same.
        assert reward_of(played.events, Reward(name="rac_score")) == silent
        right, wrong = right + (not names), wrong + bool(names)
    assert right
    assert wrong


def test_a_prediction_that_takes_longer_than_the_turn_is_lost() -> None:
    part = TurnsPart(size=1, patience=1.0)
    scene = list(turn_tasks(part, seed=0).values())[3]
    for per_token, is_lost in ((seconds(0.0001), False), (seconds(1), True)):
        model = ScriptedModel(lambda p: "a b c d", name="m", pace=Pace(per_token=per_token))
        played = play(scene, model)
        assert played.ok
        over = [one for one in played.events if getattr(one, "what", "") == "over"]
        assert (scene.turn in over[0].data["lost"]) is is_lost  # type: ignore[union-attr]
        if is_lost:
            assert reward_of(played.events, Reward(name="rac_score"), turn=scene.turn) == 0.0


def test_with_timestamps_a_turn_is_open_until_the_next_began_in_the_data() -> None:
    part = TurnsPart(size=1, timing="timestamps")
    for scene in turn_tasks(part, seed=0).values():
        turns = scene.dialogue.turns
        if scene.index + 1 < len(turns):
            began, then = turns[scene.index].at, turns[scene.index + 1].at
            assert began is not None
            assert then is not None
            assert scene.span == max(1, then - began)


def test_turns_are_drawn_by_the_seed_and_dialogues_by_their_length() -> None:
    some = turn_tasks(TurnsPart(size=3, each=2), seed=0)
    assert len(some) == 6
    assert list(some) == list(turn_tasks(TurnsPart(size=3, each=2), seed=0))
    assert list(some) != list(turn_tasks(TurnsPart(size=3, each=2), seed=1))
    with pytest.raises(SettingsError, match="1 turns or fewer"):
        turn_tasks(TurnsPart(size=2, longest=1), seed=0)
    with pytest.raises(SettingsError, match="unknown agent"):
        turn_tasks(TurnsPart(agent="reasonin"), seed=0)


def test_turns_of_which_only_ready_ranges_are_known_are_for_a_judge_alone(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    dialogue = msgspec.structs.replace(next(iter(scenes.values())).dialogue, references={})
    write_jsonl(tmp_path / "bare.jsonl", [dialogue])
    found = config(
        tmp_path,
        tmp_path / "out",
        cases=TurnsPart(data=str(tmp_path / "bare.jsonl"), split=""),
        reward=RewardPart(name="rac_score"),
    )
    with pytest.raises(SettingsError, match="ready ranges but no references"):
        make_rollout_tasks(found)
    assert make_rollout_tasks(msgspec.structs.replace(found, reward=RewardPart(name="ruler")))


def test_the_agents_of_the_paper_all_play(scenes: Mapping[str, TurnTask]) -> None:
    for agent in ("non-reasoning", "reasoning", "reasoning-asg"):
        scene = list(turn_tasks(TurnsPart(size=1, agent=agent), seed=0).values())[4]
        played = play(scene, says())
        assert played.ok
        assert sum(isinstance(one, ThoughtStarted) for one in played.events) == 1
        assert sum(isinstance(one, ThoughtEnded) for one in played.events) == 1
        assert [one.topic for one in played.events if isinstance(one, Noted)] == ["skipped-turns"]


# --- judges ---------------------------------------------------------------------------------------

HYBRID = Reward(name="hybrid_ruler_weighted_rac_score", parameters={"lambda": 1.0})


def settings(base_url: str = "http://localhost:1/v1", **others: Any) -> RulerJudge:
    return RulerJudge(model="fake", base_url=base_url, **others)


def test_a_judge_scores_the_groups_of_an_update_and_each_candidate_gets_its_own(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    some = list(scenes.values())[3:5]
    action = sorted(some[0].catalog.actions)[:2]
    groups = [[play(one, says()), play(one, says(*action))] for one in some]
    judge = rule_judge(lambda attempt: 0.25 if action[0] in attempt[-1].content else 0.75)
    log = tmp_path / "ruler.jsonl"
    given = JudgeReward(HYBRID, judge, settings(), log=log)(groups, 5, 0.0)
    assert given == [[0.75, 0.25], [0.75, 0.25]]
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert {line["group"] for line in lines} == {f"5/{one.key}" for one in some}

    def nobody(attempt: Any) -> float:
        raise AssertionError("what was scored is not asked for again")

    assert JudgeReward(HYBRID, rule_judge(nobody), settings(), log=log)(groups, 5, 0.0) == given
    warmer = rule_judge(lambda attempt: 0.5)
    JudgeReward(HYBRID, warmer, settings(temperature=1.0), log=log)(groups, 5, 0.0)
    assert len(warmer.asked) == 2, "another judge than the one in the log"


def test_a_judge_that_refuses_ends_the_training_at_once_and_one_that_is_away_does_not(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    pytest.importorskip("openai")
    groups = [[play(scene, says())] for scene in list(scenes.values())[3:6]]
    log = tmp_path / "ruler.jsonl"
    one_score = Say('{"scores": [{"trajectory_id": "1", "explanation": "x", "score": 0.5}]}')
    refusals = [False, False, False, True]

    def script(_: Any) -> Any:
        return [Status(401, "expired") if refusals.pop(0) else one_score]

    with FakeServer(script) as server:
        judge = settings(server.base_url, max_concurrent_api_number=1, max_retries=0)
        model = judge.endpoint("")
        reward = JudgeReward(HYBRID, model, judge, log=log)
        assert reward(groups, 0, 0.0) == [[0.5]] * 3
        with pytest.raises(ModelRefusedError):
            reward(groups, 1, 0.0)
        assert len(server.requests) == 4
        model.close()
    assert len(log.read_text().splitlines()) == 3, "no group is logged as failed"
    assert JudgeReward(HYBRID, model, judge, log=log)(groups, 2, 0.0) == [[None]] * 3
    model.close()


def test_groups_are_asked_for_side_by_side(scenes: Mapping[str, TurnTask], tmp_path: Path) -> None:
    both = Barrier(2)

    def rule(attempt: Any) -> float:
        both.wait(60)  # for the other group
        return 0.5

    groups = [[play(one, says())] for one in list(scenes.values())[3:5]]
    judge = settings(max_concurrent_api_number=2)
    given = JudgeReward(HYBRID, rule_judge(rule), judge, log=tmp_path / "log")(groups, 0, 0.0)
    assert given == [[0.5], [0.5]]


def test_all_rewards_of_a_turn_are_given_by_name(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    scene = next(one for one in scenes.values() if one.dialogue.references.get(one.turn))
    right = {one.name for one in scene.dialogue.references[scene.turn]}
    group = [play(scene, says(*right)), play(scene, says())]
    names = [name for name, kind in REWARDS.items() if kind.of != "task"]
    assert len(names) == 10
    judge = rule_judge(lambda attempt: 0.9 if min(right) in attempt[-1].content else 0.1)
    for name in names:
        reward = Reward(name=name)
        rewards = (
            JudgeReward(reward, judge, settings(), log=tmp_path / name)
            if reward.spec.needs_judge
            else RecordReward(reward)
        )
        found = set()
        for progress in (0.0, 0.5, 1.0):
            [[better, worse]] = rewards([group], 0, progress)
            assert better is not None
            assert worse is not None
            assert better > worse, name
            found.add(better)
        assert (len(found) > 1) is reward.spec.needs_progress, name


def test_who_failed_has_no_reward_and_a_dropped_group_has_none_at_all(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    scene = list(scenes.values())[3]
    whole, other = play(scene, says()), play(scene, says(min(scene.catalog.actions)))
    failed = Rollout(task=scene, sampling=3, events=(), ok=False)
    judge = rule_judge(lambda attempt: 0.5)
    given = JudgeReward(HYBRID, judge, settings(), log=tmp_path / "a")(
        [[whole, failed, other]], 0, 0
    )
    assert given == [[0.5, None, 0.5]]
    mute = ScriptedModel(lambda prompt: "I would rather not.", name="mute")
    given = JudgeReward(HYBRID, mute, settings(), log=tmp_path / "b")(
        [[whole, failed, other]], 0, 0
    )
    assert given == [[None, None, None]]
    given = JudgeReward(HYBRID, judge, settings(), log=tmp_path / "c")([[failed, failed]], 0, 0)
    assert given == [[None, None]]


def test_a_judge_that_has_never_scored_anything_ends_the_training(
    scenes: Mapping[str, TurnTask], tmp_path: Path
) -> None:
    """A wrong key or address would otherwise be a training of nothing, to its end."""
    group = [play(list(scenes.values())[3], says())]
    broken = [True]
    with FakeServer(lambda body: [Status(401) if broken[0] else Say(_scores(body))]) as server:
        judge = settings(server.base_url, max_retries=0, api_key_name="MY_KEY")
        model = judge.endpoint("")
        rewards = JudgeReward(HYBRID, model, judge, log=tmp_path / "log")
        for _ in range(2):  # also where the log has what was refused before
            with pytest.raises(ModelError, match=r"(?s)update 0: .*401.*MY_KEY"):
                rewards([group], 0, 0.0)
        broken[0] = False
        assert rewards([group], 0, 0.0) != [[None]]
        broken[0] = True
        with pytest.raises(ModelRefusedError):  # a key that expired: the training resumes with one
            rewards([group, group], 1, 0.0)
        model.close()


def test_a_judge_may_score_whole_tasks_too(tmp_path: Path) -> None:
    part = CasesPart(sets=("levels:8",), size=1, budgets=("10s",))
    [scene] = timely_tasks(part, max_tokens=20, seed=0, transcripts="full").values()
    group = []
    for text in ("<answer>1</answer>", "<answer>2</answer>"):
        recorder = Recorder()
        model = ScriptedModel(lambda prompt, text=text: text, name="m")  # type: ignore[misc]
        assert scene.play(model, recorder, sampling=0)
        group.append(Rollout(task=scene, sampling=0, events=tuple(recorder.events), ok=True))
    judge = rule_judge(lambda attempt: 0.9 if "2" in attempt[-1].content else 0.2)
    silent = Rollout(task=scene, sampling=1, events=tuple(task(RIGHT, tokens=())), ok=True)
    rewards = JudgeReward(Reward(name="ruler"), judge, settings(), log=tmp_path / "log")
    assert rewards([[*group, silent]], 0, 0) == [[0.2, 0.9, 0.0]]


def _scores(body: dict[str, Any]) -> str:
    attempts = read_attempts(body["messages"][1]["content"])
    return json.dumps(
        {
            "scores": [
                {"trajectory_id": number, "explanation": "", "score": len(said[-1].content) % 7 / 7}
                for number, said in attempts
            ]
        }
    )


@pytest.mark.filterwarnings("ignore")  # of libraries, about each other
def test_a_training_of_turns_with_a_judge_at_an_endpoint(tmp_path: Path) -> None:
    pytest.importorskip("trl", reason="training needs the extra `train`")
    from timeful.training.grpo import train_grpo

    part = TurnsPart(size=1, agent="non-reasoning")
    with FakeServer(lambda body: [Say(_scores(body))]) as server:
        judge = settings(server.base_url, max_retries=0)
        found = config(
            checkpoint(tmp_path / "tiny"),
            tmp_path / "out",
            cases=part,
            judge=judge,
            reward=RewardPart(name="schedule_ruler_weighted_max_rac_score"),
            grpo={"max_steps": 2, "learning_rate": 1e-3, "max_completion_length": 8},
        )
        reward = Reward(name=found.reward.name)
        rewards = JudgeReward(reward, judge.endpoint(""), judge, log=tmp_path / "ruler.jsonl")
        scenes = make_rollout_tasks(found)
        policy = train_grpo(found, scenes, rewards)
        asked = len(server.requests)
    assert (policy / "model.safetensors").is_file()
    lines = [
        json.loads(one) for one in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()
    ]
    assert [line["episodes"] for line in lines] == [8, 8]
    assert not any(line["failed"] or line["unrewarded"] for line in lines)
    assert max(line["trl"]["completions/max_length"] for line in lines) == 8
    assert asked == 4, "a question for each group"
