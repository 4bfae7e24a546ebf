"""ABCD's own files as a catalog and its knowledge: `ontology.json`, `kb.json`, `guidelines.json`.

The ontology has the actions with their slots, the knowledge base the order of actions in each of
55 workflows, the guidelines the words. Guidelines call things by the names on buttons, which
become ids in lower case with hyphens; a few buttons say it otherwise, see `_BUTTONS`. Slots are
alternatives, so no parameter is required but what samples show: dialogues whose values have been
named (Chen et al., NAACL 2021; ProActor, D.1).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from timeful.catalogs.catalog import Metadata
from timeful.catalogs.knowledge import Guideline, Knowledge, Step
from timeful.catalogs.ontology import ActionType, Ontology, Types, Workflow, precedence
from timeful.catalogs.parameters import Sample, estimate
from timeful.catalogs.reading import nearest, read_as
from timeful.catalogs.rendering import render
from timeful.catalogs.schema import Parameter
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.slots import read_ontology
from timeful.errors import SettingsError

_BUTTONS = {
    "notify-internal-team": "notify-team",
    "membership-privileges": "membership",
    "select-answer": "select-faq",
    "log-out/in": "log-out-in",
    "enter-detail": "enter-details",
}
"""Buttons of the guidelines that are not called as their action is. Pages to search, such as
"Boots", are `search-boots`."""

_TALK = ("n/a", "end-conversation")
"""What is said, not done."""


class AbcdSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where ABCD's files lie.

    Attributes:
        folder: Has `ontology.json`, `kb.json` and `guidelines.json`, the last also as .gz.
        samples: A file of dialogues in ABCD's shape, to estimate what is required; none if empty.
        splits: The splits of it that are used; by default train, and all of a file without splits.
    """

    folder: str
    samples: str = ""
    splits: tuple[str, ...] | None = None


class _Intents(msgspec.Struct):
    subflows: dict[str, tuple[str, ...]]


class _Values(msgspec.Struct):
    enumerable: dict[str, tuple[str, ...]]


class _OntologyFile(msgspec.Struct):
    intents: _Intents
    actions: dict[str, dict[str, tuple[str, ...]]]
    values: _Values


class _Action(msgspec.Struct):
    type: str
    button: str
    text: str
    subtext: tuple[str, ...] = ()


class _Subflow(msgspec.Struct):
    actions: tuple[_Action, ...]
    instructions: tuple[str, ...] = ()


class _Flow(msgspec.Struct):
    subflows: dict[str, _Subflow]
    description: str = ""


def abcd_types(source: AbcdSource, folder: Path) -> dict[str, ActionType]:
    """The 30 actions: their slots with closed lists, and what the guidelines say of them.

    Raises:
        SettingsError: If a file is missing or not ABCD's.
    """
    files = _Files(source, folder)
    words = files.descriptions()
    found = {}
    for group, actions in files.ontology.actions.items():
        for name, slots in actions.items():
            found[name] = ActionType(
                description=words.get(name, f"{_spaced(name).capitalize()}."),
                server=group,
                parameters=tuple(
                    Parameter(
                        name=slot,
                        description=_spaced(slot),
                        enum=files.ontology.values.enumerable.get(slot, ()),
                    )
                    for slot in slots
                ),
            )
    return found


def abcd_ontology(source: AbcdSource, folder: Path) -> Ontology:
    """The groups of actions, the 55 workflows, and the orders that all of them keep.

    Raises:
        SettingsError: If a file is missing or not ABCD's.
    """
    files = _Files(source, folder)
    orders = files.orders()
    titles = {name: guideline.title for name, guideline in files.guidelines().items()}
    groups = {
        subflow: flow
        for flow, subflows in files.ontology.intents.subflows.items()
        for subflow in subflows
    }
    return Ontology(
        hierarchy={group: tuple(names) for group, names in files.ontology.actions.items()},
        workflows={
            name: Workflow(actions=order, group=groups[name], title=titles.get(name, ""))
            for name, order in orders.items()
        },
        relations=precedence(orders.values()),
    )


def abcd_samples(source: AbcdSource, folder: Path) -> Iterator[Sample]:
    """The observed actions of the dialogues, with those slots that their values could be given.

    Raises:
        SettingsError: If the dialogues cannot be read, or nothing was observed in them.
    """
    if not source.samples:
        return
    there_are = False
    slots = read_ontology(folder / source.folder / "ontology.json")
    path = folder / source.samples
    for dialogue in read_abcd(path, ontology=slots, splits=source.splits):
        if source.splits is None and dialogue.split not in ("", "train"):
            continue
        for _, action in dialogue.observed:
            there_are = True
            named = frozenset(action.values_by_slot)
            unnamed = len(action.values) - len(named)
            yield Sample(action=action.name, parameters=named, unnamed=unnamed)
    if not there_are:
        used = ", ".join(source.splits or ("train",))
        raise SettingsError(f"{path}: no action was observed ({used}); use other `splits`")


