"""Rewards of episodes that were played, beside what the suites say of the same records."""

import msgspec
import pytest

from tests.agents.proactive.material import PAY, Played, actions, topics
from tests.environments.dialogue.material import one, talk
from timeful.agents.proactive import parse
from timeful.core.source import Chunk
from timeful.core.units import Duration, seconds
from timeful.environments.dialogue.timing import Stamped
from timeful.metrics.budgets import right_in_time, utilisation
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Entry
from timeful.records.recorder import Recorder
from timeful.rewards.outcome import Outcome, read_outcome
from timeful.rewards.proactor import LOST
from timeful.rewards.registry import Reward, reward_of
from timeful.rewards.turns import UNUSABLE, read_turns
from timeful.tasks.budgets import read_budget
from timeful.tasks.episode import Family, SharedSettings, TaskEpisode, TaskSource
from timeful.tasks.library import process_library
from timeful.tasks.play import play
from timeful.tasks.rows import TaskRow, summarize


def played(
    family: Family, case: str, who: str, span: Duration, rig: SharedSettings
) -> tuple[list[Entry], TaskRow, Outcome]:
    recorder = Recorder()
    spec = TaskEpisode(
        family=family,
        case=case,
        role=ModelRole(stand_in=who),
        run=0,
        latency="none",
        shared=rig,
        budget=read_budget(f"{span / 1e9}s"),
        span=span,
    )
    play(spec, recorder)
    outcome = read_outcome(recorder.events)
    assert outcome is not None
    return recorder.events, summarize(recorder.events), outcome


def rewards(events: list[Entry], *names: str) -> list[float | None]:
    return [reward_of(events, Reward(name=name)) for name in names]


@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("who", ["paced", "steady", "curt"])
def test_problems_under_hard_and_soft_budgets(who: str, is_soft: bool) -> None:
    rig = SharedSettings(source=TaskSource(sets=("sums",), size=2), is_soft=is_soft)
    seen = set()
    for case in process_library().select("reasoning", ("sums",), rig.source, seed=0):
        for span in (0.3, 2, 60):
            events, row, outcome = played("reasoning", case, who, seconds(span), rig)
            ep, right, timely = rewards(events, "ep_aware", "correctness", "timely")
            assert ep == right_in_time(row)
            assert right == row.correct
            assert outcome.is_late is not row.is_on_time
            assert (outcome.tokens, outcome.counted) == (row.tokens, row.counted_ns)
            share = utilisation(row.counted_ns, row.budget_ns or 0)
            wanted = 0.6 + 0.4 * share if row.correct else 0.1
            assert timely == pytest.approx(wanted if row.is_on_time else 0.0)
            seen.add((row.is_on_time, bool(row.correct)))
    # Otherwise this would have shown little; only a soft budget lets a late answer be right.
    assert (True, True) in seen
    if who == "steady":
        assert ((False, True) in seen) is is_soft


def test_a_game_that_goes_on_to_the_deadline_earns_nothing() -> None:
    events, row, outcome = played("fiction", "skerry", "careful", seconds(1), SharedSettings())
    assert (row.reason, outcome.is_late) == ("deadline", True)
    assert rewards(events, "timely") == [0.0]


def test_a_game_that_comes_to_its_end_earns_by_what_it_gained() -> None:
    events, row, outcome = played("fiction", "skerry", "careful", seconds(10_000), SharedSettings())
    assert row.is_on_time
    assert outcome.score == row.gain
    assert row.max_score is not None
    share = ((row.gain or 0.0) / row.max_score) ** (1 / 3)
    wanted = 0.1 + share + 0.4 * utilisation(row.counted_ns, row.budget_ns or 0)
    assert rewards(events, "timely") == pytest.approx([wanted])


def test_a_conversation_of_an_agent_that_is_too_slow_for_its_first_turn() -> None:
    model = ScriptedModel(lambda _: [Chunk(PAY, 7)], pace=Pace(per_token=seconds(1)))
    conversation = Played(model, talk(0.0, 5.0, 14.0), Stamped())
    turns = read_turns(conversation.events)
    assert turns is not None
    assert [turns[number] is LOST for number in (1, 2, 3)] == [
        number in conversation.conversed.lost for number in (1, 2, 3)
    ]
    assert turns[1] is LOST
    # pay with "Ada" where the reference is pay without: the name matches and its input does not.
    assert (turns[3].rac, turns[3].ftr) == (0.0, 1.0)
    assert rewards(conversation.events, "rac_score") == [0.0]
    # (0 + -0.01 x 1 of each turn that was not lost) / 3
    kept = sum(one is not LOST for one in turns.values())
    assert rewards(conversation.events, "weighted_rac_score") == pytest.approx([-0.01 * kept / 3])


@pytest.mark.parametrize(
    ("said", "topic"),
    [
        ("I see nothing to do.", "no-json"),
        ('{"proactive_action_opportunities": [', "bad-json"),
        ("{}", "bad-shape"),
        ('{"proactive_action_opportunities": [{"name": "pay"}]}', "bad-opportunity"),
        (actions(one("pay")).replace("pending", "soon"), "unknown-status"),
        (actions(one("dance")), "unknown-action"),
    ],
)
def test_words_without_sense_are_no_silence_where_nothing_is_to_be_done(
    said: str, topic: str
) -> None:
    nothing_to_do = msgspec.structs.replace(talk(0.0, 5.0), references={}, ready_ranges={})
    answers = iter((said, actions()))
    model = ScriptedModel(lambda _: [Chunk(next(answers), 7)], pace=Pace(per_token=seconds(0.1)))
    conversation = Played(model, nothing_to_do, Stamped())
    assert topics(conversation.notes) == [topic]
    turns = read_turns(conversation.events)
    assert turns is not None
    assert [turns[number] is LOST for number in (1, 2)] == [True, False]
    assert rewards(conversation.events, "rac_score") == [0.5]


def test_what_is_left_of_an_answer_counts_and_every_topic_is_one_that_agents_note() -> None:
    model = ScriptedModel(lambda _: [Chunk(actions(one("pay"), one("dance")), 7)])
    turns = read_turns(Played(model, talk(0.0), Stamped()).events)
    assert turns is not None
    assert turns[1].rac > 0
    assert all(f"`{topic}`" in (parse.__doc__ or "") for topic in UNUSABLE)
