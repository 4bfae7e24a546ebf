"""Runs an annotation from its settings and writes its files."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from timeful.annotation.batch import Selection, Watcher, Work, annotate
from timeful.annotation.oracle import ASKED, LlmOracle, Oracle, RuleOracle, make_messages
from timeful.annotation.settings import Settings
from timeful.annotation.tools import load_tools
from timeful.annotation.worklog import Entry, WorkLog, dialogues, read_finished, summaries
from timeful.catalogs.knowledge import Knowledge
from timeful.dialogues.abcd import read_abcd
from timeful.dialogues.abcd_shape import is_abcd_shape
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.jsonl import read_jsonl, write_jsonl, write_lines
from timeful.dialogues.opportunity import write_opportunities
from timeful.dialogues.slots import read_ontology
from timeful.errors import SettingsError, check_known
from timeful.experiments.estimate import SAMPLE, Estimate, project
from timeful.files import read_bytes
from timeful.models.demand import Demand
from timeful.models.ledger import Expense
from timeful.models.model_spec import ModelSpec
from timeful.models.preflight import Preflight, check_endpoints
from timeful.models.prices import Price
from timeful.models.request import MOST_TOKENS, estimate_prompt
from timeful.models.spending import Budget
from timeful.models.traffic import Limits
from timeful.records.usage import sum_usage
from timeful.version import __version__

NOTES = {
    "rules": "made by rule, knowing how the dialogue went on; no model was asked",
    "llm": "made by a language model that saw the whole dialogue",
}
"""The note about references, by oracle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationRun:
    """The files and the dialogues of an annotation, in order.

    `unknown_actions` describes observed actions that the catalog lacks: no reference matches them.
    """

    out: Path
    meta: Path
    done: tuple[Entry, ...]
    unknown_actions: str

    @property
    def failed(self) -> list[Entry]:
        """The failed dialogues."""
        return [entry for entry in self.done if entry.failure is not None]


