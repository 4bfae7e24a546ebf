"""Settings of an annotation in YAML: the fields of ProActor's Figure 9, and further ones.

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

Paths are relative to the folder of the file. There is no field for a key: `api_key_name` names its
environment variable.
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
    """The dialogues to annotate.

    Attributes:
        file: A file of dialogues, JSONL or ABCD's shape, compressed with gzip or not.
        splits: The splits to annotate; all if null.
        wording: The text of ABCD's shape to use.
    """

    file: str = ""
    splits: tuple[str, ...] | None = None
    wording: Wording = "original"


class ToolCatalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The actions, and the workflows where the rule oracle needs them.

    Attributes:
        use_common_tools: Whether to use the actions of `catalog`, `domain` or `abcd`.
        custom_tools: Further actions, as a type specification.
        catalog: A catalog, written by `timeful catalog make`.
        ontology: The workflows of `catalog`.
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
        sources = [name for name in ("catalog", "domain", "abcd") if getattr(self, name)]
        if self.use_common_tools and len(sources) > 1:
            raise ValueError(f"the tools must come from one of {', '.join(sources)}")
        if not (self.use_common_tools and sources) and not self.custom_tools:
            raise ValueError("tools are required: set catalog, domain, abcd or custom_tools")


class Annotation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The oracle and its limits.

    Attributes:
        oracle: An endpoint (llm), or hindsight by rule (rules).
        batch_size: The number of turns per request; 1 for a custom prompt without `{turns}`.
        validate_output: Whether to check answers against the catalog.
        retry_on_failure: Whether to repeat a request after an invalid answer.
        max_retries: The maximum number of repetitions.
        max_workers: The number of concurrent dialogues.
        start_index: The first dialogue to annotate, from 0.
        annotated_max_dialogues_num: The maximum number of dialogues to annotate.
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
        """The maximum number of requests for an answer."""
        return 1 + self.max_retries if self.retry_on_failure else 1


class Output(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The output files.

    Attributes:
        output_suffix: The suffix of the default output name.
        pretty_print: Whether to indent the metadata file.
        save_individual_turns: Whether to write a file with a line for each turn.
    """

    output_suffix: str = "_annotated"
    pretty_print: bool = True
    save_individual_turns: bool = False


class Prompts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The prompts; the task may contain the fields `prompts.NAMES`."""

    system_prompt: str = prompts.SYSTEM
    task_prompt: str = prompts.TASK

    def __post_init__(self) -> None:
        try:
            check_template("task_prompt", self.task_prompt, prompts.NAMES)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        if not names_in(self.task_prompt) & {"turns", "turn_number"}:
            raise ValueError("task_prompt must contain {turns} or {turn_number}")


class Logging(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The log of events; progress does not need it."""

    level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    log_file: str | None = None
    log_to_console: bool = False


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings."""

    dialogues: Conversations = Conversations()
    tool_catalog: ToolCatalog
    llm: Llm = Llm()
    annotation: Annotation = Annotation()
    output: Output = Output()
    prompts: Prompts = Prompts()
    logging: Logging = Logging()

    @property
    def turns_a_request(self) -> int:
        """The number of turns per request."""
        return self.annotation.batch_size if "turns" in names_in(self.prompts.task_prompt) else 1


def read_settings(path: Path, overrides: Mapping[str, object], *, base_url: str = "") -> Settings:
    """Read the file.

    Args:
        path: The YAML file.
        overrides: Values that replace those of the file, by `section.field`; None keeps them.
        base_url: The default address of the API.

    Raises:
        SettingsError: If the file cannot be read or a field is wrong; names the field.
    """
    data = read_data(path)
    if not isinstance(data, dict):
        raise SettingsError(f"{path}: sections such as tool_catalog are required")
    for name, value in overrides.items():
        section, _, field = name.partition(".")
        if value is not None:
            # The conversion below refuses a section that is not a mapping.
            section_data = data.get(section) or {}
            data[section] = (
                {**section_data, field: value} if isinstance(section_data, dict) else section_data
            )
    settings = convert(data, Settings, str(path))
    if not settings.llm.base_url:
        llm = msgspec.structs.replace(settings.llm, base_url=base_url)
        settings = msgspec.structs.replace(settings, llm=llm)
    if not settings.dialogues.file:
        raise SettingsError(f"{path}: dialogues.file is required, or give --dialogues")
    if settings.annotation.oracle == "llm":
        for field, value in (("model", settings.llm.model), ("base_url", settings.llm.address)):
            if not value:
                option = f"--{field.replace('_', '-')}"
                raise SettingsError(
                    f"{path}: llm.{field} is required; give {option}, or annotate without a "
                    "model with --oracle rules"
                )
    return settings
