"""When agents think and act, turn by turn (spec section 7, without its defects)."""

from functools import partial
from typing import Any

import pytest

from tests.agents.stage import Played, book, play, tokens, words
from timeful.agents.agile import agile, agile_concurrent, agile_reduced
from timeful.agents.planning import planning
from timeful.agents.reactive import reactive, reactive_forced
from timeful.agents.session import Session
from timeful.core.source import Chunk
from timeful.errors import ModelError
from timeful.interfaces.frozen import Frozen
from timeful.models.model import Prompt
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Acted, Noted, ThoughtPaused, ThoughtResumed, ThoughtStarted

U = "\\boxed{U}"
PLAN = "\\boxed{UDUDUDUDUD}"


def model(count: int, answer: str) -> ScriptedModel:
    return ScriptedModel(lambda _: words(count, answer))


def test_a_reactive_thought_that_ends_with_the_turn_still_counts() -> None:
    played = play(partial(reactive, model=model(8, U), prompts=book(), budget=tokens(8)), turns=4)
    assert played.actions == "UUUU"


def test_a_reactive_thought_one_token_too_long_is_cut_and_the_default_is_taken() -> None:
    played = play(partial(reactive, model=model(9, U), prompts=book(), budget=tokens(8)), turns=4)
    assert played.actions == "ssss"
    assert [e.state for e in played.ended("react")] == ["cancelled"] * 4
    assert [e.tokens for e in played.ended("react")] == [8] * 4


@pytest.mark.parametrize(
    ("length", "expected"),
    [
        # k = ceil(N / T_E); the first k - 1 actions are dropped; the next thought starts at the
        # very next turn while the old plan is executed.
        (1, "UUUUUU"),  # a new plan every turn: always its first action
        (8, "UUUUUU"),  # N = T_E is in time for the same turn
        (9, "sDUDUD"),  # complete in turn 2, which takes the plan's second action
        (16, "sDUDUD"),
        (17, "ssUDUU"),
        (24, "ssUDUU"),
        (25, "sssDUD"),
    ],
)
def test_a_plan_is_followed_from_the_turn_in_which_it_is_complete(
    length: int, expected: str
) -> None:
    played = play(partial(planning, model=model(length, PLAN), prompts=book()), turns=6)
    assert played.actions == expected


def test_a_plan_that_does_not_go_stale_starts_from_its_first_action() -> None:
    agent = partial(planning, model=model(9, PLAN), prompts=book(plans_go_stale=False))
    assert play(agent, turns=6).actions == "sUDUDU"


def test_a_plan_and_a_thought_are_thrown_away_when_the_world_restarts() -> None:
    # Without a restart: sDUDUD. The world puts the agent back in turn 3, so a new thought begins
    # at turn 3, complete in turn 5, which takes the plan's second action.
    agent = partial(planning, model=model(9, PLAN), prompts=book())
    assert play(agent, turns=6, restarts=[3]).actions == "sDUsDU"


def test_guidance_from_before_a_restart_is_not_shown() -> None:
    reactor = model(1, U)
    planner = model(12, "ANSWER")
    agent = partial(agile, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(2))
    play(agent, turns=6, restarts=[3])
    assert "ANSWER" in reactor_prompts(reactor)[2]
    assert "ANSWER" not in reactor_prompts(reactor)[3]
    assert "[3: hm" in reactor_prompts(reactor)[3]


def test_when_the_plan_is_used_up_the_default_is_taken() -> None:
    agent = partial(planning, model=model(40, "\\boxed{UUUUUUU}"), prompts=book())
    assert play(agent, turns=12).actions == "ssssUUUssUUU"


def test_an_unreadable_plan_is_noted_and_nothing_is_done() -> None:
    played = play(partial(planning, model=model(3, "\\boxed{UP?!7}"), prompts=book()), turns=3)
    assert played.actions == "sss"
    assert {e.topic for e in played.events if isinstance(e, Noted)} == {"plan"}


def reactor_prompts(reactor: ScriptedModel) -> list[str]:
    return [prompt.messages[0].content for prompt in reactor.asked]


def test_the_reactor_sees_every_word_said_before_its_part_of_the_turn() -> None:
    planner = ScriptedModel(lambda _: " ".join(f"w{i}" for i in range(100)))
    reactor = model(2, U)
    agent = partial(agile, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(2))
    played = play(agent, turns=3)
    assert played.actions == "UUU"
    shown = [prompt.split("[0: ")[1].rstrip("]").split() for prompt in reactor_prompts(reactor)]
    assert [len(words) for words in shown] == [6, 14, 22]


