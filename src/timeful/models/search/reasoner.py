"""The search reasoner: a model that thinks by searching, and says all that it thinks.

It stands in for a language model where none is at hand. It reads the state from the prompt's
view and what a planner said from the prompt's guidance, which is what the messages show, and
knows nothing else. What it says is what its search does, and its words are its tokens: a
deeper search takes longer for no other reason than that there is more to say.
"""

from collections.abc import Callable, Generator, Sequence
from itertools import islice
from typing import Protocol

from timeful.core.source import Channel, Chunk, End
from timeful.errors import ModelError
from timeful.models.model import Guidance, Prompt
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.search.engine import Node, Search
from timeful.models.search.guidance import Lead, leads, plans_in, trial
from timeful.models.search.plans import SOLVED, read_plan, say_plan
from timeful.models.search.problem import Option, Problem
from timeful.models.search.settings import DEEP, SHALLOW, Setting
from timeful.seeding import child

Thinking = Generator[Chunk, None, None]

JITTER = 1e-3
"""The most that chance may add to a score: it decides between equals only."""

DEPTHS = (1, 2, 3)
"""How far ahead, in decisions, a program may look that is thought of."""

REHEARSAL = 6
"""For how many turns a program is rehearsed."""


class Searchable(Protocol):
    """A view that can be searched."""

    def problem(self) -> Problem:
        """What a search needs to know, from what is shown alone."""
        ...


class SearchModel:
    """A model whose thoughts are searches.

    Args:
        setting: How deep it thinks, and how much it says.
        pace: What its tokens cost in time; None if only a wall clock can tell.
    """

    live = False

    def __init__(self, setting: Setting, *, pace: Pace | None = TOKEN_TIME) -> None:
        self.setting = setting
        self.pace = pace

    @classmethod
    def deep(cls) -> "SearchModel":
        """One that thinks long and far: a planner."""
        return cls(DEEP)

    @classmethod
    def shallow(cls) -> "SearchModel":
        """One that looks a few turns ahead and answers soon: a reactor."""
        return cls(SHALLOW)

    @property
    def name(self) -> str:
        """The name of its setting."""
        return self.setting.name

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> "SearchSource":
        """Start thinking; nothing is worked out before it is pulled.

        Raises:
            ModelError: If the prompt shows nothing that can be searched.
        """
        view = prompt.view
        if prompt.label != "force" and not hasattr(view, "problem"):
            raise ModelError(
                f"the search reasoner needs a view of a game, got {type(view).__name__}; "
                "ask a language model instead"
            )
        return SearchSource(_thinking(self.setting, prompt, seed), max_tokens)


class SearchSource:
    """A thought that is worked out as it is pulled."""

    def __init__(self, thinking: Thinking, max_tokens: int | None) -> None:
        self._thinking = thinking
        self._left = max_tokens

    def pull(self) -> Chunk | End:
        """Think up the next line."""
        chunk = next(self._thinking, None)
        if chunk is None:
            return End()
        if self._left is None:
            return chunk
        if self._left <= 0:
            self.close()
            return End("length")
        if chunk.tokens > self._left:
            chunk = _chunk(" ".join(chunk.text.split()[: self._left]), chunk.channel)
        self._left -= chunk.tokens
        return chunk

    def when_ready(self, notify: Callable[[], None]) -> None:
        """Notify at once: it never waits."""
        notify()

    def close(self) -> None:
        """Stop thinking."""
        self._thinking.close()


def _chunk(text: str, channel: Channel = "reasoning") -> Chunk:
    """A piece of a thought; its tokens are its words."""
    return Chunk(text, len(text.split()), channel)


def _thinking(setting: Setting, prompt: Prompt, seed: int) -> Thinking:
    if prompt.label == "force":
        yield _forced(prompt)
        return
    view: Searchable = prompt.view  # type: ignore[assignment]
    thought = _Thought(setting, view.problem(), seed)
    match prompt.label:
        case "plan":
            yield from thought.plan()
        case "code":
            yield from thought.code()
        case _:
            yield from thought.react(prompt.guidance)


def _forced(prompt: Prompt) -> Chunk:
    """Finish an answer that has been begun: with the first step of the last plan that was said."""
    text = prompt.messages[-1].content if prompt.messages else ""
    plan = read_plan(text)
    return _chunk(f"{plan.letters[0]}}}" if plan else "?}", "answer")


