"""What RULER is shown of an episode comes from its record."""

import pytest

from timeful.core.source import Chunk
from timeful.errors import RecordError
from timeful.judges.candidates import candidate
from timeful.judges.ruler import Group, rule_judge, ruler
from timeful.models.model import Message
from timeful.records.events import Entry, ThoughtChunk, ThoughtEnded, ThoughtStarted


def thought(
    number: int, asked: list[tuple[str, str]] | None, *said: Chunk, answer: str
) -> list[Entry]:
    chunks: list[Entry] = [
        ThoughtChunk(
            at=1, thought=number, channel=chunk.channel, tokens=chunk.tokens, text=chunk.text
        )
        for chunk in said
    ]
    return [
        ThoughtStarted(
            at=0,
            thought=number,
            model="m",
            purpose="main",
            turn=0,
            limit=None,
            max_tokens=None,
            seed=0,
            messages=asked,
        ),
        *chunks,
        ThoughtEnded(
            at=2,
            thought=number,
            state="completed",
            cause=None,
            tokens=2,
            finish="stop",
            text_sha256="",
            answer=answer,
        ),
    ]


EPISODE = [
    *thought(1, [("system", "s"), ("user", "u")], Chunk("call", 1), answer="call"),
    *thought(
        2,
        [("system", "s"), ("user", "u"), ("assistant", "call"), ("tool", "reply")],
        Chunk("hm, ", 1, "reasoning"),
        Chunk("so", 1, "reasoning"),
        Chunk("4", 1),
        answer="4",
    ),
]


def test_a_candidate_is_the_last_thoughts_conversation_and_all_it_said() -> None:
    assert candidate(EPISODE) == (
        Message("system", "s"),
        Message("user", "u"),
        Message("assistant", "call"),
        Message("tool", "reply"),
        Message("assistant", "<think>hm, so</think>\n4"),
    )


def test_another_thought_can_be_named() -> None:
    assert candidate(EPISODE, thought=1)[-1] == Message("assistant", "call")


def test_of_several_conversations_a_judge_sees_each_to_its_end() -> None:
    """A proactive agent that asks as well has one on actions, and one on questions."""
    questions = [("system", "q"), ("user", "u")]
    assert candidate([*EPISODE, *thought(3, questions, answer="why?")]) == (
        *candidate(EPISODE),
        Message("system", "q"),
        Message("user", "u"),
        Message("assistant", "why?"),
    )


def test_thoughts_that_ran_side_by_side_do_not_mix() -> None:
    mixed = sorted(EPISODE, key=lambda event: event.at)
    assert candidate(mixed) == candidate(EPISODE)


def test_episodes_of_one_prompt_are_judged_together() -> None:
    other = thought(1, [("system", "s"), ("user", "u")], answer="5")
    group = Group(name="g", trajectories=(candidate(EPISODE), candidate(other)))
    [one] = ruler(rule_judge(lambda said: 1.0 if said[-1].content == "5" else 0.0), [group])
    assert one.scores == (0.0, 1.0)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([], "no thought"),
        (EPISODE[:1], "no thought"),
        (thought(1, None, answer="4"), "not kept"),
    ],
)
def test_what_a_record_does_not_hold_is_said(events: list[Entry], reason: str) -> None:
    with pytest.raises(RecordError, match=reason):
        candidate(events)
    with pytest.raises(RecordError, match="no thought 3"):
        candidate(EPISODE, thought=3)
