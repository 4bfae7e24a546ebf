"""How well a predicted opportunity matches a reference: C of equation 1."""

import re
from collections.abc import Hashable, Iterable
from decimal import Decimal
from math import isnan

from timeful.dialogues.opportunity import Input, Opportunity, Value

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")


def normal(value: Value) -> Hashable:
    """A value without what does not matter: case, surrounding and repeated space, digits' form.

    Numbers are compared by value, also where they are text: "79.0" is 79. Digits that start with
    a zero are a name, not a number: the zip code "01234" is not 1234; nor are digits with a plus,
    an exponent or separators. A truth value is its word. The names of inputs are not normalised.
    All of this is **(chosen)**; the paper does not say when two values match.
    """
    if isinstance(value, str):
        text = " ".join(value.split()).casefold()
        return Decimal(text) if _NUMBER.fullmatch(text) else text
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        # By its shortest text, so that 0.1 is "0.1". NaN has to equal itself here.
        return "nan" if isnan(value) else Decimal(repr(value))
    if isinstance(value, list):
        return tuple(map(normal, value))
    if isinstance(value, dict):
        return frozenset((key, normal(inner)) for key, inner in value.items())
    return value


def agrees(predicted: Input | None, reference: Input) -> bool:
    """Whether a parameter matches: neither side has it, or both have equal values **(chosen)**.

    A parameter that a prediction does not mention is not provided **(chosen)**.
    """
    if predicted is None or not predicted.provided:
        return not reference.provided
    return reference.provided and normal(predicted.value) == normal(reference.value)


def match(prediction: Opportunity, reference: Opportunity) -> float:
    """How well a prediction matches a reference, from 0 to 1 (equation 1).

    The number of the reference's parameters that match over their number, required and optional
    together, found by their name in whichever of the two lists a prediction has them. What only a
    prediction has is not counted. A reference without parameters matches with 1 **(chosen)**,
    one of another name with 0.
    """
    if prediction.name != reference.name:
        return 0.0
    parameters = reference.inputs.all()
    if not parameters:
        return 1.0
    predicted = {parameter.name: parameter for parameter in prediction.inputs.all()}
    return sum(agrees(predicted.get(p.name), p) for p in parameters) / len(parameters)


def best_match(prediction: Opportunity, references: Iterable[Opportunity]) -> float:
    """The best match with a reference of the same name, 0 if there is none (equation 1)."""
    name = prediction.name
    return max(
        [match(prediction, reference) for reference in references if reference.name == name],
        default=0.0,
    )
