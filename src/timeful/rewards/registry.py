"""The registry of rewards: their names, parameters and requirements.

| reward | of | parameters | judge | progress |
| --- | --- | --- | --- | --- |
| `correctness` | a task | | | |
| `ep_aware` | a task | | | |
| `timely` | a task | r_f, lambda, weight_reasoning, weight_fiction, weight_coding | | |
| `rac_score`, `max_rac_score` | a turn | | | |
| `ruler` | either | | yes | |
| `weighted_rac_score`, `weighted_max_rac_score` | a turn | w1, w2 | | |
| `adaptive_metric_score` | a turn | w1, w2, w3, w4 | | yes |
| `hybrid_ruler_weighted_rac_score`, `..._max_rac_score` | a turn | lambda | yes | |
| `schedule_ruler_weighted_rac_score`, `..._max_rac_score` | a turn | lambda_max | yes | yes |

Any other name is a custom reward, `FILE.py:FUNCTION`: see `timeful.rewards.custom`.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from statistics import fmean
from typing import Any, Literal

from timeful.errors import RecordError, SettingsError, check_known
from timeful.records.events import Entry, EpisodeEnded, EpisodeFailed
from timeful.registry import load, names
from timeful.rewards import budget, proactor
from timeful.rewards.custom import CustomReward, check_function, is_custom, load_custom
from timeful.rewards.outcome import Outcome, read_outcome
from timeful.rewards.proactor import LOST, TurnValues
from timeful.rewards.turns import read_turns

Parameters = Mapping[str, float]
Ruler = Mapping[int, float]
"""A judge's scores by turn, each in [0, 1]; `WHOLE` is the key of a whole episode."""

WHOLE = 0

HYBRID_LAMBDA = 0.5
"""The best of Table 9 (0.3, 0.5, 0.75) by PRI; the paper has no default **(chosen)**."""

LAMBDA_MAX = 0.3
"""Equation 11 and Figure 21."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _TurnInputs:
    """The inputs of a turn's reward in addition to its parameters."""

    values: TurnValues
    progress: float = 0.0
    ruler: float = 0.0