def abcd_knowledge(source: AbcdSource, folder: Path) -> Knowledge:
    """The catalog, the workflows and the guidelines of ABCD.

    Raises:
        SettingsError: If a file is missing or not ABCD's, or Jinja2 is not installed.
    """
    types: Types = abcd_types(source, folder)
    types, _ = estimate(types, abcd_samples(source, folder))
    metadata = Metadata(name="abcd", domain="customer support of a shop")
    return Knowledge(
        catalog=render(metadata, types),
        ontology=abcd_ontology(source, folder),
        guidelines=_Files(source, folder).guidelines(),
    )


def action_id(button: str, actions: frozenset[str]) -> str:
    """The action that a button of the guidelines stands for; "" where it stands for words only.

    Raises:
        ValueError: If it is none of the actions.
    """
    name = button.lower().replace(" ", "-")
    if name in _TALK:
        return ""
    for one in (_BUTTONS.get(name, name), f"search-{name}"):
        if one in actions and not (one == "membership" and button == "Membership"):
            return one
    raise ValueError(f"the button {button!r} is no action; {nearest(name, actions)}")


class _Files:
    """The three files, read once."""

    def __init__(self, source: AbcdSource, folder: Path) -> None:
        self._folder = folder / source.folder
        self.ontology = read_as(self._folder / "ontology.json", _OntologyFile)
        self.actions = frozenset(name for group in self.ontology.actions.values() for name in group)

    def orders(self) -> dict[str, tuple[str, ...]]:
        """The order of actions in each workflow."""
        path = self._folder / "kb.json"
        orders = read_as(path, dict[str, tuple[str, ...]])
        known = {one for some in self.ontology.intents.subflows.values() for one in some}
        for name, actions in orders.items():
            if name not in known:
                raise SettingsError(f"{path}: {name!r} is no subflow; {nearest(name, known)}")
            for one in actions:
                if one not in self.actions:
                    raise SettingsError(
                        f"{path}: {name}: unknown action {one!r}; {nearest(one, self.actions)}"
                    )
        return orders

    def guidelines(self) -> dict[str, Guideline]:
        """The guideline of each workflow, by its id.

        Flows are called as their ids; subflows are not, but stand in the order of the ontology.
        """
        path = self._guidelines_path()
        found = {}
        for title, flow in self._flows().items():
            name = title.lower().replace(" ", "_").replace("-", "_")
            subflows = self.ontology.intents.subflows.get(name, ())
            if len(subflows) != len(flow.subflows):
                raise SettingsError(
                    f"{path}: {title!r} has {len(flow.subflows)} subflows, the ontology "
                    f"{len(subflows)} of {name!r}"
                )
            for subflow, (words, one) in zip(subflows, flow.subflows.items(), strict=True):
                steps = tuple(self._step(path, words, action) for action in one.actions)
                found[subflow] = Guideline(title=words, instructions=one.instructions, steps=steps)
        return found

    def descriptions(self) -> dict[str, str]:
        """What each action does: its button, and what the guidelines most often say of it."""
        said: dict[str, Counter[str]] = {}
        buttons: dict[str, str] = {}
        for flow in self._flows().values():
            for subflow in flow.subflows.values():
                for one in subflow.actions:
                    if name := action_id(one.button, self.actions):
                        buttons.setdefault(name, one.button)
                        said.setdefault(name, Counter()).update((one.text, *one.subtext))
        return {
            name: f"{buttons[name]}. {_best(lines, f'[{buttons[name]}]')}".strip()
            for name, lines in said.items()
        }

    def _step(self, path: Path, subflow: str, one: _Action) -> Step:
        try:
            action = action_id(one.button, self.actions)
        except ValueError as error:
            raise SettingsError(f"{path}: {subflow!r}: {error}") from None
        return Step(text="\n".join((one.text, *one.subtext)), action=action)

    def _flows(self) -> dict[str, _Flow]:
        return read_as(self._guidelines_path(), dict[str, _Flow])

    def _guidelines_path(self) -> Path:
        plain = self._folder / "guidelines.json"
        packed = self._folder / "guidelines.json.gz"
        return packed if packed.exists() and not plain.exists() else plain


def _best(lines: Counter[str], mark: str) -> str:
    """What says most of an action: it names the button, says more than "click it", is frequent.

    The shorter of equals; "Option 2" and other lines of four words or fewer say nothing.
    """

    def rank(line: str) -> tuple[bool, bool, int, int, str]:
        return mark not in line, len(line.split()) < 8, -lines[line], len(line), line

    best = min((line for line in lines if len(line.split()) > 4), key=rank, default="")
    return " ".join(best.split()).replace("[", "").replace("]", "")


def _spaced(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
