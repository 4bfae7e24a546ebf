"""Records of tasks and conversations, written by hand."""

from typing import Any

from tests.environments.dialogue.material import one, says
from timeful.dialogues.opportunity import write_opportunities
from timeful.records.events import (
    Acted,
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    EpisodeStarted,
    Happened,
    Noted,
    ThoughtEnded,
    Within,
)

RIGHT: dict[str, Any] = {"answer": "4", "correct": True, "checked": "exact"}
WRONG: dict[str, Any] = {"answer": "5", "correct": False, "checked": "exact"}
SILENT: dict[str, Any] = {"answer": "", "correct": False, "checked": "none"}
GAME: dict[str, Any] = {"start_score": 0, "final_score": 0, "max_score": 64, "won": False}
CODE: dict[str, Any] = {"reward_accuracy": 0.8, "metric": 0.8, "metric_name": "accuracy"}


def thought(tokens: int, number: int = 1) -> ThoughtEnded:
    return ThoughtEnded(
        at=0,
        thought=number,
        state="completed",
        cause=None,
        tokens=tokens,
        finish="stop",
        text_sha256="",
        answer="",
    )


def task(
    facts: dict[str, Any],
    *,
    counted: int = 10,
    reason: str = "answered",
    budget: int | None = 20,
    tokens: tuple[int, ...] = (3,),
    notes: tuple[str, ...] = (),
    **said: Any,
) -> list[Entry]:
    """A whole record of a task that was over when so much counted."""
    over = {"reason": reason, "counted": counted, "cut": "", **facts}
    settings = {"episode": {"budget_ns": budget, "budget": f"{budget}ns", **said}}
    return [
        EpisodeStarted(at=0, version="0", settings=settings),
        *(thought(count, number) for number, count in enumerate(tokens, 1)),
        *(Noted(at=0, topic=topic, text="so") for topic in notes),
        Happened(at=counted, number=1, what="over", data=over, reward=0.0, score=0.0),
        EpisodeEnded(at=counted, reason="world over", turns=1, score=0.0),
    ]


def failed(events: list[Entry]) -> list[Entry]:
    """The same record, of an episode that broke at its very end."""
    return [*events[:-1], EpisodeFailed(at=0, boundary="model", error="gone")]


def within(event: Entry) -> Within:
    return Within(at=event.at, module="body", what=event)  # type: ignore[arg-type]


def talk(
    *turns: tuple[str | None, tuple[Any, ...]], ranges: dict[str, tuple[int, ...]] | None = None
) -> list[Entry]:
    """A conversation: of each turn what was said for it, None if nothing was, and its references.

    What is said is the text of a prediction, see `says`.
    """
    events: list[Entry] = [EpisodeStarted(at=0, version="0", settings={})]
    for number, (said, _) in enumerate(turns, 1):
        data = {"turn": number, "speaker": "customer", "text": f"w{number}", "observed": []}
        events.append(
            Happened(at=number, number=number, what="turn", data=data, reward=0.0, score=0.0)
        )
        if said is not None:
            events.append(Acted(at=number, turn=number, action=said, legal=True, error=None))
    over = {
        "dialogue": "d1",
        "references": {
            str(number): write_opportunities(references)
            for number, (_, references) in enumerate(turns, 1)
            if references
        },
        "ready_ranges": {name: list(at) for name, at in (ranges or {}).items()},
    }
    return [
        *events,
        Happened(at=9, number=9, what="over", data=over, reward=0.0, score=0.0),
        EpisodeEnded(at=9, reason="world over", turns=len(turns), score=0.0),
    ]


__all__ = ["one", "says"]
