"""An agent as one YAML file: model, catalog, prompts and graph (ProActor, Figures 13 to 15).

    name: reasoning
    llm: {model: gpt-4.1-mini, temperature: 0.1, max_tokens: 4096}
    tool_catalog: {domain: shop}
    reasons: true
    action_prompts: {system_prompt: ..., task_prompt: ...}
    question_prompts: {system_prompt: ..., task_prompt: ...}

Three lie in the package: `non-reasoning`, `reasoning` and `reasoning-asg`. Prompts say
`{tool_catalog}` and `{dialogue_context}`, and `{action_states}` where states are tracked.
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
"""What the agents in the package may be called for short."""


class ToolCatalog(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where the actions come from, unless a run says otherwise: a domain, or a catalog's file.

    Paths start at the folder of the agent's file.
    """

    domain: str = ""
    catalog: str = ""

    def __post_init__(self) -> None:
        if self.domain and self.catalog:
            raise ValueError("the actions come from a domain or from a catalog, not from both")


class Prompts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the model is told."""

    system_prompt: str
    task_prompt: str


class AgentFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An agent.

    Attributes:
        name: What it is, for who reads it; tables call it as its file is called.
        llm: Its model; where it has a base_url, that thinks unless a run says otherwise.
        tool_catalog: Its actions.
        reasons: Whether it thinks between tags before it answers between others.
        transitions: The action state graph, the statuses that may follow each; a status that is
            left out may be followed by none. Without it all are connected.
        action_prompts: How opportunities are asked for.
        question_prompts: How questions are asked for; none are raised without. States are tracked
            where any of these prompts says `{action_states}`.
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
                raise ValueError(f"{kind} must say {{{CONTEXT}}}, or nobody knows what was said")
        if TOOLS not in _names(self.action_prompts):
            raise ValueError(f"action_prompts must say {{{TOOLS}}}, or nobody knows the actions")

    @property
    def tracks(self) -> bool:
        """Whether it is shown the action states."""
        each = (self.action_prompts, self.question_prompts)
        return any(prompts is not None and STATES in _names(prompts) for prompts in each)


def _names(prompts: Prompts) -> frozenset[str]:
    return names_in(prompts.system_prompt) | names_in(prompts.task_prompt)


def agent_names() -> tuple[str, ...]:
    """The agents in the package."""
    folder = files("timeful.agents.proactive") / "bundled"
    return tuple(sorted(one.name.removesuffix(".yaml") for one in folder.iterdir()))


def load_agent(name: str | Path) -> AgentFile:
    """Load an agent.

    Args:
        name: One of `agent_names()`, or the path of a YAML (or JSON) file.

    Raises:
        SettingsError: If there is none, or it is wrong, with the entry and the field; or if the
            extra `proactor` is not installed.
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
