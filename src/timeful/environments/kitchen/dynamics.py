"""The kitchen's laws as functions of states: what an action begins, and what comes next."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from timeful.core.units import FAR, NO_TIME, START, Duration, Instant
from timeful.environments.kitchen.actions import Action, Verb
from timeful.environments.kitchen.settings import Case, KitchenSettings, in_ticks, ticks
from timeful.environments.kitchen.state import Doing, State, Writing
from timeful.environments.kitchen.view import DishView, KitchenView, Mode, ProblemView
from timeful.errors import IllegalActionError

_MODES: dict[Verb, Mode] = {
    "prepare": "kitchen",
    "stage": "kitchen",
    "finish": "kitchen",
    "tutor": "tutor",
}
_ENDED: dict[Verb, str] = {
    "prepare": "prepared",
    "stage": "staged",
    "finish": "finished",
    "tutor": "tutoring",
    "tutored": "tutored",
    "check": "checked",
    "end": "ended",
}
"""What the end of an action is called among the events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KitchenEvent:
    """Something happens: its instant, its name, its data, and the state after it."""

    at: Instant
    name: str
    data: dict[str, Any]
    state: State
    is_quiet: bool = False


@dataclass(frozen=True, slots=True)
class Laws:
    """All that stays the same in an episode; `offsets` hold the jitter."""

    case: Case
    settings: KitchenSettings
    offsets: tuple[Duration, ...]

    def start(self) -> State:
        """The state at the beginning."""
        case = self.case
        view = KitchenView(
            at=START,
            turn=0,
            mode="kitchen",
            doing=None,
            stoves=case.stoves,
            dishes=tuple(DishView.of(dish) for dish in case.dishes),
            problems=tuple(ProblemView.of(problem) for problem in case.problems),
            switches=0,
            checks=0,
        )
        return State(view=view, rings=(None,) * len(case.dishes))

    def score(self, state: State, at: Instant) -> float:
        """The utility at an instant."""
        weights = self.settings.utility
        return (
            state.earned
            - weights.tick * in_ticks(at)
            - weights.switch * state.view.switches
            - weights.check * state.view.checks
        )

    # --- interventions -----------------------------------------------------------------------

    def begin(self, state: State, action: Action, at: Instant) -> State:
        """Set about an action.

        Raises:
            IllegalActionError: If it cannot be done now; it says why.
        """
        if state.activity is not None:
            raise IllegalActionError(f"{action} has to wait for the end of {state.activity.action}")
        self._check(state, action)
        if action.verb == "wait":
            return replace(state, timer=self._wait_until(state, action, at))
        mode = _MODES.get(action.verb, state.view.mode)
        view = replace(
            state.view,
            mode=mode,
            doing=str(action),
            switches=state.view.switches + (mode != state.view.mode),
            checks=state.view.checks + (action.verb == "check"),
        )
        activity = Doing(action=action, start=at, end=at + self._span(state, action))
        after = replace(state, view=view, activity=activity, timer=None)
        return self._stop_writing(after, at) if action.verb in _MODES else after

    def _span(self, state: State, action: Action) -> Duration:
        match action.verb:
            case "prepare":
                return state.dish(action.target).prep
            case "stage":
                return self.settings.staging
            case "finish":
                return state.dish(action.target).finish
        return NO_TIME

    def _check(self, state: State, action: Action) -> None:
        match action.verb:
            case "prepare" | "stage" | "finish":
                _check_dish(state, action)
            case "tutor" | "tutored":
                self._check_problem(state, action)
            case "wait":
                _check_wait(state, action)

    def _check_problem(self, state: State, action: Action) -> None:
        problem = state.problem(action.target)
        if problem.is_complete:
            raise IllegalActionError(f"{action}: {problem.name} is complete")
        if action.verb == "tutor" and action.number == 0:
            raise IllegalActionError(f"{action}: tutoring takes at least 1 token")
        if action.verb == "tutored":
            if self.settings.writes_itself:
                raise IllegalActionError(f"{action}: in this kitchen, problems write themselves")
            if (action.number or 0) < problem.written:
                raise IllegalActionError(f"{action}: {problem.written} tokens were written before")

    def _wait_until(self, state: State, action: Action, at: Instant) -> Instant | None:
        if action.number is not None:
            return at + ticks(action.number)
        # A dish that has signalled meanwhile ends a wait at once: it never signals again.
        return None if state.is_anything_to_come else at

    def _stop_writing(self, state: State, at: Instant) -> State:
        if state.writing is None:
            return state
        count = int((at - state.writing.since) // ticks(1))
        return replace(state.written_on(state.writing.problem, count), writing=None)

    # --- what comes next ---------------------------------------------------------------------

    def next_change(self, state: State) -> Instant | None:
        """When something happens next; None once the episode is over."""
        if state.is_over:
            return None
        soonest: int = self.settings.budget
        for at in (state.timer, *state.rings):
            soonest = soonest if at is None else min(soonest, at)
        if state.activity is not None:
            soonest = min(soonest, state.activity.end)
        if state.writing is not None:
            soonest = min(soonest, state.writing.until)
        return Instant(soonest)

    def step(self, state: State, to: Instant) -> KitchenEvent | None:
        """What happens first by an instant, if anything does.

        At one instant the end of an action comes first, then signals in the order of the dishes,
        then the rest, and the time budget last.
        """
        if state.is_over:
            return None
        first: KitchenEvent | None = None
        for event in self._coming(state, to):
            if first is None or event.at < first.at:
                first = event
        return first

    def _coming(self, state: State, to: Instant) -> Iterator[KitchenEvent]:
        activity, writing = state.activity, state.writing
        if activity is not None and activity.end <= to:
            yield self._end(state, activity)
        for index, ring in enumerate(state.rings):
            if ring is not None and ring <= to:
                yield self._signal(state, index, ring)
        if writing is not None and writing.until <= to:
            yield self._finish_writing(state, writing)
        if state.timer is not None and state.timer <= to:
            after = replace(state.after(state.timer), timer=None)
            yield KitchenEvent(at=state.timer, name="timer", data={}, state=after)
        if self.settings.budget <= to:
            budget = START + self.settings.budget
            after = replace(state.after(budget), is_over=True)
            yield KitchenEvent(at=budget, name="budget", data={}, state=after)

    def _signal(self, state: State, index: int, at: Instant) -> KitchenEvent:
        rings = list(state.rings)
        rings[index] = None
        dish = replace(state.view.dishes[index], stage="signalled", signal=at)
        after = replace(state.after(at), rings=tuple(rings), timer=None)
        data = {"dish": dish.name, "window_end": dish.window_end, "deadline": dish.deadline}
        return KitchenEvent(at=at, name="signal", data=data, state=after.with_dish(dish))

    def _finish_writing(self, state: State, writing: Writing) -> KitchenEvent:
        after = replace(state.after(writing.until), writing=None)
        count = int((writing.until - writing.since) // ticks(1))
        after = self._complete(after.written_on(writing.problem, count), writing.problem)
        data = after.progress(writing.problem)
        return KitchenEvent(at=writing.until, name="tutored", data=data, state=after)

    def _end(self, state: State, activity: Doing) -> KitchenEvent:
        action, at = activity.action, activity.end
        after = replace(state.after(at), activity=None)
        after = replace(after, view=replace(after.view, doing=None))
        data: dict[str, Any] = {}
        match action.verb:
            case "prepare":
                after = after.with_dish(replace(after.dish(action.target), stage="prepared"))
                data = {"dish": action.target}
            case "stage":
                after = self._staged(after, action, at)
                data = {"dish": action.target}
            case "finish":
                after = self._finished(after, action, activity)
                data = {"dish": action.target, "quality": after.dish(action.target).quality}
            case "tutor":
                after = self._tutoring(after, action, at)
                data = after.progress(action.target)
            case "tutored":
                after = self._record_progress(after, action)
                data = after.progress(action.target)
            case "end":
                after = replace(after, is_over=True)
        return KitchenEvent(at=at, name=_ENDED[action.verb], data=data, state=after, is_quiet=True)

    def _staged(self, state: State, action: Action, at: Instant) -> State:
        rings = tuple(
            (at + offset) if dish.name == action.target else ring
            for dish, offset, ring in zip(state.view.dishes, self.offsets, state.rings, strict=True)
        )
        return replace(state, rings=rings).with_dish(
            replace(state.dish(action.target), stage="staged")
        )

    def _finished(self, state: State, action: Action, activity: Doing) -> State:
        dish = state.dish(action.target)
        judged = activity.end if self.settings.judged == "end" else activity.start
        quality = int(judged <= dish.deadline)
        earned = state.earned + self.settings.utility.dish * quality
        done = replace(dish, stage="finished", quality=quality)
        return replace(state.with_dish(done), earned=earned)

    def _tutoring(self, state: State, action: Action, at: Instant) -> State:
        if not self.settings.writes_itself:
            return state
        count = min(state.problem(action.target).left, action.number or FAR)
        until = at + ticks(count)
        return replace(state, writing=Writing(problem=action.target, since=at, until=until))

    def _record_progress(self, state: State, action: Action) -> State:
        more = (action.number or 0) - state.problem(action.target).written
        after = state.written_on(action.target, more)
        return self._complete(after, action.target, is_done=action.is_done)

    def _complete(self, state: State, name: str, *, is_done: bool = False) -> State:
        problem = state.problem(name)
        if not (is_done or problem.written >= problem.length):
            return state
        earned = state.earned + self.settings.utility.problem
        return replace(state.with_problem(replace(problem, is_complete=True)), earned=earned)


def _check_dish(state: State, action: Action) -> None:
    dish = state.dish(action.target)
    required = {"prepare": "raw", "stage": "prepared", "finish": "signalled"}[action.verb]
    if dish.stage != required:
        raise IllegalActionError(f"{action}: {dish.name} is {dish.stage}, not {required}")
    if action.verb == "stage" and not state.view.free_slots:
        raise IllegalActionError(f"{action}: no slot of the stove is free")


def _check_wait(state: State, action: Action) -> None:
    if action.number == 0:
        raise IllegalActionError(f"{action}: a wait takes at least 1 tick")
    if action.number is None and not (state.is_anything_to_come or state.view.signalled):
        raise IllegalActionError(f"{action}: there is nothing to wait for")