def run_annotation(  # noqa: PLR0913 - as `run_suite`
    settings: Settings,
    folder: Path,
    out: Path,
    *,
    api_key: str,
    watcher: Watcher,
    on_event: Callable[[str], None] = lambda _: None,
    replace: bool = False,
    retry_failed: bool = False,
    limits: Limits | None = None,
    preflight: Preflight | None = None,
    budget: Budget | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> AnnotationRun:
    """Annotate dialogues, or resume an annotation.

    Args:
        settings: All settings.
        folder: Where their paths start.
        out: The output, JSONL; packed with gzip if its name ends in `.gz`.
        api_key: The key of the endpoint; it is written nowhere.
        watcher: Told how it goes on.
        on_event: Told in words of what had to be asked again.
        replace: Start afresh if there is another annotation of this name.
        retry_failed: Ask again for dialogues whose answers could not be used.
        limits: The limits of the traffic to the endpoint.
        preflight: How the endpoint is checked; None for no check.
        budget: The most that may be spent, earlier sessions included.
        say: Shows a line of the check.

    Raises:
        SettingsError: If something cannot work, before anybody is asked.
        ModelError: If the endpoint refuses all requests, or gives no answer, again and again.
        BudgetError: If the budget is used up. Finished dialogues are kept.
    """
    if not out.name.removesuffix(".gz").endswith(".jsonl"):
        raise SettingsError(f"annotations are written to .jsonl or .jsonl.gz, got {out.name}")
    knowledge = load_tools(settings.tool_catalog, folder)
    source = folder / settings.dialogues.file
    if out.resolve() == source.resolve():
        raise SettingsError(f"{out} is what is annotated; choose another file with --out")
    oracle = _oracle(settings, knowledge, api_key, on_event)
    identity = _identity(settings, knowledge, source)
    annotation = settings.annotation
    observed_names: dict[str, None] = {}

    def read() -> Iterator[Dialogue]:
        for dialogue in _read(settings, folder):
            observed_names.update((action.name, None) for _, action in dialogue.observed)
            yield dialogue

    def check(work: Path) -> Sequence[Expense]:
        return check_endpoints(
            [settings.llm.choose()] if annotation.oracle == "llm" else [],
            {settings.llm.key_name: api_key},
            preflight=preflight,
            budget=budget,
            say=say,
            limits=limits,
            folders=[work],
        )

    work = Work(
        read=read,
        selection=Selection(
            start=annotation.start_index, most=annotation.annotated_max_dialogues_num
        ),
        oracle=oracle,
        identity=identity,
        workers=annotation.max_workers,
        check=check,
        limits=limits,
        budget=budget,
    )
    meta = _sibling(out, ".meta.json")

    def write(log: WorkLog) -> None:
        _write(out, log, settings)
        about = _about(identity, summaries(log))
        raw = msgspec.json.encode(about)
        raw = msgspec.json.format(raw) if settings.output.pretty_print else raw
        meta.write_bytes(raw + b"\n")

    out.parent.mkdir(parents=True, exist_ok=True)
    try:
        done = annotate(
            work, out, watcher=watcher, write=write, replace=replace, retry_failed=retry_failed
        )
    finally:
        oracle.stop()
    unknown_actions = knowledge.catalog.missing(observed_names)
    return AnnotationRun(out=out, meta=meta, done=tuple(done), unknown_actions=unknown_actions)


def estimate_annotation(
    settings: Settings,
    folder: Path,
    out: Path,
    *,
    replace_run: bool = False,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
    check: Callable[[Sequence[ModelSpec]], object] = lambda _: None,
) -> Estimate:
    """Estimate what an annotation would ask of its endpoint. Sends and writes nothing.

    The prompts of some dialogues are counted. Without finished dialogues, each answer counts as
    long as its limit, or as `MOST_TOKENS` without one.

    Raises:
        SettingsError: If something cannot work.
    """
    knowledge = load_tools(settings.tool_catalog, folder)
    annotation, model = settings.annotation, settings.llm.choose()
    selection = Selection(start=annotation.start_index, most=annotation.annotated_max_dialogues_num)
    work = out.with_name(f"{out.name}.work")
    identity = _identity(settings, knowledge, folder / settings.dialogues.file)
    done = set() if replace_run else read_finished(work, identity)
    chosen = {i: d for i, d in enumerate(_read(settings, folder)) if i in selection}
    missing = [dialogue for index, dialogue in chosen.items() if index not in done]
    check([model] if missing else [])
    sample = missing[:: max(1, len(missing) // SAMPLE)][:SAMPLE]
    demand = Demand()
    for dialogue in sample:
        size, turns = settings.turns_a_request, dialogue.turns
        for group in (turns[begin : begin + size] for begin in range(0, len(turns), size)):
            prompt = estimate_prompt(make_messages(settings, knowledge.catalog, dialogue, group))
            most = settings.llm.max_tokens or MOST_TOKENS
            demand.add(Demand(requests=1, prompt=prompt, completion=most, most=most))
    name = (model.name, model.endpoint or "", ASKED)
    return project(
        {name: demand.scale(1 / len(sample))} if sample else {},
        work,
        [model],
        missing=len(missing),
        finished=len(chosen) - len(missing),
        sampled=len(sample),
        limits=limits,
        prices=prices,
        noun="dialogues",
        source="whose answers are as long as their limit",
    )


def output_path(settings: Settings, folder: Path) -> Path:
    """The default output: next to the dialogues, with the suffix."""
    name = Path(settings.dialogues.file).name.removesuffix(".gz")
    stem = name.removesuffix(".jsonl").removesuffix(".json")
    source = folder / settings.dialogues.file
    return source.with_name(f"{stem}{settings.output.output_suffix}.jsonl.gz")


def _oracle(
    settings: Settings, knowledge: Knowledge, api_key: str, on_event: Callable[[str], None]
) -> Oracle:
    if settings.annotation.oracle == "rules":
        if not knowledge.ontology.workflows:
            raise SettingsError(
                "the rule oracle goes by workflows: give tool_catalog.ontology beside the catalog, "
                "or a domain, or ABCD's files"
            )
        return RuleOracle(knowledge)
    model = settings.llm.connect(api_key, retries=settings.annotation.tries - 1)
    return LlmOracle(model, settings, knowledge, on_event=on_event)


def _read(settings: Settings, folder: Path) -> Iterator[Dialogue]:
    source, tools = settings.dialogues, settings.tool_catalog
    path = folder / source.file
    if is_abcd_shape(path):
        slots = None
        if tools.abcd is not None:
            slots = read_ontology(folder / tools.abcd.folder / "ontology.json")
        yield from read_abcd(path, ontology=slots, wording=source.wording, splits=source.splits)
        return
    splits = set()
    for dialogue in read_jsonl(path):
        splits.add(dialogue.split)
        if source.splits is None or dialogue.split in source.splits:
            yield dialogue
    for split in source.splits or ():
        check_known(f"split of {path.name}", split, splits)


def _identity(settings: Settings, knowledge: Knowledge, source: Path) -> dict[str, Any]:
    """The identity of an annotation, without its speed and selection."""
    catalog = knowledge.catalog
    common = {
        "oracle": settings.annotation.oracle,
        "note": NOTES[settings.annotation.oracle],
        "version": __version__,
        "dialogues": {
            "file": source.name,
            "sha256": sha256(read_bytes(source)).hexdigest(),
            "splits": settings.dialogues.splits,
            "wording": settings.dialogues.wording,
        },
        "tools": {
            "name": catalog.catalog_metadata.name,
            "actions": len(catalog.actions),
            "sha256": sha256(catalog.text().encode()).hexdigest(),
        },
    }
    if settings.annotation.oracle == "rules":
        workflows = msgspec.json.encode(knowledge.ontology)
        return common | {"workflows": {"sha256": sha256(workflows).hexdigest()}}
    return common | {
        "llm": settings.llm.about() | {"seed": settings.llm.seed},
        "turns_a_request": settings.turns_a_request,
        "validate_output": settings.annotation.validate_output,
        "tries": settings.annotation.tries,
        "prompts": settings.prompts,
    }


def _about(identity: dict[str, Any], done: list[Entry]) -> dict[str, Any]:
    """The metadata of an annotation, without times and paths, so that files can be compared."""
    failed = [entry for entry in done if entry.failure is not None]
    usage = sum_usage(entry.usage for entry in done if entry.usage is not None)
    return {
        **identity,
        "n_dialogues": len(done) - len(failed),
        "n_failed": len(failed),
        "n_requests": sum(entry.requests for entry in done),
        "n_repairs": sum(entry.repairs for entry in done),
        **({} if usage is None else {"usage": msgspec.to_builtins(usage)}),
        "failed": [
            {"index": entry.index, "id": entry.id, "error": entry.error} for entry in failed
        ],
    }


def _write(out: Path, log: WorkLog, settings: Settings) -> None:
    # The temporary name keeps the ending, which says whether the file is packed.
    partial = out.with_name(f"part-{out.name}")
    write_jsonl(partial, dialogues(log))
    partial.replace(out)
    if settings.output.save_individual_turns:
        turns = _sibling(out, ".turns.jsonl.gz" if out.suffix == ".gz" else ".turns.jsonl")
        write_lines(turns, (line for dialogue in dialogues(log) for line in _turn_lines(dialogue)))


def _turn_lines(dialogue: Dialogue) -> Iterator[bytes]:
    """Each turn in the format of Figure 9, with its dialogue."""
    for turn in dialogue.turns:
        opportunities = write_opportunities(dialogue.references.get(turn.number, ()))
        yield msgspec.json.encode(
            {
                "dialogue": dialogue.id,
                "dialogue_turn": turn.number,
                "speaker": turn.speaker,
                "text": turn.text,
                "proactive_annotations": [{"action_opportunity": o} for o in opportunities],
            }
        )


def _sibling(out: Path, ending: str) -> Path:
    return out.with_name(out.name.removesuffix(".gz").removesuffix(".jsonl") + ending)
