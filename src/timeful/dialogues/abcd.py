"""Dialogues in the shape of ABCD (Chen et al., NAACL 2021), compressed with gzip or not.

A file is `{"train": [...], "dev": [...], "test": [...]}` or a plain list of dialogues. The fields
read are `convo_id`, `delexed` (the turns with their labels), `original` (the same turns with the
original text), `scenario`, and optionally `reference_ready_range` (action name -> turns) and
`synthetic`. Other fields are skipped without decoding: `candidates` is most of the real file.
"""

import ast
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from timeful.dialogues.dialogue import Dialogue, ObservedAction, Speaker, Turn
from timeful.dialogues.explaining import explain
from timeful.dialogues.slots import Ontology
from timeful.errors import SettingsError, unknown
from timeful.files import read_bytes

Wording = Literal["original", "delexed"]
"""The original text, or lower case with names and numbers replaced by `<username>` etc."""

_Count = Annotated[int, msgspec.Meta(ge=1)]
_Targets = tuple[str | None, str | None, str | None, list[str | int | float], int | None]


class _Turn(msgspec.Struct):
    speaker: Speaker
    turn_count: _Count
    targets: _Targets
    """The intent, the next step, the action, its values, and the rank of the utterance."""
    text: str = ""


class _Dialogue(msgspec.Struct):
    convo_id: int | str
    delexed: list[_Turn]
    original: list[tuple[str, str]] | None = None
    scenario: dict[str, Any] = {}
    reference_ready_range: dict[str, list[_Count]] | None = None
    synthetic: bool = False


class _Name(msgspec.Struct):
    convo_id: int | str


def read_abcd(
    path: Path,
    *,
    ontology: Ontology | None = None,
    wording: Wording = "original",
    splits: Collection[str] | None = None,
    needs_ranges: bool = False,
) -> Iterator[Dialogue]:
    """Read dialogues one by one, in the order of the file; only its bytes stay in memory.

    The subflow is the intent in the labels of the turns, which names the workflow in `kb.json`;
    `scenario.subflow`, which may have a suffix or a name outside the ontology, stays in the
    scenario. An observed action is taken from the label: the text of an action turn may differ.
    `scenario.order.products`, a Python literal in a string, is parsed.

    Args:
        path: The file.
        ontology: Assigns slots to the values of observed actions; None leaves them unnamed.
        wording: The text of turns; `delexed` is used if `original` is missing.
        splits: The splits to read, by default all. A plain list is the split "".
        needs_ranges: Refuse a dialogue without `reference_ready_range`.

    Raises:
        SettingsError: If the file is not in this shape or has no dialogue; an error in a dialogue
            names the dialogue and the field.
    """
    decoder = msgspec.json.Decoder(_Dialogue)
    for split, number, raw in _raw(path, splits):
        try:
            read = decoder.decode(raw)
            if needs_ranges and read.reference_ready_range is None:
                raise ValueError(
                    "there is no reference_ready_range; `timeful annotate` makes references"
                )
            dialogue = _dialogue(read, split, ontology, wording)
        except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
            name = _name(raw, split, number)
            raise SettingsError(
                f"{path.name}: dialogue {name}: {explain(error, _Dialogue)}"
            ) from None
        yield dialogue


def _raw(path: Path, splits: Collection[str] | None) -> Iterator[tuple[str, int, msgspec.Raw]]:
    """The undecoded dialogues of some splits, each with its split and its number from 1."""
    shape = dict[str, list[msgspec.Raw]] | list[msgspec.Raw]
    try:
        read = msgspec.json.decode(read_bytes(path), type=shape)
    except (ValueError, RecursionError) as error:
        raise SettingsError(
            f"{path.name} is not in ABCD's shape, splits of dialogues or a list of them: {error}"
        ) from None
    if isinstance(read, list):
        if splits is not None:
            raise SettingsError(f"{path.name} is a list of dialogues, without splits to choose")
        read = {"": read}
    if not any(read.values()):
        raise SettingsError(f"{path.name} holds no dialogue")
    for split in splits if splits is not None else ():
        if split not in read:
            raise SettingsError(f"{path.name}: {unknown('split', split, read)}")
    for split, dialogues in read.items():
        if splits is None or split in splits:
            for number, raw in enumerate(dialogues, 1):
                yield split, number, raw


def _name(raw: msgspec.Raw, split: str, number: int) -> str:
    """The name of a dialogue in an error: its id, else its number."""
    try:
        return str(msgspec.json.decode(raw, type=_Name).convo_id)
    except (ValueError, RecursionError):
        return f"{number} of {split}" if split else f"{number} of the list"


def _dialogue(read: _Dialogue, split: str, ontology: Ontology | None, wording: Wording) -> Dialogue:
    scenario = _scenario(read.scenario)
    words = _words(read) if wording == "original" else [turn.text for turn in read.delexed]
    turns = tuple(
        Turn(
            number=turn.turn_count,
            speaker=turn.speaker,
            text=text,
            observed=_observed(turn, ontology, scenario),
        )
        for turn, text in zip(read.delexed, words, strict=True)
    )
    intents = (turn.targets[0] for turn in read.delexed)
    return Dialogue(
        id=str(read.convo_id),
        split=split,
        turns=turns,
        subflow=next((intent for intent in intents if intent), ""),
        scenario=scenario,
        ready_ranges={
            name: tuple(sorted(set(numbers)))
            for name, numbers in (read.reference_ready_range or {}).items()
        },
        synthetic=read.synthetic,
    )


def _words(read: _Dialogue) -> list[str]:
    if read.original is None:
        return [turn.text for turn in read.delexed]
    if len(read.original) != len(read.delexed):
        raise ValueError(f"original has {len(read.original)} turns and delexed {len(read.delexed)}")
    for turn, (speaker, _) in zip(read.delexed, read.original, strict=True):
        if speaker != turn.speaker:
            raise ValueError(
                f"turn {turn.turn_count}: the speaker is {speaker!r} in original and "
                f"{turn.speaker!r} in delexed"
            )
    return [text for _, text in read.original]


def _observed(
    turn: _Turn, ontology: Ontology | None, scenario: dict[str, Any]
) -> tuple[ObservedAction, ...]:
    if turn.speaker != "action":
        return ()
    name = turn.targets[2]
    if not name:
        raise ValueError(f"turn {turn.turn_count}: an action turn without an action in targets[2]")
    values = tuple(str(value) for value in turn.targets[3])
    slots = ontology.slots_of(name, values, scenario) if ontology is not None else ()
    return (ObservedAction(name=name, values=values, slots=slots),)


def _scenario(scenario: dict[str, Any]) -> dict[str, Any]:
    """The scenario with its list of products parsed."""
    order = scenario.get("order")
    if not isinstance(order, dict) or not isinstance(products := order.get("products"), str):
        return scenario
    try:
        read = ast.literal_eval(products)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise ValueError(f"scenario.order.products is not a literal: {products[:60]!r}") from None
    return {**scenario, "order": {**order, "products": read}}