class _Thought:
    """One search, and the words for it."""

    def __init__(self, setting: Setting, problem: Problem, seed: int) -> None:
        self._setting = setting
        self._problem = problem
        self._rng = child(seed, "search")
        self._said: list[tuple[str, str]] = []
        self._jitter: list[float] = (self._rng.random(64) * JITTER).tolist()
        self._search = Search(
            problem,
            depth=setting.depth,
            horizon=setting.horizon or problem.span,
            beam=setting.beam,
            jitter=self._jitter,
        )

    # --- planning ----------------------------------------------------------------------------

    def plan(self) -> Thinking:
        """Think to the end and answer with the whole plan."""
        problem = self._problem
        yield _chunk(
            f"It is turn {problem.turn} and I am at {problem.where}. I look up to {problem.span} "
            "turns ahead, turn by turn, and keep the best places of each turn.\n"
        )
        yield from self._explore()
        letters = [letter for letter, _ in self._said] or [self._any_letter()]
        turns = "\n".join(
            f"Turn {turn}: {letter}" for turn, letter in enumerate(letters, problem.turn)
        )
        yield _chunk(f"{self._conclusion()}\\boxed{{{turns}}}\n", "answer")

    def _conclusion(self) -> str:
        if not self._said:
            return "I have found no way that ends well. "
        return self._plan_line()

    # --- reacting ----------------------------------------------------------------------------

    def react(self, guidance: Sequence[Guidance]) -> Thinking:
        """Follow what was planned if it holds, else look a few turns ahead; answer one action."""
        problem = self._problem
        yield _chunk(
            f"It is turn {problem.turn} and I am at {problem.where}. "
            "I have to decide on one action now.\n"
        )
        letter = yield from self._follow(guidance)
        if letter is None:
            yield from self._explore()
            letter = self._said[0][0] if self._said else self._any_letter()
        yield _chunk(f"So my action at turn {problem.turn} is \\boxed{{{letter}}}\n", "answer")

    def _follow(self, guidance: Sequence[Guidance]) -> Generator[Chunk, None, str | None]:
        for plan in plans_in(guidance, now=self._problem.turn):
            yield _chunk(
                f"The planner, who saw turn {plan.turn}, has a plan that reaches to turn "
                f"{plan.end}. I read it and look where it stands now.\n"
            )
            if plan.labels[self._problem.turn - plan.turn] != self._problem.where:
                yield _chunk("I am not where it wants me to be. Can I join it?\n")
                yield from self._explore()
            for lead in leads(plan, self._problem, self._search):
                holds = yield from self._check(lead)
                if holds:
                    return lead.letters[0]
        return None

    def _check(self, lead: Lead) -> Generator[Chunk, None, bool]:
        yield _chunk(f"Since {lead.how}, I check its next steps one by one.\n")
        holds = True
        for outcome, holds in trial(self._problem, lead.letters[: self._setting.check]):
            yield _chunk(f"{outcome} {'That is fine.' if holds else 'That fails.'}\n")
        verdict = "They all hold, so I follow it." if holds else "It does not hold any more."
        yield _chunk(verdict + "\n")
        return holds

    # --- programming -------------------------------------------------------------------------

    def code(self) -> Thinking:
        """Rehearse programs that look less or more far ahead; answer with the best of them."""
        yield _chunk(
            "I want a program that plays by looking ahead. How far should it look? I rehearse "
            f"some in my mind from turn {self._problem.turn} on.\n"
        )
        worth = {}
        for depth in DEPTHS:
            worth[depth] = yield from self._rehearse(depth)
        depth = max(DEPTHS, key=lambda depth: (round(worth[depth], 2), depth))
        program = self._problem.program(depth)
        yield _chunk(
            f"The program looks {depth} decisions ahead in every turn and takes the first step of "
            f"what it finds best.\n\n```python\n{program}```\n",
            "answer",
        )

    def _rehearse(self, depth: int) -> Generator[Chunk, None, float]:
        """Play on in imagination as such a program would; say what it looks at."""
        problem, worth = self._problem, 0.0
        state = problem.start
        yield _chunk(f"Suppose that it looks {depth} decisions ahead.\n")
        for ahead in range(min(REHEARSAL, problem.span)):
            search = Search(
                problem,
                depth=depth,
                horizon=problem.span,
                beam=self._setting.beam,
                jitter=self._jitter,
                start=(state, problem.turn + ahead),
            )
            for layer in search.layers():
                for node, options in layer:
                    yield _chunk(self._tell(node, options))
            steps = search.best.steps()
            option = problem.step(state, steps[0][0]) if steps else None
            if option is None or option.state is None:
                yield _chunk(f"Then it would be lost at turn {problem.turn + ahead}.\n")
                return worth - 1.0
            state, worth = option.state, option.value
            yield _chunk(f"It would take {option.letters} and {option.aim}, worth {worth:.2f}.\n")
            if option.solved:
                return worth + REHEARSAL - ahead
        return worth

    # --- searching ---------------------------------------------------------------------------

    def _explore(self) -> Thinking:
        """Search within the bounds of the setting, and say the best plan whenever it changes."""
        setting, search = self._setting, self._search
        for layer in search.layers():
            for node, options in islice(layer, setting.nodes - search.expanded):
                yield _chunk(self._tell(node, options))
            steps = search.best.steps()
            if steps and steps != self._said:
                self._said = steps
                yield _chunk(self._plan_line())
            if search.expanded >= setting.nodes:
                return

    def _plan_line(self) -> str:
        solved = self._search.solution is not None
        worth = SOLVED if solved else f"worth {self._search.best.score:.1f}"
        return say_plan(self._problem.turn, self._problem.where, self._said, worth=worth)

    def _tell(self, node: Node, options: Sequence[Option]) -> str:
        by, where = "", self._problem.where
        if node.option is not None:
            by, where = f"by {' '.join(node.letters())} ", node.option.labels[-1]
        outcome = self._problem.tell(node.state, options)
        return f"Turn {node.turn}: {by}I am at {where}, worth {node.score:.2f}. {outcome}\n"

    def _any_letter(self) -> str:
        letters = self._problem.actions
        return letters[int(self._rng.integers(len(letters)))]
