"""Conversations for tests, and how a set of predictions is said."""

from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn, ranges_of
from timeful.dialogues.opportunity import Input, Inputs, Opportunity, Status
from timeful.dialogues.prediction import Prediction

SECOND = 1_000_000_000
NAMES = ("open", "pay", "send")


def one(name: str = "open", status: Status = "pending", value: str | None = None) -> Opportunity:
    told = Input(name="who", provided=value is not None, value=value)
    return Opportunity(name=name, inputs=Inputs(required=(told,)), status=status)


def says(turn: int, *opportunities: Opportunity, questions: tuple[str, ...] = ()) -> str:
    return str(Prediction(turn=turn, opportunities=opportunities, questions=questions))


def talk(*at: float | None, words: int = 4) -> Dialogue:
    """A conversation of as many turns as instants, in seconds; even turns are a system's."""
    references = {
        number: (one("open", "ready_to_trigger", "Ada"), one("pay")) for number in (1, 2, 3)
    }
    there = range(1, len(at) + 1)
    return Dialogue(
        id="d1",
        subflow="secret-flow",
        scenario={"secret": "case"},
        turns=tuple(
            Turn(
                number=number,
                speaker="customer" if number % 2 else "action",
                text=" ".join([f"w{number}"] * words),
                observed=() if number % 2 else (ObservedAction(name="open", values=("Ada",)),),
                at=None if when is None else round(when * SECOND),
            )
            for number, when in enumerate(at, 1)
        ),
        references={number: some for number, some in references.items() if number in there},
        ready_ranges=ranges_of(references),
        questions={1: ("Who is there?",)},
        synthetic=True,
    )
