"""A conversation as a world of events: it goes on, whoever thinks about it.

An intervention is a prediction for a turn, as one JSON (`timeful.dialogues.prediction`). It is in
time if it comes after the turn is there and before the next begins; at that very instant the
agent comes first, and is in time as well. Of several in time the last one stands. One that comes
when the next turn has begun is late: it is taken, said to be late, and stands for nothing. A turn
without a prediction in time is lost; an empty set is a prediction.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from timeful.core.units import START, Duration, Instant
from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.dialogues.opportunity import BadOpportunityError
from timeful.dialogues.prediction import Prediction, read_prediction
from timeful.environments.dialogue.timing import ByTurn, Stamped, Timetable, Timing
from timeful.environments.dialogue.view import DialogueView, plain
from timeful.environments.environment import Observation
from timeful.errors import IllegalActionError, SettingsError, unknown
from timeful.seeding import child

StepKind = Literal["begins", "turn", "over"]


@dataclass(frozen=True, slots=True)
class _Step:
    """Something of the conversation that is due; `at` is None where it waits for a prediction."""

    kind: StepKind
    index: int
    at: Instant | None = None


@dataclass(frozen=True, slots=True)
class _Answer:
    """A prediction that was taken, and is still to be shown."""

    prediction: Prediction
    at: Instant
    is_late: bool


@dataclass(slots=True, kw_only=True)
class _State:
    """Where a conversation stands; `step` is what comes next, `due` when."""

    step: int = 0
    due: Instant = START
    at: Instant = START
    happened: int = 0
    turns: tuple[Turn, ...] = ()
    start: Instant = START
    speaking: str = ""
    is_open: bool = False
    answers: list[_Answer] = field(default_factory=list)
    in_time: set[int] = field(default_factory=set)
    late: int = 0
    over: bool = False


class Conversation:
    """An `Environment` of one dialogue; its score is the share of turns predicted in time.

    That says how well an agent keeps up, and nothing of what it predicts: what that is worth,
    the metrics of ProActor say from the record (`timeful.metrics.proactor.episodes`).

    Events are "begins" (the next turn; quiet, and only where a turn takes time to say), "turn",
    "prediction" (quiet; what became of one) and "over", which holds all that scoring needs: the
    references, ready ranges and reference questions, which nobody can see before, and workflows.

    Args:
        dialogue: The conversation, with at least one turn.
        timing: When its turns come.
        seed: Of a pace that varies.
        actions: The names that may be predicted; any if there are none.
        workflows: The actions of each workflow in their order, told at the end for scoring.

    Raises:
        SettingsError: If the dialogue has no turn, or not what its timing needs.
    """

    def __init__(
        self,
        dialogue: Dialogue,
        timing: Timing,
        *,
        seed: int,
        actions: Collection[str] = (),
        workflows: Iterable[Sequence[str]] = (),
    ) -> None:
        if not dialogue.turns:
            raise SettingsError(f"dialogue {dialogue.id} has no turn")
        self._dialogue = dialogue
        self._actions = frozenset(actions)
        self._workflows = tuple(map(tuple, workflows))
        self._patience: Duration | None = None
        if isinstance(timing, ByTurn):
            self._patience = timing.patience
            self._steps = _waiting(len(dialogue.turns))
        elif isinstance(timing, Stamped):
            self._steps = _timed(timing.timetable(dialogue))
        else:
            self._steps = _timed(timing.timetable(dialogue, child(seed, "pace", dialogue.id)))
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same conversation."""
        self._state = _State(due=self._steps[0].at or START)

    # --- interventions -----------------------------------------------------------------------

    def intervene(self, actions: Sequence[Prediction | str], *, at: Instant) -> None:
        """Take predictions, each for a turn that is there.

        Raises:
            IllegalActionError: If one is no prediction, or for a turn that has not come, or names
                an action that there is not. The message is fit for a model to read.
        """
        state = self._state
        for prediction in [self._read(action) for action in actions]:
            is_late = not state.is_open or prediction.turn != state.turns[-1].number
            state.answers.append(_Answer(prediction, at, is_late))
            if not is_late and self._patience is not None:
                state.due = at

    def _read(self, action: Prediction | str) -> Prediction:
        state = self._state
        try:
            prediction = read_prediction(action) if isinstance(action, str) else action
        except BadOpportunityError as error:
            raise IllegalActionError(f"this is no prediction: {error}") from None
        if state.over:
            raise IllegalActionError("it is too late for that; the conversation is over")
        numbers = [turn.number for turn in state.turns]
        if prediction.turn not in numbers:
            there = f"the latest is {numbers[-1]}" if numbers else "nothing has been said yet"
            raise IllegalActionError(f"there is no turn {prediction.turn}; {there}")
        for opportunity in prediction.opportunities:
            if self._actions and opportunity.name not in self._actions:
                raise IllegalActionError(unknown("action", opportunity.name, self._actions))
        return prediction

    # --- what happens ------------------------------------------------------------------------

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let the conversation go on through an instant."""
        state, observations = self._state, list[Observation]()
        while not state.over:
            if state.answers and state.answers[0].at <= to:
                observations.append(self._show(state.answers.pop(0)))
            elif state.due <= to:
                observations.append(self._go_on())
            else:
                break
        return tuple(observations)

    def _show(self, answer: _Answer) -> Observation:
        state, number = self._state, answer.prediction.turn
        reward = 0.0
        if answer.is_late:
            state.late += 1
        elif number not in state.in_time:
            state.in_time.add(number)
            reward = 1 / len(self._dialogue.turns)
        data = {
            "turn": number,
            "late": answer.is_late,
            "opportunities": len(answer.prediction.opportunities),
            "questions": len(answer.prediction.questions),
        }
        return self._happen("prediction", answer.at, data, reward=reward, is_quiet=True)

    def _go_on(self) -> Observation:
        state, step, at = self._state, self._steps[self._state.step], self._state.due
        state.step += 1
        if step.kind == "over":
            state.is_open, state.over = False, True
            return self._happen("over", at, self._facts())
        turn = self._dialogue.turns[step.index]
        if step.kind == "begins":
            state.is_open, state.speaking, state.start = False, turn.speaker, at
            data = {"turn": turn.number, "speaker": turn.speaker}
            self._aim(at)
            return self._happen("begins", at, data, is_quiet=True)
        start = state.start if state.speaking else at
        turn = msgspec.structs.replace(turn, at=start)
        state.turns, state.is_open, state.speaking = (*state.turns, turn), True, ""
        self._aim(at)
        return self._happen("turn", at, _turn_data(turn))

    def _aim(self, now: Instant) -> None:
        at = self._steps[self._state.step].at
        if at is not None:
            self._state.due = at
        else:
            assert self._patience is not None, "only a conversation by turn has no instants"
            self._state.due = now + self._patience

    def _happen(
        self,
        event: str,
        at: Instant,
        data: dict[str, Any],
        *,
        reward: float = 0.0,
        is_quiet: bool = False,
    ) -> Observation:
        self._state.happened += 1
        self._state.at = at
        return Observation(
            at=at, event=event, view=self.view(), reward=reward, data=data, is_quiet=is_quiet
        )

    def _facts(self) -> dict[str, Any]:
        """What the record needs for scoring, told when nothing can be done with it any more."""
        dialogue, state = self._dialogue, self._state
        return {
            "dialogue": dialogue.id,
            "subflow": dialogue.subflow,
            "synthetic": dialogue.synthetic,
            "lost": [turn.number for turn in dialogue.turns if turn.number not in state.in_time],
            "late": state.late,
            "references": plain(dialogue.references),
            "ready_ranges": plain(dialogue.ready_ranges),
            "questions": plain(dialogue.questions),
            "actions": sorted(self._actions),
            "workflows": plain(self._workflows),
        }

    def next_change(self) -> Instant | None:
        """When a prediction is shown or the conversation goes on; None once it is over."""
        state = self._state
        if state.over:
            return None
        return state.answers[0].at if state.answers else state.due

    @property
    def next_tick(self) -> None:
        """Nobody knows when somebody will speak."""
        return

    @property
    def busy(self) -> bool:
        """To predict takes no time of the world."""
        return False

    @property
    def score(self) -> float:
        """The share of all turns that were predicted in time."""
        return len(self._state.in_time) / len(self._dialogue.turns)

    def view(self) -> DialogueView:
        """The conversation as it was when something happened last."""
        state = self._state
        return DialogueView(
            at=state.at,
            turn=state.happened,
            turns=state.turns,
            speaking=state.speaking,
            predicted=bool(state.turns) and state.turns[-1].number in state.in_time,
            over=state.over,
        )


def _turn_data(turn: Turn) -> dict[str, Any]:
    return {
        "turn": turn.number,
        "speaker": turn.speaker,
        "text": turn.text,
        "observed": plain(turn.observed),
    }


def _waiting(count: int) -> tuple[_Step, ...]:
    first = _Step("turn", 0, START)
    return (first, *(_Step("turn", index) for index in range(1, count)), _Step("over", count))


def _timed(table: Timetable) -> tuple[_Step, ...]:
    steps: list[_Step] = []
    for index, turn in enumerate(table.turns):
        if turn.begins < turn.arrives:
            steps.append(_Step("begins", index, turn.begins))
        steps.append(_Step("turn", index, turn.arrives))
    return (*steps, _Step("over", len(table.turns), table.end))
