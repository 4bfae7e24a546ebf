"""Prompts of the kitchen controller, and the parser of its answers.

Sections and order follow the Engagement Process, appendix E, "Shared controller prompt template":
role, clock, XML protocol, tutoring segments, visible state, utility, continuity, and the rule of
the interface, which the experiment words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from timeful.agents.action_parser import Outcome
from timeful.agents.prompts.sections import (
    code_answer,
    guidance_section,
    join_sections,
    state_as_json,
)
from timeful.agents.xml_actions import Forms, parse_tag
from timeful.core.units import Instant
from timeful.environments.game import View
from timeful.environments.kitchen.actions import Action, make_action
from timeful.environments.kitchen.settings import KitchenSettings, Utility, in_ticks
from timeful.environments.kitchen.view import DishView, KitchenView
from timeful.errors import IllegalActionError
from timeful.models.model import Guidance, Message, Prompt

_USUAL = KitchenSettings()

_MOST_TOKENS = 8_192
"""The most tokens of an answer, reasoning included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """The situation of a decision.

    Attributes:
        view: The view of the kitchen.
        now: The present.
        history: The recent events, a line each.
        refused: The reason of the last refusal; empty if the last answer was carried out.
        calls: The remaining calls with this one; None without a limit.
        ends: The end of the time budget; None without a limit.
    """

    view: KitchenView
    now: Instant
    history: tuple[str, ...] = ()
    refused: str = ""
    calls: int | None = None
    ends: Instant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The constants of all calls: the rule of the interface and the settings of the kitchen."""

    rule: str = ""
    world: KitchenSettings = field(default=_USUAL)


def control(situation: Situation, briefing: Briefing) -> Prompt:
    """Ask a controller for its next action."""

    def render() -> tuple[Message, ...]:
        return (
            Message("system", rules(briefing)),
            Message("user", state(situation)),
        )

    return Prompt(label="control", render=render, view=situation, most_tokens=_MOST_TOKENS)


FORMS: Forms = {
    "prepare": {"dish": True},
    "stage": {"dish": True},
    "finish": {"dish": True},
    "tutor": {"problem": True, "tokens": False},
    "wait": {"ticks": False},
    "check": {},
    "end": {},
}
"""The elements that an answer may contain."""


def read_choice(answer: str) -> Action:
    """Read the one action that an answer names.

    Raises:
        IllegalActionError: If it names none, several, or one that is malformed.
    """
    tag = parse_tag(answer, FORMS)
    if tag.outcome is not Outcome.OK:
        raise IllegalActionError(f"{tag.outcome}: {tag.detail}")
    return make_action(tag.name, tag.values)


def rules(briefing: Briefing) -> str:
    """The system message of an episode."""
    return join_sections(
        _ROLE,
        _CLOCK,
        _LIMITS,
        _PROTOCOL,
        _SEGMENTS,
        _guidance(briefing.world.utility),
        _CONTINUITY,
        f"## How you learn of signals\n\n{briefing.rule}" if briefing.rule else "",
    )


_ROLE = """\
## Who you are

You run a small kitchen and tutor at the same time. There is one timeline and one pair of hands:
while you cook you do not tutor, and while you tutor the dishes on the stove go on by themselves."""

_CLOCK = """\
## The clock

Time is counted in ticks. Each token of tutoring takes one tick. Each token that you yourself
generate to decide takes one tick as well, so decide briefly. Dishes never wait for you."""

_LIMITS = """\
The episode ends when its ticks or your calls are used up; each question says how many are left."""

_PROTOCOL = """\
## Actions

Answer with exactly one of these elements, and no other element:

- `<prepare dish="D1"/>` prepares a raw dish; it takes the dish's prep time.
- `<stage dish="D1"/>` puts a prepared dish on a free slot of the stove. It signals some time later.
- `<finish dish="D1"/>` finishes a dish that has signalled and frees its slot; it takes the dish's
  finish time. Until then the dish keeps its slot, even if it is spoiled.
- `<tutor problem="Q1"/>` or `<tutor problem="Q1" tokens="50"/>` goes on with a problem.
- `<wait/>` or `<wait ticks="50"/>` does nothing until something happens, or for so many ticks.
- `<check/>` looks at the kitchen, for a small fee.
- `<end/>` ends the episode; what is not done by then counts for nothing.

An answer that breaks these rules does nothing, costs its tokens and at least one tick, and you are
asked again."""

_SEGMENTS = """\
## Tutoring

Without `tokens`, tutoring goes on to the end of the problem, unless control comes back to you
earlier. With `tokens`, it goes on for so many tokens at most. A problem that was left can be gone
on with later, from where it stopped."""

_CONTINUITY = """\
## Continuity

A problem that was interrupted is continued: its unfinished thought goes on. It is not begun
again."""


def _guidance(utility: Utility) -> str:
    return f"""\
## What counts

- {utility.dish:g} for each critical dish whose finishing ends within its window, and 0 after it.
- {utility.dish:g} for each soft dish whose finishing ends before it no longer keeps warm; any
  instant from its signal to then is as good, so there is no hurry.
- {utility.problem:g} for each problem that is complete.
- minus {utility.tick:g} for each tick until the end, minus {utility.switch:g} for each change
  between kitchen and tutoring, minus {utility.check:g} for each check.

