"""Following what somebody else has planned: from their words alone, if it still holds.

The planner saw an earlier turn, and may not have finished. A plan is taken up where it fits the
present: at the step of this turn if the place is the one that was planned; else a way is looked
for that joins the plan within a few turns; else the step that begins at this place is taken,
since the actor may have been held up. Its next steps are then tried out in imagination.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from timeful.models.model import Guidance
from timeful.models.search.engine import Node, Search
from timeful.models.search.plans import Plan, read_plan
from timeful.models.search.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Actions to take from now on, as far as a plan goes, and how they follow from it."""

    letters: tuple[str, ...]
    how: str


def plans_in(guidance: Sequence[Guidance], *, now: int) -> list[Plan]:
    """The plans that still have steps to go: those that look furthest ahead first."""
    plans = [plan for words in reversed(guidance) if (plan := read_plan(words.text)) is not None]
    # The sort is stable: of plans that look equally far, the latest stays first.
    return sorted(
        (plan for plan in plans if plan.turn <= now < plan.end),
        key=lambda plan: (not plan.solved, -plan.end),
    )


def leads(plan: Plan, problem: Problem, search: Search) -> Iterator[Lead]:
    """The ways to take a plan up, the most faithful first.

    Args:
        plan: What was planned.
        problem: The game from now on.
        search: A search from now on, as far as it has come.
    """
    at = problem.turn - plan.turn
    if 0 <= at < len(plan.letters) and plan.labels[at] == problem.where:
        yield Lead(letters=plan.letters[at:], how="I am where it wants me to be")
        return
    joint = _joint(plan, search, now=problem.turn)
    if joint is not None:
        letters = [letter for letter, _ in joint.steps()]
        letters += plan.letters[joint.turn - plan.turn :]
        yield Lead(letters=tuple(letters), how=f"I can join it at turn {joint.turn}")
    for index in _nearest_first(plan, at):
        if plan.labels[index] == problem.where:
            yield Lead(letters=plan.letters[index:], how=f"I am at its step {index + 1}")
            return


def _joint(plan: Plan, search: Search, *, now: int) -> Node | None:
    """The first state that was found on the plan at its own turn."""
    for turn in range(max(now, plan.turn) + 1, plan.end + 1):
        node = search.reaching(turn, plan.labels[turn - plan.turn])
        if node is not None:
            return node
    return None


def _nearest_first(plan: Plan, at: int) -> Iterable[int]:
    return sorted(range(len(plan.letters)), key=lambda index: abs(index - at))


def trial(problem: Problem, letters: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Try actions out in imagination: what is to be said of each, and whether it holds."""
    state = problem.start
    for letter in letters:
        option = problem.step(state, letter)
        yield problem.tell(state, (option,)), option.state is not None
        state = option.state
        if state is None:
            return
