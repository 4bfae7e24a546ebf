"""The catalog and knowledge of ABCD: `ontology.json`, `kb.json` and `guidelines.json`.

The ontology has the actions with their slots, the knowledge base the order of actions in each of
55 workflows, the guidelines their descriptions. Guidelines name actions by buttons, whose names
become ids in lower case with hyphens; `_BUTTONS` has the exceptions. Slots are alternatives, so
only samples show which parameters are required (Chen et al., NAACL 2021; ProActor, D.1).
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from timeful.catalogs.catalog import Metadata
from timeful.catalogs.knowledge import Guideline, Knowledge, Step
from timeful.catalogs.ontology import ActionType, Ontology, Types, Workflow, precedence
from timeful.catalogs.parameters import Sample, estimate
from timeful.catalogs.reading import read_as
from timeful.catalogs.rendering import render
from timeful.catalogs.schema import Parameter
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.slots import read_ontology
from timeful.errors import SettingsError, nearest

_BUTTONS = {
    "notify-internal-team": "notify-team",
    "membership-privileges": "membership",
    "select-answer": "select-faq",
    "log-out/in": "log-out-in",
    "enter-detail": "enter-details",
}
"""Buttons whose name differs from their action. Pages to search, such as "Boots", are
`search-boots`."""

_TALK = ("n/a", "end-conversation")
"""Buttons without an action."""


class AbcdSource(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The location of ABCD's files.

    Attributes:
        folder: Contains `ontology.json`, `kb.json` and `guidelines.json`, the last also as .gz.
        samples: A file of dialogues in ABCD's shape, to estimate required parameters.
        splits: The splits of `samples`; by default train, or all of a file without splits.
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
    """The 30 actions with their slots, closed lists and descriptions.

    Raises:
        SettingsError: If a file is missing or not ABCD's.
    """
    files = _Files(source, folder)
    descriptions = files.descriptions()
    types = {}
    for group, actions in files.ontology.actions.items():
        for name, slots in actions.items():
            types[name] = ActionType(
                description=descriptions.get(name, f"{_spaced(name).capitalize()}."),
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
    return types


def abcd_ontology(source: AbcdSource, folder: Path) -> Ontology:
    """The groups of actions, the 55 workflows and the precedence of their actions.

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
    """The observed actions of the dialogues, with the slots assigned to their values.

    Raises:
        SettingsError: If the dialogues cannot be read or have no observed action.
    """
    if not source.samples:
        return
    has_samples = False
    slots = read_ontology(folder / source.folder / "ontology.json")
    path = folder / source.samples
    for dialogue in read_abcd(path, ontology=slots, splits=source.splits):
        if source.splits is None and dialogue.split not in ("", "train"):
            continue
        for _, action in dialogue.observed:
            has_samples = True
            slots_with_value = frozenset(action.values_by_slot)
            n_unnamed = len(action.values) - len(slots_with_value)
            yield Sample(action=action.name, parameters=slots_with_value, unnamed=n_unnamed)
    if not has_samples:
        splits = ", ".join(source.splits or ("train",))
        raise SettingsError(f"{path}: no action was observed ({splits}); use other `splits`")


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
    """The action of a button in the guidelines; "" if the button has none.

    Raises:
        ValueError: If the action is unknown.
    """
    name = button.lower().replace(" ", "-")
    if name in _TALK:
        return ""
    for candidate in (_BUTTONS.get(name, name), f"search-{name}"):
        if candidate in actions and not (candidate == "membership" and button == "Membership"):
            return candidate
    raise ValueError(f"the button {button!r} is not an action; {nearest(name, actions)}")


class _Files:
    def __init__(self, source: AbcdSource, folder: Path) -> None:
        self._folder = folder / source.folder
        self.ontology = read_as(self._folder / "ontology.json", _OntologyFile)
        self.actions = frozenset(name for group in self.ontology.actions.values() for name in group)

    def orders(self) -> dict[str, tuple[str, ...]]:
        """The order of actions in each workflow."""
        path = self._folder / "kb.json"
        orders = read_as(path, dict[str, tuple[str, ...]])
        subflows = {name for names in self.ontology.intents.subflows.values() for name in names}
        for workflow, actions in orders.items():
            if workflow not in subflows:
                raise SettingsError(
                    f"{path}: {workflow!r} is not a subflow; {nearest(workflow, subflows)}"
                )
            for name in actions:
                if name not in self.actions:
                    raise SettingsError(
                        f"{path}: {workflow}: unknown action {name!r}; "
                        f"{nearest(name, self.actions)}"
                    )
        return orders

    def guidelines(self) -> dict[str, Guideline]:
        """The guideline of each workflow, by its id.

        The title of a flow gives its id; subflows have the order of the ontology.
        """
        path = self._guidelines_path()
        guidelines = {}
        for title, flow in self._flows().items():
            name = title.lower().replace(" ", "_").replace("-", "_")
            subflows = self.ontology.intents.subflows.get(name, ())
            if len(subflows) != len(flow.subflows):
                raise SettingsError(
                    f"{path}: {title!r} has {len(flow.subflows)} subflows, the ontology "
                    f"{len(subflows)} of {name!r}"
                )
            for subflow, (subflow_title, content) in zip(
                subflows, flow.subflows.items(), strict=True
            ):
                steps = tuple(self._step(path, subflow_title, action) for action in content.actions)
                guidelines[subflow] = Guideline(
                    title=subflow_title, instructions=content.instructions, steps=steps
                )
        return guidelines

    def descriptions(self) -> dict[str, str]:
        """The description of each action: its button and its best line in the guidelines."""
        lines_by_action: dict[str, Counter[str]] = {}
        buttons: dict[str, str] = {}
        for flow in self._flows().values():
            for subflow in flow.subflows.values():
                for action in subflow.actions:
                    if name := action_id(action.button, self.actions):
                        buttons.setdefault(name, action.button)
                        lines_by_action.setdefault(name, Counter()).update(
                            (action.text, *action.subtext)
                        )
        return {
            name: f"{buttons[name]}. {_best(lines, f'[{buttons[name]}]')}".strip()
            for name, lines in lines_by_action.items()
        }

    def _step(self, path: Path, subflow: str, guideline_action: _Action) -> Step:
        try:
            action = action_id(guideline_action.button, self.actions)
        except ValueError as error:
            raise SettingsError(f"{path}: {subflow!r}: {error}") from None
        return Step(
            text="\n".join((guideline_action.text, *guideline_action.subtext)), action=action
        )

    def _flows(self) -> dict[str, _Flow]:
        return read_as(self._guidelines_path(), dict[str, _Flow])

    def _guidelines_path(self) -> Path:
        plain = self._folder / "guidelines.json"
        packed = self._folder / "guidelines.json.gz"
        return packed if packed.exists() and not plain.exists() else plain


def _best(lines: Counter[str], mark: str) -> str:
    """The most informative line: it names the button, has 8 words or more, and is frequent.

    Ties go to the shorter line; lines of four words or fewer do not count.
    """

    def rank(line: str) -> tuple[bool, bool, int, int, str]:
        return mark not in line, len(line.split()) < 8, -lines[line], len(line), line

    best = min((line for line in lines if len(line.split()) > 4), key=rank, default="")
    return " ".join(best.split()).replace("[", "").replace("]", "")


def _spaced(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
