"""Action opportunities: a tool that a conversation could use, with what is known of its inputs.

Unlike a call of a tool, an opportunity may be partial: it says which inputs are provided so far,
and whether it is time to act. The JSON is that of ProActor (Figures 9 and 12), flat:

    {"name": "pull-up-account", "description": "Open the account of a customer.",
     "inputs": {"required": [{"input_name": "customer_name", "provided": true, "value": "Ada"}],
                "optional": [{"input_name": "account_id", "provided": false, "value": null}]},
     "readiness_maturity": "high", "trigger_confidence": "medium",
     "action_trigger_status": "ready_to_trigger"}
"""

from collections.abc import Iterable
from typing import Any, Literal, TypeVar, get_args

import msgspec

from timeful.dialogues.explaining import explain

Level = Literal["low", "medium", "high"]
Status = Literal["pending", "ready_to_trigger", "triggered", "repeatable", "dismissed"]

LEVELS: tuple[Level, ...] = get_args(Level)
STATUSES: tuple[Status, ...] = get_args(Status)

READY: frozenset[Status] = frozenset(("ready_to_trigger", "triggered"))
"""The statuses that make an opportunity ready (section 3.2)."""

Value = str | int | float | bool | list[Any] | dict[str, Any] | None
"""What JSON can say."""


class BadOpportunityError(ValueError):
    """JSON that is no opportunity; the message says what is wrong and where, also to a model."""


class Input(msgspec.Struct, frozen=True, kw_only=True, rename={"name": "input_name"}):
    """A parameter of an action. `value` counts only where it is `provided`."""

    name: str
    provided: bool
    value: Value = None

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("an input needs an input_name")


class Inputs(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parameters of an action, each named once."""

    required: tuple[Input, ...] = ()
    optional: tuple[Input, ...] = ()

    def __post_init__(self) -> None:
        if len(self.required) + len(self.optional) < 2:
            return
        seen = set()
        for one in self.all():
            if one.name in seen:
                raise ValueError(f"the input {one.name!r} stands twice")
            seen.add(one.name)

    def all(self) -> tuple[Input, ...]:
        """The required ones, then the optional ones."""
        return self.required + self.optional


class Opportunity(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"status": "action_trigger_status"},
):
    """An action that could be taken, what is known of its inputs, and how far it is.

    A level is None where it was not said: no metric reads it.
    """

    name: str
    description: str = ""
    inputs: Inputs
    readiness_maturity: Level | None = None
    trigger_confidence: Level | None = None
    status: Status

    def __post_init__(self) -> None:
        if not self.name:
            raise ValueError("an opportunity needs a name")

    @property
    def is_ready(self) -> bool:
        """Whether the action could be taken now, or was."""
        return self.status in READY


def read_opportunity(data: object) -> Opportunity:
    """Read one opportunity from what JSON was decoded to; fields that it does not have are left.

    `name`, `inputs` and `action_trigger_status` must be there; no type is guessed.

    Raises:
        BadOpportunityError: If it is none.
    """
    return _convert(data, Opportunity)


def read_opportunities(data: object) -> tuple[Opportunity, ...]:
    """Read a list of opportunities.

    Raises:
        BadOpportunityError: If it is none, or one of them is not; the path says which.
    """
    return _convert(data, tuple[Opportunity, ...])


def write_opportunities(opportunities: Iterable[Opportunity]) -> list[dict[str, Any]]:
    """Opportunities as what JSON is encoded from; reading that gives them back."""
    found: list[dict[str, Any]] = msgspec.to_builtins(list(opportunities))
    return found


T = TypeVar("T")


def _convert(data: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadOpportunityError(explain(error, kind)) from None
