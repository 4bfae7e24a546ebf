"""Action opportunities: a tool that a conversation could use, with the known inputs.

Unlike a tool call, an opportunity may be partial: it states which inputs are provided so far, and
whether it is time to act. The JSON is that of ProActor (Figures 9 and 12), flat:

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
"""A value of JSON."""


class BadOpportunityError(ValueError):
    """JSON that is not an opportunity; the message, also read by models, names the error."""


class Input(msgspec.Struct, frozen=True, kw_only=True, rename={"name": "input_name"}):
    """A parameter of an action. `value` counts only if it is `provided`."""

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
        names = set()
        for parameter in self.all():
            if parameter.name in names:
                raise ValueError(f"the input {parameter.name!r} stands twice")
            names.add(parameter.name)

    def all(self) -> tuple[Input, ...]:
        """The required parameters, then the optional ones."""
        return self.required + self.optional


class Opportunity(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename={"status": "action_trigger_status"},
):
    """An action that could be taken, with its known inputs and its status.

    A level may be None: no metric reads it.
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
        """Whether the action could be taken now or was taken."""
        return self.status in READY


def read_opportunity(data: object) -> Opportunity:
    """Read one opportunity from decoded JSON; unknown fields are ignored, types are not coerced.

    Raises:
        BadOpportunityError: If the data is not an opportunity.
    """
    return _convert(data, Opportunity)


def read_opportunities(data: object) -> tuple[Opportunity, ...]:
    """Read a list of opportunities.

    Raises:
        BadOpportunityError: If the data is not a list of opportunities; names the path.
    """
    return _convert(data, tuple[Opportunity, ...])


def write_opportunities(opportunities: Iterable[Opportunity]) -> list[dict[str, Any]]:
    """Opportunities as plain data for JSON, the inverse of `read_opportunities`."""
    plain: list[dict[str, Any]] = msgspec.to_builtins(list(opportunities))
    return plain


T = TypeVar("T")


def _convert(data: object, kind: type[T]) -> T:
    try:
        return msgspec.convert(data, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise BadOpportunityError(explain(error, kind)) from None
