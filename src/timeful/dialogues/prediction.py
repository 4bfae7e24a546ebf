"""A prediction: the opportunities of an agent at a turn and its questions, as JSON.

    {"turn": 3, "opportunities": [<opportunity>], "questions": ["May I have your name?"]}

It is the action of an agent in a world of dialogues, and part of its record.
"""

from typing import Annotated

import msgspec

from timeful.dialogues.explaining import explain
from timeful.dialogues.opportunity import BadOpportunityError, Opportunity


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prediction for a turn, made before the next turn begins."""

    turn: Annotated[int, msgspec.Meta(ge=1)]
    opportunities: tuple[Opportunity, ...] = ()
    questions: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The prediction as JSON, the inverse of `read_prediction`."""
        return msgspec.json.encode(self).decode()


def read_prediction(text: str) -> Prediction:
    """Read a prediction.

    Raises:
        BadOpportunityError: If the text is not a prediction; the message names the error.
    """
    try:
        return msgspec.json.decode(text.encode(), type=Prediction)
    except (ValueError, RecursionError) as error:  # also a lone surrogate, or no JSON
        raise BadOpportunityError(explain(error, Prediction)) from None