When dishes compete, critical ones come first, the earliest window end before the others. When all
is done, end the episode."""


def state(situation: Situation) -> str:
    """The user message: the state of the kitchen."""
    view = situation.view
    kitchen = [_dish_line(dish, situation.now) for dish in view.dishes]
    problems = [
        f"- {problem.name}, {problem.title}: "
        + ("complete" if problem.is_complete else f"{problem.written} of {problem.length} tokens")
        for problem in view.problems
    ]
    return join_sections(
        f"## Tick {in_ticks(situation.now):g}\n\n{_limits(situation)}"
        f"You are in {view.mode} mode; {view.free_slots} of {view.stoves} stove slots are free.",
        "\n".join(["Dishes:", *kitchen]),
        "\n".join(["Tutoring problems:", *(problems or ["- none"])]),
        _optional("What happened of late:", [f"- {line}" for line in situation.history]),
        _optional(
            "Your last answer was not carried out:",
            [f"- {situation.refused}"] if situation.refused else [],
        ),
        "What do you do next? Answer with one element.",
    )


def _limits(situation: Situation) -> str:
    """The line with the remaining time and calls; empty without limits."""
    limits = []
    if situation.ends is not None:
        limits.append(f"{in_ticks(situation.ends - situation.now):g} ticks")
    if situation.calls is not None:
        limits.append(f"{situation.calls} {'call' if situation.calls == 1 else 'calls'}")
    return (
        f"Left: {', '.join(limits)}{' (this one included)' * bool(limits[1:])}.\n" if limits else ""
    )


def _optional(head: str, lines: list[str]) -> str:
    return "\n".join([head, *lines]) if lines else ""


def _dish_line(dish: DishView, now: Instant) -> str:
    kind = "critical" if dish.is_critical else "soft"
    words = [
        f"- {dish.name}, {kind}, {dish.stage}: prep {in_ticks(dish.prep):g} ticks",
        f"finish {in_ticks(dish.finish):g} ticks",
        f"window {in_ticks(dish.window):g} ticks after its signal",
    ]
    if not dish.is_critical:
        words.append(f"keeps warm {in_ticks(dish.slack):g} ticks longer")
    if dish.stage == "signalled" and dish.signal is not None:
        words.append(f"signalled at tick {in_ticks(dish.signal):g}, {_due(dish, now)}")
    if dish.quality is not None:
        words.append("in time" if dish.quality else "too late")
    return ", ".join(words)


def _due(dish: DishView, now: Instant) -> str:
    ticks = in_ticks(dish.deadline - now)
    end = f"counts until tick {in_ticks(dish.deadline):g}"
    return f"{end} ({ticks:g} ticks left)" if ticks >= 0 else f"{end}, which has passed"


# --- a fixed list of action words, for agents that plan and react (a prompt kit) -----------------


def _words() -> dict[str, str]:
    dishes = [f"D{number}" for number in range(1, 6)]
    problems = [f"Q{number}" for number in range(1, 4)]
    elements = {
        f"{verb.upper()}-{dish}": f'<{verb} dish="{dish}"/>'
        for verb in ("prepare", "stage", "finish")
        for dish in dishes
    }
    elements |= {f"TUTOR-{problem}": f'<tutor problem="{problem}"/>' for problem in problems}
    return elements | {"WAIT": "<wait/>", "END": "<end/>"}


NAMES = _words()
"""The action words for answers in a box, for the largest case."""

_STATE_FORM = """\
- `"at"`: the instant, in nanoseconds; a tick is a million of them
- `"free_slots"`: how many slots of the stove are free
- `"dishes"`: each with `"name"`, `"kind"`, `"stage"`, `"signal"` and `"deadline"`
- `"problems"`: each with `"name"`, `"written"` and `"complete"`"""


def plan(view: View) -> str:
    """Ask for a sequence of actions."""
    task = "Plan the next actions, in the order in which they should be taken."
    return _boxed(view, task, example="STAGE-D1\nTUTOR-Q1")


def react(view: View, guidance: Sequence[Guidance]) -> str:
    """Ask for the next action, with the advice of planners."""
    task = "Choose the action to take now. You have little time, so be brief."
    return join_sections(_boxed(view, task, example="STAGE-D1"), guidance_section(guidance))


def code(view: View) -> str:
    """Ask for a function that runs the kitchen."""
    return join_sections(
        _ROLE,
        _CLOCK,
        _guidance(_USUAL.utility),
        code_answer({"WAIT": "<wait/>", "END": "<end/>"}, form=_STATE_FORM, example="<wait/>"),
        "The other actions are written in the same way, such as "
        f"{', '.join(f'`{NAMES[name]}`' for name in _SHOWN)}.",
        state_as_json(_kitchen(view)),
    )


_SHOWN = ("PREPARE-D1", "STAGE-D1", "FINISH-D1", "TUTOR-Q1")


def _boxed(view: View, task: str, *, example: str) -> str:
    kitchen = _kitchen(view)
    answer = (
        f"## Answer\n\n{task} The actions are {', '.join(_SHOWN)} (of any dish or problem), WAIT "
        f"and END. End with a box, in this form:\n\n\\boxed{{{example}}}"
    )
    text = state(Situation(view=kitchen, now=kitchen.at)).rpartition("\n\n")[0]
    return join_sections(_ROLE, _CLOCK, _WORLD_TUTORS, _guidance(_USUAL.utility), answer, text)


_WORLD_TUTORS = """\
## Tutoring

Once a problem is set about, it is written at one token a tick until it is complete, or until you
do something in the kitchen. It can be gone on with later."""


def _kitchen(view: View) -> KitchenView:
    if not isinstance(view, KitchenView):
        raise TypeError(f"a view of the kitchen is needed, got {type(view).__name__}")
    return view
