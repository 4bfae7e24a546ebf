"""The controller: a model cooks and tutors, one action a call, on one timeline.

A call is a thought that costs its tokens, and at least a tick if nothing came of it. Tutoring is a
thought as well, another for each problem: engaged in, interrupted by the interface's law, and gone
on with from the same token. Engagement Process, section 5.2.2 and appendix E. The agent cannot tell
which interface it is under; only its briefing says so, in words, as the paper's prompts do.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from timeful.agents.prompts.kitchen import Briefing, Situation, control, read_choice
from timeful.agents.prompts.tutor import Lesson, tutoring
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.core.units import START, Duration
from timeful.environments.environment import Observation
from timeful.environments.kitchen.actions import Action
from timeful.environments.kitchen.settings import TICK, in_ticks
from timeful.environments.kitchen.view import KitchenView, ProblemView
from timeful.errors import IllegalActionError, SettingsError, check_known
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME

Resumption = Literal["stream", "prompt"]

_MEMORY = 16
"""How many lines of what happened a controller is reminded of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerSettings:
    """How a controller works.

    Attributes:
        calls: The most calls in an episode, at least 1; then the episode is ended.
        resumption: Whether an interrupted text goes on from the same token, or is asked for
            again with a prompt that shows its end, as in the paper.
        briefing: What its prompts say throughout.

    Raises:
        SettingsError: If one of them cannot be.
    """

    calls: int = 40
    resumption: Resumption = "stream"
    briefing: Briefing = field(default_factory=Briefing)

    def __post_init__(self) -> None:
        if self.calls < 1:
            raise SettingsError(f"a controller needs at least 1 call, got {self.calls}")
        check_known("resumption", self.resumption, ("stream", "prompt"))


async def controller(
    session: Session, model: Model, *, tutor: Model, settings: ControllerSettings
) -> None:
    """Ask for an action, carry it out, and ask again.

    Args:
        session: The session, in a kitchen.
        model: Decides.
        tutor: Writes what is tutored.
        settings: How.
    """
    desk = _Desk(session, tutor, settings.resumption)
    refused = ""
    for calls in range(settings.calls, 0, -1):
        desk.look()
        start = session.now
        situation = Situation(
            view=kitchen_view(session),
            now=session.now,
            history=tuple(desk.history),
            refused=refused,
            calls=calls,
            ends=START + settings.briefing.world.budget,
        )
        answer = await session.think(model, control(situation, settings.briefing))
        if session.over:
            return
        refused = await desk.follow(answer)
        if refused and session.now == start:
            # An endpoint may answer nothing at all; at no cost it would use up its calls at once.
            await session.sleep(TICK)
        if session.over:
            return
    session.note("calls", f"all {settings.calls} calls are used up")
    await session.act(Action(verb="end"))


def kitchen_view(session: Session) -> KitchenView:
    """What can be seen, of a kitchen.

    Raises:
        SettingsError: If the session is in another world.
    """
    if not isinstance(session.view, KitchenView):
        raise SettingsError(f"a kitchen is needed, got a {type(session.view).__name__}")
    return session.view


@dataclass(slots=True)
class _Text:
    """The text of one problem: the thought that writes it, and what earlier thoughts wrote."""

    thought: Thought | None = None
    text: str = ""
    tokens: int = 0


class _Desk:
    """Carries out what a controller decides, and keeps the texts of the problems."""

    def __init__(self, session: Session, tutor: Model, resumption: Resumption) -> None:
        self._session = session
        self._tutor = tutor
        self._resumption = resumption
        self._texts: dict[str, _Text] = {}
        self.history: deque[str] = deque(maxlen=_MEMORY)

    def look(self) -> tuple[Observation, ...]:
        """Take what can be seen, and remember it."""
        observations = self._session.observe()
        for observation in observations:
            if observation.event == "timer" and self.history and self.history[-1].endswith(_WAITED):
                self.history.pop()  # of several waits on end, the last says it all
            self.history.append(_describe(observation))
        return observations

    async def follow(self, answer: str) -> str:
        """Carry out the action that an answer names.

        Returns:
            Why that could not be done; empty if it was.
        """
        session = self._session
        try:
            action = read_choice(answer)
        except IllegalActionError as error:
            session.note("answer", str(error))
            return str(error)
        if action.verb in ("tutor", "wait") and self._is_overtaken():
            session.note("overtaken", str(action))
            return f"{action} was not begun, since something happened while you decided"
        intervention = await session.act(action)
        if intervention.refusal is not None:
            return intervention.refusal
        # A signal at the very instant at which tutoring begins is no secret of its law.
        if action.verb == "tutor" and not self._is_overtaken():
            await self._write(action)
        elif action.verb == "wait":
            await self._wait()
        return ""

    def _is_overtaken(self) -> bool:
        """Whether something happened that calls for a decision."""
        return any(not observation.is_quiet for observation in self.look())

    async def _wait(self) -> None:
        while not self._session.over:
            await self._session.wait_for_tick()
            if self._is_overtaken():
                return

    async def _write(self, action: Action) -> None:
        """Tutor until control comes back, and tell the kitchen how far the text has come."""
        session, name = self._session, action.target
        text = self._texts.setdefault(name, _Text())
        if text.thought is None:
            text.thought = self._begin(name, text)
        thought = text.thought
        over = await session.run_until_event(thought, span=self._span(action.number))
        session.note(f"text {name}", f"{len(text.text) + len(thought.answer)} characters")
        tokens = text.tokens + thought.tokens
        if not over and self._resumption == "prompt":
            thought.cancel("interrupted; a new prompt goes on")
            text.text += thought.answer
            text.tokens, text.thought = tokens, None
        if not session.over:
            await session.act(Action(verb="tutored", target=name, number=tokens, is_done=over))

    def _begin(self, name: str, text: _Text) -> Thought:
        problem = _find_problem(kitchen_view(self._session), name)
        remaining = max(problem.length - text.tokens, 1)
        lesson = Lesson(
            problem=problem, transcript=text.text, left=remaining, context=tuple(self.history)
        )
        return self._session.think(self._tutor, tutoring(lesson), max_tokens=remaining)

    def _span(self, tokens: int | None) -> Duration | None:
        if tokens is None:
            return None
        return tokens * (self._tutor.pace or TOKEN_TIME).per_token


def _find_problem(view: KitchenView, name: str) -> ProblemView:
    return next(problem for problem in view.problems if problem.name == name)


_WAITED = "waited"


def _describe(observation: Observation) -> str:
    """What happened, as a controller is told."""
    data, event = observation.data, observation.event
    words = [event]
    match event:
        case "timer":
            words = [_WAITED]
        case "tutoring":
            words = ["went on with" if data["written"] else "began"]
        case "tutored":
            words.append("the whole of" if data["complete"] else f"{data['written']} tokens of")
    words += [data.get("dish") or data.get("problem") or ""]
    if "quality" in data:
        words.append("in time" if data["quality"] else "too late")
    return f"tick {in_ticks(observation.at):g}: {' '.join(word for word in words if word)}"
