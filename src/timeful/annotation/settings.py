"""The settings of an annotation: a YAML file with the fields of ProActor's Figure 9, and ours.

    llm: {model: gpt-4o-mini, temperature: 0.1, max_tokens: 4000,
          base_url: "https://...", api_key_name: OPENAI_API_KEY}
    dialogues: {file: talks.jsonl}                      # or ABCD's shape: .json, .json.gz
    tool_catalog: {use_common_tools: true, custom_tools: {}, catalog: catalog.json}
    annotation: {oracle: llm, batch_size: 5, validate_output: true, retry_on_failure: true,
                 max_retries: 3, max_workers: 4, start_index: 0,
                 annotated_max_dialogues_num: 100}
    output: {output_suffix: _annotated, pretty_print: true, save_individual_turns: false}
    prompts: {system_prompt: ..., task_prompt: ...}     # ours by default
    logging: {level: INFO, log_file: annotation.log, log_to_console: true}

Paths start at the folder of the file. There is no field for a key: it comes from the environment,
under the name that `api_key_name` says.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from timeful.annotation import prompts
from timeful.catalogs.abcd import AbcdSource
from timeful.catalogs.ontology import ActionType
from timeful.catalogs.reading import convert, read_data
from timeful.dialogues.abcd import Wording
from timeful.errors import SettingsError
from timeful.models.endpoint import Endpoint
from timeful.models.templates import check_template, names_in

AtLeast0 = Annotated[int, msgspec.Meta(ge=0)]
AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


class Llm(Endpoint, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The endpoint that annotates: `models.endpoint` has the rest of its fields.

    Attributes:
        seed: The seed of all requests.
    """

    seed: int = 0


class Conversations(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is annotated.

    Attributes:
        file: A file of dialogues, JSONL or ABCD's shape, packed with gzip or not.
        splits: The splits that are annotated; all if null.
        wording: Which words of ABCD's shape are shown.
    """

    file: str = ""
    splits: tuple[str, ...] | None = None
    wording: Wording = "original"


class ToolCatalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The actions, and the workflows where the rule oracle needs them.

    Attributes:
        use_common_tools: Whether those of `catalog`, `domain` or `abcd` are used.
        custom_tools: More of them, or all, as a type specification.
        catalog: A catalog, as `timeful catalog make` writes it.
        ontology: The workflows that go with `catalog`.
        domain: A domain instead of a catalog: shop, loan or a folder.
        abcd: ABCD's files instead of a catalog.
    """

    use_common_tools: bool = True
    custom_tools: dict[str, ActionType] = {}
    catalog: str = ""
    ontology: str = ""
    domain: str = ""
    abcd: AbcdSource | None = None

    def __post_init__(self) -> None:
        given = [one for one in ("catalog", "domain", "abcd") if getattr(self, one)]
        if self.use_common_tools and len(given) > 1:
            raise ValueError(f"the tools come from one of {', '.join(given)}, not from all")
        if not (self.use_common_tools and given) and not self.custom_tools:
            raise ValueError("there are no tools: give catalog, domain, abcd or custom_tools")


class Annotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How it is annotated.

    Attributes:
        oracle: An endpoint (llm), or hindsight by rule (rules), which asks nobody.
        batch_size: How many turns one request is about. A prompt of one's own that does not say
            `{turns}` can only be about one.
        validate_output: Whether an answer is checked against the catalog, beyond its form.
        retry_on_failure: Whether what cannot be used is asked for again.
        max_retries: How often at most.
        max_workers: How many dialogues are annotated side by side.
        start_index: The first dialogue that is annotated, from 0.
        annotated_max_dialogues_num: How many are annotated at most.
    """

    oracle: Literal["llm", "rules"] = "llm"
    batch_size: AtLeast1 = 5
    validate_output: bool = True
    retry_on_failure: bool = True
    max_retries: AtLeast0 = 3
    max_workers: AtLeast1 = 4
    start_index: AtLeast0 = 0
    annotated_max_dialogues_num: AtLeast1 | None = None

    @property
    def tries(self) -> int:
        """How often a request is made at most."""
        return 1 + self.max_retries if self.retry_on_failure else 1


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is written.

    Attributes:
        output_suffix: Put behind the name of the dialogues where no name is given.
        pretty_print: Whether the file about the annotation is indented.
        save_individual_turns: Whether a file with a line for each turn is written as well.
    """

    output_suffix: str = "_annotated"
    pretty_print: bool = True
    save_individual_turns: bool = False


class Prompts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model is told. The task may say `prompts.NAMES`, and says what to annotate."""

    system_prompt: str = prompts.SYSTEM
    task_prompt: str = prompts.TASK

    def __post_init__(self) -> None:
        try:
            check_template("task_prompt", self.task_prompt, prompts.NAMES)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        if not names_in(self.task_prompt) & {"turns", "turn_number"}:
            raise ValueError("task_prompt must say {turns} or {turn_number}, what is annotated")


class Logging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A log for who operates it; progress is shown without."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_file: str | None = None
    log_to_console: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it."""

    dialogues: Conversations = Conversations()
    tool_catalog: ToolCatalog
    llm: Llm = Llm()
    annotation: Annotation = Annotation()
    output: Output = Output()
    prompts: Prompts = Prompts()
    logging: Logging = Logging()

    @property
    def turns_a_request(self) -> int:
        """How many turns one request is about."""
        return self.annotation.batch_size if "turns" in names_in(self.prompts.task_prompt) else 1


def read_settings(path: Path, overrides: Mapping[str, object], *, base_url: str = "") -> Settings:
    """Read the file.

    Args:
        path: The YAML file.
        overrides: Values that win over the file's, by `section.field`; None wins over nothing.
        base_url: Where the API begins if neither says so.

    Raises:
        SettingsError: If it cannot be read or a field is wrong; the message names the field.
    """
    data = read_data(path)
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: there must be sections, such as tool_catalog")
    for name, value in overrides.items():
        section, _, field = name.partition(".")
        if value is not None:
            # A section that is no mapping is refused with its name below.
            there = data.get(section) or {}
            data[section] = {**there, field: value} if isinstance(there, dict) else there
    settings = convert(data, Settings, str(path))
    if not settings.llm.base_url:
        llm = msgspec.structs.replace(settings.llm, base_url=base_url)
        settings = msgspec.structs.replace(settings, llm=llm)
    if not settings.dialogues.file:
        raise SettingsError(f"{path}: dialogues.file: there is none; or give --dialogues")
    if settings.annotation.oracle == "llm":
        for field in ("model", "base_url"):
            if not getattr(settings.llm, field):
                option = f"--{field.replace('_', '-')}"
                raise SettingsError(
                    f"{path}: llm.{field}: there is none; give {option}, or annotate without a "
                    "model with --oracle rules"
                )
    return settings
