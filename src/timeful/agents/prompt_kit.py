"""A prompt kit: the prompts for one game, and the parsers of their answers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from timeful.agents import action_parser
from timeful.agents.action_parser import Parsed
from timeful.agents.prompts import freeway, kitchen, overcooked, snake
from timeful.environments.game import View
from timeful.errors import check_known
from timeful.models.model import Guidance, Message, Prompt

FORCED_START = "That is all the time there is. The final answer is \\boxed{"
"""What a cut answer is continued with (budget forcing; spec section 6, in our own words)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptKit:
    """The prompts of a game, and what its answers may say.

    Attributes:
        actions: The letters of the game's actions.
        names: Words that stand for letters, such as UP for U.
        plans_go_stale: Whether the actions of a plan belong to turns, so that those whose turn
            passed while the planner was thinking are dropped (Freeway, Snake), or to the
            situation, so that a late plan starts from its first action (Overcooked).
    """

    actions: Sequence[str]
    names: Mapping[str, str]
    plans_go_stale: bool
    plan_text: Callable[[View], str]
    react_text: Callable[[View, Sequence[Guidance]], str]
    code_text: Callable[[View], str]
    rules_text: Callable[[View], str] | None = None

    def rules(self, view: View) -> str:
        """The rules of the game; empty where the kit has none."""
        return "" if self.rules_text is None else self.rules_text(view)

    def react(self, view: View, guidance: Sequence[Guidance] = ()) -> Prompt:
        """Ask for one action, with what a planner has said so far, if anything."""
        quoted = tuple(guidance)
        return Prompt(
            label="react",
            render=lambda: self.react_text(view, quoted),
            view=view,
            guidance=quoted,
        )

    def plan(self, view: View) -> Prompt:
        """Ask for a sequence of actions."""
        return Prompt(label="plan", render=lambda: self.plan_text(view), view=view)

    def code(self, view: View) -> Prompt:
        """Ask for a program that plays."""
        return Prompt(label="code", render=lambda: self.code_text(view), view=view)

    def force(self, prompt: Prompt, text: str) -> Prompt:
        """Ask for the rest of an answer that was cut before it named an action."""

        def render() -> Sequence[Message]:
            return (*prompt.messages, Message("assistant", f"{text}\n\n{FORCED_START}"))

        return Prompt(label="force", render=render, view=prompt.view, guidance=prompt.guidance)

    def read_action(self, text: str) -> Parsed:
        """Read one action out of an answer."""
        return action_parser.parse_action(text, self.actions, self.names)

    def read_forced(self, text: str) -> Parsed:
        """Read one action out of the end of a forced answer."""
        return self.read_action("\\boxed{" + text.split("}", maxsplit=1)[0] + "}")

    def read_plan(self, text: str) -> Parsed:
        """Read a sequence of actions out of an answer."""
        return action_parser.parse_plan(text, self.actions, self.names)


_KITS = {
    "freeway": PromptKit(
        actions=("U", "D", "S"),
        names=freeway.NAMES,
        plans_go_stale=True,
        plan_text=freeway.plan,
        react_text=freeway.react,
        code_text=freeway.code,
        rules_text=freeway.rules,
    ),
    "snake": PromptKit(
        actions=("L", "R", "U", "D"),
        names=snake.NAMES,
        plans_go_stale=True,
        plan_text=snake.plan,
        react_text=snake.react,
        code_text=snake.code,
        rules_text=snake.rules,
    ),
    "overcooked": PromptKit(
        actions=("U", "D", "L", "R", "I", "S"),
        names=overcooked.NAMES,
        plans_go_stale=False,
        plan_text=overcooked.plan,
        react_text=overcooked.react,
        code_text=overcooked.code,
        rules_text=overcooked.rules,
    ),
    # The kitchen with tutoring, where problems are written by the world (`writes_itself`).
    "kitchen": PromptKit(
        actions=tuple(kitchen.NAMES.values()),
        names=kitchen.NAMES,
        plans_go_stale=False,
        plan_text=kitchen.plan,
        react_text=kitchen.react,
        code_text=kitchen.code,
    ),
}


def prompt_kit(game: str) -> PromptKit:
    """The prompt kit of a game.

    Raises:
        SettingsError: If there is none.
    """
    check_known("game", game, _KITS)
    return _KITS[game]
