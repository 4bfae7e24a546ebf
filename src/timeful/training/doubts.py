"""What may run, and can hardly be meant: budgets that nobody can meet, or nobody can miss."""

import json
from collections.abc import Iterator
from fractions import Fraction
from math import inf

from timeful.core.units import seconds
from timeful.tasks.budgets import Budget, read_budget
from timeful.training.config import CasesPart, Config, ModelPart, SftConfig, TurnsPart
from timeful.training.hub import file_of

_TIMED = ("ep_aware", "timely")
"""Rewards of a task that know its budget."""


def doubts(config: Config | SftConfig) -> list[str]:
    """What may run, and can hardly be meant; told before a training, and by a dry run."""
    context = context_of(config.model)
    if isinstance(config, SftConfig):
        longest = config.sft.longest
        return [_beyond("sft.longest", longest, context)] if (longest or 0) > context else []
    found = [*_of_budgets(config), *_of_patience(config)]
    most = config.rollout.max_tokens
    return found + [_beyond("rollout.max_tokens", most, context)] * (most >= context)


def _beyond(name: str, given: int | None, context: float) -> str:
    return f"{name} = {given} is beyond the model's context, {context} tokens with the prompt"


def tokens_of(part: CasesPart) -> list[tuple[Budget, int, int]]:
    """Each budget with the fewest and the most tokens that it is, as alpha has them count."""
    token = seconds(part.token_seconds)

    def held(budget: Budget, alpha: float) -> int:
        return (budget.span(None) or 0) // (token * Fraction(str(alpha)))

    given = map(read_budget, part.budgets)
    return [(one, held(one, max(part.alphas)), held(one, min(part.alphas))) for one in given]


def _of_budgets(config: Config) -> Iterator[str]:
    """Budgets that hold no token, or more than a thought may have."""
    part, most = config.cases, config.rollout.max_tokens
    if not isinstance(part, CasesPart):
        return
    held = tokens_of(part)
    if short := [str(budget) for budget, _, tokens in held if not tokens]:
        yield (
            f"a budget of {', '.join(short)} is less than a token, which takes "
            f"{part.token_seconds * min(part.alphas):g} s (cases.token_seconds): nobody can answer "
            "in time"
        )
    # In a game or an ML task many thoughts are the rule.
    is_timed = config.reward.name in _TIMED and part.family == "reasoning"
    if is_timed and most <= min(fewest for _, fewest, _ in held):
        yield (
            f"no budget binds: the most tokens of a thought, rollout.max_tokens = {most}, take "
            f"{most * part.token_seconds * max(part.alphas):g} s at cases.token_seconds = "
            f"{part.token_seconds:g}, which is within each of them, so that {config.reward.name} "
            "has no time to teach"
        )


def _of_patience(config: Config) -> Iterator[str]:
    part = config.cases
    if isinstance(part, TurnsPart) and part.token_seconds > part.patience:
        yield (
            f"a turn is open for cases.patience = {part.patience:g} s, less than a token takes "
            "(cases.token_seconds): every prediction is lost"
        )


def context_of(part: ModelPart) -> float:
    """The most tokens of a prompt and its answer; without end if nobody says."""
    path = file_of(part, "config.json")
    found = json.loads(path.read_bytes()).get("max_position_embeddings") if path else None
    return found or inf
