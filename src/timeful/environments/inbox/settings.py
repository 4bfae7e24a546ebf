"""The inbox in numbers: Tables 17 and 19. One unit of the paper's time is one second.

What a settings file or a command line may change are the fields of `InboxSettings` and of its
`Scoring`.
"""

from dataclasses import dataclass, fields
from math import isclose
from typing import Literal

from timeful.core.units import Duration, in_seconds, seconds
from timeful.errors import SettingsError, check_range

Urgency = Literal["high", "medium", "low"]
URGENCIES: tuple[Urgency, ...] = ("high", "medium", "low")

Numbers = tuple[float, float, float]
"""One number each for high, medium and low urgency."""

Slack = tuple[Duration, Duration]
"""The least and the greatest span from the arrival of an email to its deadline."""

_HORIZON, _LONG, _BRIEF = seconds(90), seconds(1), seconds(0.1)
_TOKEN, _TRIAGE = seconds(0.05), seconds(0.2)
_HIGH: Slack = (seconds(5), seconds(15))
_MEDIUM: Slack = (seconds(15), seconds(25))
_LOW: Slack = (seconds(25), seconds(35))

MOST_EMAILS = 1_000
"""The most emails that an episode may be expected to bring."""

_MOST = 1e6
"""The greatest number; sums of it are still finite."""


def _check_three(name: str, values: Numbers, *, top: float = _MOST) -> None:
    if len(values) != len(URGENCIES):
        raise SettingsError(f"{name} are given for high, medium and low, got {values}")
    for value in values:
        check_range(f"each of the {name}", value, least=0, most=top)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What counts how much (Table 19). Penalties are given without their sign.

    Raises:
        SettingsError: If one of them cannot be.
    """

    progress_reward: float = 0.4
    completion_bonus: float = 0.8
    on_time_reward: float = 0.4
    late_reward: float = 0.0
    timeout_penalty: float = 0.5
    switch_penalty: float = 0.005
    interruption_penalty: float = 0.005
    urgency_weights: Numbers = (1.2, 0.5, 0.1)
    main_weight: float = 0.6
    gap_penalty: float = 0.5
    target: int = 4
    """Units of progress at which the main task is complete."""

    def __post_init__(self) -> None:
        for name in sorted({setting.name for setting in fields(self)} - {"urgency_weights"}):
            check_range(name, getattr(self, name), least=0, most=_MOST)
        check_range("main_weight", self.main_weight, most=1)
        _check_three("urgency weights", self.urgency_weights)
        if not any(self.urgency_weights):
            raise SettingsError("at least one urgency needs a weight above 0")
        check_range("target", self.target, least=1)


_SCORING = Scoring()


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSettings:
    """One episode's world (Table 17).

    Attributes:
        horizon: The episode's greatest length.
        arrival_rate: Emails a second, of a Poisson process.
        urgency: The probabilities of high, medium and low.
        high_slack: From arrival to deadline, uniform in this range; the same for the others.
        check: How long it takes to look into the inbox; the next five are alike.
        token: What a token of the main task takes.
        triage: How long it takes to decide about an email, whatever is said.
        recommended_handle: With which probability it is recommended to handle an email at once,
            by its urgency. The paper prints no such distribution; these are fitted
            (engagement facts, 3.2).
        recommended_remind: Of those that are not, the share for which it is a reminder; the
            rest is to be ignored. Fitted too.

    Raises:
        SettingsError: If one of them cannot be.
    """

    horizon: Duration = _HORIZON
    arrival_rate: float = 0.2
    urgency: Numbers = (0.4, 0.4, 0.2)
    high_slack: Slack = _HIGH
    medium_slack: Slack = _MEDIUM
    low_slack: Slack = _LOW
    check: Duration = _BRIEF
    open: Duration = _BRIEF
    handle: Duration = _LONG
    remind: Duration = _BRIEF
    back: Duration = _BRIEF
    token: Duration = _TOKEN
    triage: Duration = _TRIAGE
    recommended_handle: Numbers = (0.94, 0.29, 0.01)
    recommended_remind: float = 0.28
    scoring: Scoring = _SCORING

    def __post_init__(self) -> None:
        for name in ("horizon", "token"):
            check_range(f"{name} in s", in_seconds(getattr(self, name)), above=0)
        for name in ("check", "open", "handle", "remind", "back", "triage"):
            check_range(f"{name} in s", in_seconds(getattr(self, name)), least=0)
        check_range("arrival rate", self.arrival_rate, least=0, most=_MOST)
        emails = self.arrival_rate * in_seconds(self.horizon)
        if emails > MOST_EMAILS:
            raise SettingsError(
                f"about {emails:.3g} emails an episode are too many; at most {MOST_EMAILS}"
            )
        _check_three("urgency probabilities", self.urgency, top=1)
        if not isclose(sum(self.urgency), 1, abs_tol=1e-9):
            raise SettingsError(f"urgency probabilities must add up to 1, got {self.urgency}")
        _check_three("recommended_handle probabilities", self.recommended_handle, top=1)
        check_range("recommended_remind", self.recommended_remind, least=0, most=1)
        for urgency in URGENCIES:
            least, most = map(in_seconds, self.slack(urgency))
            check_range(f"the least {urgency}_slack in s", least, least=0)
            check_range(f"the greatest {urgency}_slack in s", most, least=least)

    def slack(self, urgency: Urgency) -> Slack:
        """The range of slack of emails of an urgency."""
        match urgency:
            case "high":
                return self.high_slack
            case "medium":
                return self.medium_slack
            case "low":
                return self.low_slack
