"""An agent as one YAML file: model, catalog, prompts and graph (ProActor, Figures 13 to 15).

    name: reasoning
    llm: {model: gpt-4.1-mini, temperature: 0.1, max_tokens: 4096}
    tool_catalog: {domain: shop}
    reasons: true
    action_prompts: {system_prompt: ..., task_prompt: ...}
    question_prompts: {system_prompt: ..., task_prompt: ...}

The package has three: `non-reasoning`, `reasoning` and `reasoning-asg`. Prompts contain the fields
`{tool_catalog}`, `{dialogue_context}` and, to track states, `{action_states}`.
"""

from importlib.resources import as_file, files
from pathlib import Path

import msgspec

from timeful.agents.proactive.states import ALL
from timeful.catalogs.reading import read_as
from timeful.dialogues.opportunity import Status
from timeful.errors import SettingsError, nearest
from timeful.models.endpoint import Endpoint
from timeful.models.templates import check_template, names_in

CONTEXT = "dialogue_context"
TOOLS = "tool_catalog"
STATES = "action_states"

ALIASES = {"asg": "reasoning-asg"}
"""The short names of bundled agents."""


class ToolCatalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The default source of the actions: a domain, or the file of a catalog.

    Paths are relative to the folder of the agent file.
    """

    domain: str = ""
    catalog: str = ""

    def __post_init__(self) -> None:
        if self.domain and self.catalog:
            raise ValueError("the actions come from a domain or from a catalog, not from both")


class Prompts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The messages to the model."""

    system_prompt: str
    task_prompt: str


class AgentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent.

    Attributes:
        name: A descriptive name; tables use the name of the file.
        llm: The model; with a base_url it is the default of a run.
        tool_catalog: The actions.
        reasons: Whether answers have tags for reasoning and for the result.
        transitions: The action state graph: the statuses that may follow each status. The default
            connects all; a missing status has no successor.
        action_prompts: The prompts for opportunities.
        question_prompts: The prompts for questions; without them there are none. States are
            tracked if any of these prompts contains `{action_states}`.
    """

    name: str
    llm: Endpoint = Endpoint()
    tool_catalog: ToolCatalog = ToolCatalog()
    reasons: bool = False
    transitions: dict[Status, tuple[Status, ...]] = msgspec.field(default_factory=lambda: dict(ALL))
    action_prompts: Prompts
    question_prompts: Prompts | None = None

    def __post_init__(self) -> None:
        for kind in ("action_prompts", "question_prompts"):
            prompts: Prompts | None = getattr(self, kind)
            if prompts is None:
                continue
            texts = (prompts.system_prompt, prompts.task_prompt)
            for text in texts:
                try:
                    check_template(kind, text, (CONTEXT, TOOLS, STATES))
                except SettingsError as error:
                    raise ValueError(str(error)) from None
            if CONTEXT not in _names(prompts):
                raise ValueError(f"{kind} must contain {{{CONTEXT}}}")
        if TOOLS not in _names(self.action_prompts):
            raise ValueError(f"action_prompts must contain {{{TOOLS}}}")

    @property
    def tracks(self) -> bool:
        """Whether any prompt contains the action states."""
        requests = (self.action_prompts, self.question_prompts)
        return any(prompts is not None and STATES in _names(prompts) for prompts in requests)


def _names(prompts: Prompts) -> frozenset[str]:
    return names_in(prompts.system_prompt) | names_in(prompts.task_prompt)


def agent_names() -> tuple[str, ...]:
    """The names of the bundled agents."""
    folder = files("timeful.agents.proactive") / "bundled"
    return tuple(sorted(path.name.removesuffix(".yaml") for path in folder.iterdir()))


def load_agent(name: str | Path) -> AgentFile:
    """Load an agent.

    Args:
        name: One of `agent_names()`, or the path of a YAML (or JSON) file.

    Raises:
        SettingsError: If the agent is unknown or its file is invalid, or if the extra `proactor`
            is not installed.
    """
    if str(name) in agent_names():
        with as_file(files("timeful.agents.proactive") / "bundled" / f"{name}.yaml") as path:
            return read_as(path, AgentFile)
    if not Path(name).is_file():
        raise SettingsError(
            f"unknown agent {str(name)!r}, and no file of this name; "
            f"{nearest(str(name), (*agent_names(), *ALIASES))}"
        )
    return read_as(Path(name), AgentFile)