TaskRule = Callable[[Outcome, Parameters], float]
TurnRule = Callable[[_TurnInputs, Parameters], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSpec:
    """A row of the table: `of_task`, `of_turn` or `custom` computes the reward.

    Attributes:
        is_judged: Whether it is a judge's score alone, of any episode.
        needs_answer: Whether the task must have right and wrong answers.
        parameters: The parameters with their defaults, each from 0 to 1.
        needs_judge: Whether it needs a judge's scores.
        needs_progress: Whether it depends on the progress of training.
    """

    of_task: TaskRule | None = None
    of_turn: TurnRule | None = None
    custom: CustomReward | None = None
    is_judged: bool = False
    needs_answer: bool = False
    parameters: Parameters = field(default_factory=dict)
    needs_judge: bool = False
    needs_progress: bool = False

    @property
    def of(self) -> Literal["task", "turn", "either"]:
        """The unit that it rewards."""
        if self.is_judged or self.custom:
            return "either"
        return "task" if self.of_task else "turn"


def _timely(outcome: Outcome, p: Parameters) -> float:
    weights = {kind: p[f"weight_{kind}"] for kind in budget.WEIGHTS}
    return budget.timely(outcome, r_f=p["r_f"], lam=p["lambda"], weights=weights)


def _rac(inputs: _TurnInputs) -> float:
    return inputs.values.rac


def _max_rac(inputs: _TurnInputs) -> float:
    return inputs.values.max_rac


def _plain(metric: Callable[[_TurnInputs], float]) -> RewardSpec:
    return RewardSpec(of_turn=lambda inputs, p: metric(inputs))


def _weighted(metric: Callable[[_TurnInputs], float]) -> RewardSpec:
    return RewardSpec(
        of_turn=lambda inputs, p: proactor.weighted(
            metric(inputs), inputs.values, w1=p["w1"], w2=p["w2"]
        ),
        parameters={"w1": 0.05, "w2": 0.01},
    )


def _hybrid(metric: Callable[[_TurnInputs], float]) -> RewardSpec:
    return RewardSpec(
        of_turn=lambda inputs, p: proactor.hybrid(metric(inputs), inputs.ruler, p["lambda"]),
        parameters={"lambda": HYBRID_LAMBDA},
        needs_judge=True,
    )


def _scheduled(metric: Callable[[_TurnInputs], float]) -> RewardSpec:
    return RewardSpec(
        of_turn=lambda inputs, p: proactor.hybrid(
            metric(inputs), inputs.ruler, proactor.scheduled(inputs.progress, p["lambda_max"])
        ),
        parameters={"lambda_max": LAMBDA_MAX},
        needs_judge=True,
        needs_progress=True,
    )


REWARDS: dict[str, RewardSpec] = {
    "correctness": RewardSpec(
        of_task=lambda outcome, p: budget.correctness(outcome), needs_answer=True
    ),
    "ep_aware": RewardSpec(of_task=lambda outcome, p: budget.ep_aware(outcome), needs_answer=True),
    "timely": RewardSpec(
        of_task=_timely,
        parameters={
            "r_f": budget.R_F,
            "lambda": budget.LAMBDA,
            **{f"weight_{kind}": weight for kind, weight in budget.WEIGHTS.items()},
        },
    ),
    "rac_score": _plain(_rac),
    "max_rac_score": _plain(_max_rac),
    "ruler": RewardSpec(of_turn=lambda inputs, p: inputs.ruler, is_judged=True, needs_judge=True),
    "weighted_rac_score": _weighted(_rac),
    "weighted_max_rac_score": _weighted(_max_rac),
    "adaptive_metric_score": RewardSpec(
        of_turn=lambda inputs, p: proactor.adaptive_metric(inputs.values, inputs.progress, **p),
        parameters={"w1": 0.8, "w2": 0.6, "w3": 0.3, "w4": 0.6},
        needs_progress=True,
    ),
    "hybrid_ruler_weighted_rac_score": _hybrid(_rac),
    "hybrid_ruler_weighted_max_rac_score": _hybrid(_max_rac),
    "schedule_ruler_weighted_rac_score": _scheduled(_rac),
    "schedule_ruler_weighted_max_rac_score": _scheduled(_max_rac),
}


def find_spec(name: str) -> RewardSpec:
    """Find the row of a reward; the file of a custom reward is run.

    Raises:
        SettingsError: If the reward is unknown.
    """
    if name in REWARDS:
        return REWARDS[name]
    if not is_custom(name):
        check_known("reward", name, names("reward"))
    custom = load_custom(name) if is_custom(name) else check_function(name, load("reward", name))
    defaults: Any = custom.defaults
    return RewardSpec(custom=custom, parameters=defaults, needs_progress=custom.needs_progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """A reward of a configuration.

    Args:
        name: One of `REWARDS`, or FILE.py:FUNCTION.
        parameters: Parameters that differ from their defaults.

    Raises:
        SettingsError: If the reward or a parameter is unknown, or a parameter is out of range.
    """

    name: str
    parameters: Parameters = field(default_factory=dict, hash=False)
    spec: RewardSpec = field(init=False, repr=False, compare=False)
    """The row of the table."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spec", find_spec(self.name))
        if self.spec.custom is not None:
            self.spec.custom.check(self.parameters)
            return
        for name, value in self.parameters.items():
            if not self.spec.parameters:
                raise SettingsError(f"the reward {self.name} has no parameters, got {name!r}")
            check_known(f"parameter of {self.name}", name, self.spec.parameters)
            _check_share(f"{self.name}: {name}", value)
        weights = self.all_parameters
        if "w3" in weights and weights["w2"] + weights["w3"] > 1:
            raise SettingsError(
                f"{self.name}: w2 + w3 must be at most 1, since 1 - w2 - w3 is the weight of FTR; "
                f"got {weights['w2']:g} + {weights['w3']:g}"
            )

    @property
    def all_parameters(self) -> Parameters:
        """All parameters, defaults included."""
        return {**self.spec.parameters, **self.parameters}


def reward_of(
    events: Iterable[Entry],
    reward: Reward,
    *,
    progress: float | None = None,
    ruler: Ruler | None = None,
    turn: int | None = None,
) -> float | None:
    """Compute the reward of an episode from its record.

    Args:
        events: The record.
        reward: The reward.
        progress: The progress of training, u/U, in [0, 1]; for rewards that need it.
        ruler: A judge's scores; for rewards that need them.
        turn: The rewarded turn of a conversation; None is the turn of a one-turn rollout, else the
            mean over all turns (equation 25).

    Returns:
        The reward; None if the episode failed or the judge has no score.

    Raises:
        SettingsError: If an input of the reward is missing or out of range.
        RecordError: If the record is incomplete or the reward does not apply to it.
        RewardError: If a custom reward fails or returns no number.
    """
    _check_inputs(reward, progress, ruler, turn)
    spec, scores = reward.spec, ruler or {}
    if spec.custom is not None:
        events = tuple(events)
        has_ended = _has_ended(events)
        return spec.custom.of(events, reward.parameters, progress) if has_ended else None
    if spec.of_task is not None:
        outcome = read_outcome(events)
        return None if outcome is None else spec.of_task(outcome, reward.all_parameters)
    if spec.is_judged and not scores.keys() - {WHOLE}:
        return scores.get(WHOLE) if _has_ended(events) else None
    values = read_turns(events, turn=turn, needs_references=not spec.is_judged)
    if values is None:
        return None
    numbers = list(values)
    if spec.needs_judge:  # a turn of a dropped group has no score
        numbers = [number for number in numbers if number in scores]
    rewards = [
        _of_turn(reward, values[number], progress or 0.0, scores.get(number, 0.0))
        for number in numbers
    ]
    return fmean(rewards) if rewards else None


def _of_turn(reward: Reward, values: TurnValues, progress: float, ruler: float) -> float:
    """The reward of one turn; a lost turn gets no score of a judge."""
    rule = reward.spec.of_turn
    assert rule is not None
    inputs = _TurnInputs(values=values, progress=progress, ruler=0.0 if values is LOST else ruler)
    return rule(inputs, reward.all_parameters)


def _has_ended(events: Iterable[Entry]) -> bool:
    ends = [event for event in events if isinstance(event, EpisodeEnded | EpisodeFailed)]
    if not ends:
        raise RecordError("the record is incomplete: it lacks its last event")
    return not isinstance(ends[-1], EpisodeFailed)


def _check_inputs(
    reward: Reward, progress: float | None, ruler: Ruler | None, turn: int | None
) -> None:
    spec = reward.spec
    if (spec.of == "task" or spec.custom) and turn is not None:
        raise SettingsError(f"{reward.name} rewards a whole task, which has no turn {turn}")
    if spec.needs_progress:
        if progress is None:
            raise SettingsError(f"{reward.name} needs the progress of training, from 0 to 1")
        _check_share("progress", progress)
    if spec.needs_judge:
        if ruler is None:
            raise SettingsError(f"{reward.name} needs a judge's scores, see timeful.judges.ruler")
        if WHOLE in ruler and not spec.is_judged:
            raise SettingsError(f"{reward.name} needs a judge's scores of turns, from 1")
        for number, score in ruler.items():
            _check_share(f"the judge's score of turn {number}", score)


def _check_share(name: str, value: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise SettingsError(f"{name} must be a number from 0 to 1, got {value!r}")
    if not 0 <= value <= 1:
        raise SettingsError(f"{name} must be from 0 to 1, got {value:g}")