@pytest.mark.parametrize("length", [8, 16, 7, 9, 15])
def test_the_end_of_a_plan_is_never_lost(length: int) -> None:
    # The published schedule never shows the answer of plans that end within the reserve.
    reactor = model(1, U)
    planner = model(length, "ANSWER")
    agent = partial(agile, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(2))
    play(agent, turns=6)
    assert any("ANSWER" in prompt for prompt in reactor_prompts(reactor)[: length // 8 + 2])


@pytest.mark.parametrize("reserve", [1, 7, 8])
def test_agile_acts_in_every_turn_whatever_the_reserve(reserve: int) -> None:
    reactor = model(1, U)
    agent = partial(
        agile, planner=model(20, PLAN), reactor=reactor, prompts=book(), reserve=tokens(reserve)
    )
    assert play(agent, turns=6).actions == "UUUUUU"


def test_the_last_conclusion_is_shown_until_the_next_one() -> None:
    reactor = model(1, U)
    agent = partial(
        agile, planner=model(12, "ANSWER"), reactor=reactor, prompts=book(), reserve=tokens(2)
    )
    play(agent, turns=6)
    prompts = reactor_prompts(reactor)
    assert all("ANSWER" in prompt for prompt in prompts[1:])
    assert "[2: hm" in prompts[2], "and the new words beside it"


def test_one_plan_at_a_time_no_matter_how_slow() -> None:
    planner = model(10_000, PLAN)
    reactor = model(1, U)
    agent = partial(agile, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(2))
    played = play(agent, turns=8)
    assert len(planner.asked) == 1
    assert [e.state for e in played.ended("plan")] == ["orphaned"]
    assert planner.sources[0].is_closed


def test_on_shared_throughput_the_planner_waits_while_the_reactor_thinks() -> None:
    planner, reactor = model(1000, PLAN), model(2, U)
    agent = partial(
        agile_concurrent, planner=planner, reactor=reactor, prompts=book(), reserve=tokens(3)
    )
    played = play(agent, turns=4)
    assert played.actions == "UUUU"
    pauses = [e for e in played.events if isinstance(e, ThoughtPaused)]
    resumes = [e for e in played.events if isinstance(e, ThoughtResumed)]
    # 5 tokens, 2 for the reactor, then 1 left of the turn, and so on: never more than 8 a turn.
    assert [e.tokens for e in pauses] == [5, 11, 17, 23]
    assert [r.at - p.at for p, r in zip(pauses, resumes, strict=True)] == [tokens(2)] * 4


def test_the_reduced_form_shows_only_finished_answers() -> None:
    reactor = model(1, U)
    agent = partial(
        agile_reduced,
        planner=model(12, "ANSWER"),
        reactor=reactor,
        prompts=book(),
        reserve=tokens(2),
    )
    play(agent, turns=6)
    prompts = reactor_prompts(reactor)
    assert "ANSWER" not in prompts[0]
    assert all("ANSWER" in prompt for prompt in prompts[1:])
    assert prompts[1].count("hm") == 11, "nothing of the thought that is still under way"


def forced_model(prompt: Prompt) -> str:
    return "U}" if prompt.label == "force" else "hm " * 100


def test_a_cut_answer_is_forced_within_the_budget() -> None:
    asked = ScriptedModel(forced_model)
    agent = partial(
        reactive_forced, model=asked, prompts=book(), budget=tokens(8), forced=tokens(1)
    )
    played = play(agent, turns=3)
    assert played.actions == "UUU"
    assert [e.tokens for e in played.ended("react")] == [5, 5, 5], "three forced calls are kept for"
    assert asked.asked[1].messages[-1].role == "assistant"
    assert asked.asked[1].messages[-1].content.startswith("hm hm hm hm hm")


def test_after_three_useless_forced_calls_the_default_is_taken() -> None:
    agent = partial(
        reactive_forced, model=model(100, "?"), prompts=book(), budget=tokens(8), forced=tokens(1)
    )
    played = play(agent, turns=3)
    assert played.actions == "sss"
    assert len(played.ended("force")) == 9


def failing(_: Prompt) -> list[ModelError]:
    return [ModelError("the endpoint burnt down")]


def test_a_failing_reactor_fails_the_episode_at_the_model() -> None:
    agent = partial(reactive, model=ScriptedModel(failing), prompts=book(), budget=tokens(8))
    played = play(agent)
    assert not played.ok
    assert played.failure.boundary == "model"
    assert "burnt down" in played.failure.error


def test_a_failing_planner_is_not_swallowed_by_the_reactor() -> None:
    agent = partial(
        agile,
        planner=ScriptedModel(failing),
        reactor=model(1, U),
        prompts=book(),
        reserve=tokens(2),
    )
    assert play(agent).failure.boundary == "model"


def test_an_illegal_action_is_recorded_and_the_default_is_taken() -> None:
    async def cheat(session: Session) -> None:
        assert not session.act("X")

    played = play(cheat, turns=2)
    assert played.actions == "ss"
    [acted] = [e for e in played.events if isinstance(e, Acted)]
    assert not acted.legal
    assert acted.error == "illegal action 'X'; legal actions are U, D, S"


def frozen(played_turns: int, agent: object) -> Played:
    return play(
        agent,  # type: ignore[arg-type]
        turns=played_turns,
        interface=lambda k, e, r: Frozen(k, e, r, patience=tokens(100), full=True),
    )


def test_a_frozen_world_waits_for_the_agent() -> None:
    slow = partial(reactive, model=model(50, U), prompts=book(), budget=tokens(99))
    assert frozen(4, slow).actions == "UUUU"
    assert frozen(4, partial(planning, model=model(60, PLAN), prompts=book())).actions == "UUUU"


def test_a_frozen_world_loses_its_patience_in_the_end() -> None:
    agent = partial(reactive, model=model(150, U), prompts=book(), budget=tokens(1000))
    assert frozen(3, agent).actions == "sUs"


def test_the_same_episode_twice_is_the_same_record() -> None:
    def once() -> list[object]:
        reactor = model(2, U)
        agent = partial(
            agile, planner=model(21, PLAN), reactor=reactor, prompts=book(), reserve=tokens(2)
        )
        return list(play(agent).events[:-1])

    assert once() == once()


def reasoner(length: int) -> ScriptedModel:
    """A planner whose reasoning is apart from its answer, as a reasoning model's is."""
    thinking = [Chunk(f"idea{n} ", 1, "reasoning") for n in range(length - 1)]
    return ScriptedModel(lambda _: [*thinking, Chunk("ANSWER", 1)])


@pytest.mark.parametrize("kind", [agile, agile_concurrent])
def test_the_reactor_is_shown_the_reasoning_and_not_the_answer_alone(kind: Any) -> None:
    reactor = model(1, U)
    agent = partial(kind, planner=reasoner(12), reactor=reactor, prompts=book(), reserve=tokens(2))
    play(agent, turns=3)
    prompts = reactor_prompts(reactor)
    assert "idea5" in prompts[0]
    assert "idea6" not in prompts[0], "six tokens before the reactor's part of the turn"
    assert "ANSWER" not in prompts[0]
    assert "idea10" in prompts[1]
    assert "ANSWER" in prompts[1]


def test_the_reduced_form_never_shows_reasoning() -> None:
    reactor = model(1, U)
    agent = partial(
        agile_reduced, planner=reasoner(12), reactor=reactor, prompts=book(), reserve=tokens(2)
    )
    play(agent, turns=6)
    prompts = reactor_prompts(reactor)
    assert not any("idea" in prompt for prompt in prompts)
    assert "[0: ANSWER]" in prompts[1]


@pytest.mark.parametrize("kind", [agile, agile_concurrent, agile_reduced])
def test_a_restart_ends_the_thought_under_way_before_the_next_begins(kind: Any) -> None:
    planner = model(1000, PLAN)
    agent = partial(kind, planner=planner, reactor=model(1, U), prompts=book(), reserve=tokens(2))
    played = play(agent, turns=6, restarts=[3])
    ends = [(e.at, e.state, e.cause) for e in played.ended("plan")]
    assert ends[0] == (tokens(3 * 8), "cancelled", "the world restarted")
    assert len(planner.sources) == 2
    assert [source.is_closed for source in planner.sources] == [True, True]


def test_each_thought_has_a_seed_of_its_own_and_the_same_one_again() -> None:
    def seeds() -> list[int]:
        agent = partial(reactive, model=model(1, U), prompts=book(), budget=tokens(8))
        played = play(agent, turns=5)
        return [e.seed for e in played.events if isinstance(e, ThoughtStarted)]

    assert len(set(seeds())) == 5
    assert seeds() == seeds()
