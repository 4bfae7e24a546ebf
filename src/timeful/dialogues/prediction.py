"""A prediction: what an agent holds possible at a turn, and what it would ask, as one JSON.

    {"turn": 3, "opportunities": [<opportunity>], "questions": ["May I have your name?"]}

It is what an agent says in a world of dialogues, and what its record keeps.
"""

from typing import Annotated

import msgspec

from timeful.dialogues.explaining import explain
from timeful.dialogues.opportunity import BadOpportunityError, Opportunity


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is predicted for a turn, after it was said and before the next begins."""

    turn: Annotated[int, msgspec.Meta(ge=1)]
    opportunities: tuple[Opportunity, ...] = ()
    questions: tuple[str, ...] = ()

    def text(self) -> str:
        """It as JSON; reading that gives it back."""
        return msgspec.json.encode(self).decode()


def read_prediction(text: str) -> Prediction:
    """Read a prediction.

    Raises:
        BadOpportunityError: If it is none; the message says what is wrong and where.
    """
    try:
        return msgspec.json.decode(text.encode(), type=Prediction)
    except (ValueError, RecursionError) as error:  # also half a character, and no JSON at all
        raise BadOpportunityError(explain(error, Prediction)) from None
