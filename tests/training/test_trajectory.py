"""What an optimiser sees of a record, token by token."""

from timeful.records.events import Entry, Happened, Sampled, ThoughtStarted
from timeful.training.trajectory import WORLD, read_sequences, turn_rewards


def begun(thought: int, *, model: str = "policy") -> ThoughtStarted:
    return ThoughtStarted(
        at=0,
        thought=thought,
        model=model,
        purpose="work",
        turn=0,
        limit=None,
        max_tokens=None,
        seed=0,
        messages=None,
    )


def said(thought: int, prompt: tuple[int, ...], *ids: int) -> Sampled:
    logprobs = tuple(-one / 8 for one in ids)
    return Sampled(
        at=0, thought=thought, prompt_ids=prompt, ids=ids, logprobs=logprobs, policy=0, kept=0
    )


def brought(reward: float) -> Happened:
    return Happened(at=0, number=1, what="points", data={}, reward=reward, score=reward)


def test_what_was_put_in_is_of_the_world_and_what_was_sampled_of_its_thought() -> None:
    events = [begun(5), said(5, (1, 2), 3, 4), begun(6), said(6, (1, 2, 3, 4, 9, 9), 7)]
    (row,) = read_sequences(events)
    assert row.prompt_ids == (1, 2)
    assert row.completion_ids == (3, 4, 9, 9, 7)
    assert row.mask == (1, 1, 0, 0, 1)
    assert row.turns == (0, 0, WORLD, WORLD, 1)
    assert row.logprobs == (-3 / 8, -4 / 8, 0.0, 0.0, -7 / 8)


def test_a_thought_goes_on_with_the_last_conversation_that_its_prompt_begins_with() -> None:
    events: list[Entry] = [begun(n) for n in range(4)]
    events += [said(0, (1,), 2), said(1, (1,), 2), said(2, (1, 2), 3), said(3, (1, 2, 8), 4)]
    first, second = read_sequences(events)
    assert (first.ids, first.turns) == ((1, 2, 8, 4), (0, WORLD, 3))
    assert (second.ids, second.turns) == ((1, 2, 3), (1, 2)), "also where nothing was put in"


def test_thoughts_come_in_the_order_they_began_and_silent_ones_give_no_row() -> None:
    events = [begun(0), begun(1), begun(2), said(2, (8,)), said(1, (1, 2), 3), said(0, (1,), 2)]
    (row,) = read_sequences(events)
    assert (row.ids, row.turns) == ((1, 2, 3), (0, 1))


def test_only_the_thoughts_of_the_model_are_counted_and_credited() -> None:
    events: list[Entry] = [brought(9.0), begun(0, model="judge"), said(0, (6,), 6), brought(8.0)]
    events += [begun(1), said(1, (1,), 2), brought(1.0), begun(2, model="judge"), brought(2.0)]
    events += [begun(3), said(3, (1, 2), 3)]
    (row,) = read_sequences(events, model="policy")
    assert row.turns == (0, 1)
    assert turn_rewards(events, model="policy") == (3.0, 0.0)
    assert turn_rewards(events) == (8.0, 1.0, 2.0, 0.0)
