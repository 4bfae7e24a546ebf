"""The agents of a run by their files: who speaks for each, and which actions they know.

| a run says | an agent of the package | a file of one's own |
| --- | --- | --- |
| nothing | the stand-in | its model, if its file says where that is; else the stand-in |
| an address | the stand-in | its model at that address |
| a model and an address | that model | that model there |
| a model | none, it has no address | that model, where its file says |
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from timeful.agents.proactive.settings import AgentFile, ToolCatalog, agent_names, load_agent
from timeful.domains.library import domain_from
from timeful.errors import SettingsError
from timeful.models.chat import OpenAIModel
from timeful.models.endpoint import Endpoint
from timeful.models.model import Model
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import Pace
from timeful.models.recording import RecordingModel
from timeful.models.role import ModelRole


@lru_cache(maxsize=16)
def agent_file(name: str) -> AgentFile:
    """An agent of the package by its name, or a file.

    Raises:
        SettingsError: If there is none, or it is wrong.
    """
    return load_agent(name)


def digests(agents: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A name for what each agent's file says."""
    found = ((name, msgspec.json.encode(load_agent(name), order="sorted")) for name in agents)
    return tuple((name, sha256(text).hexdigest()[:16]) for name, text in found)


def endpoints(
    agents: Iterable[str],
    *,
    model: str = "",
    base_url: str | None = None,
    temperature: float | None = None,
    record: str | None = None,
) -> dict[str, ModelRole]:
    """The agents for which the model of their own file speaks.

    Args:
        agents: Agents of the package, or files.
        model: The name of the model that is asked, in place of what the files say.
        base_url: Where all of these models are, in place of what the files say.
        temperature: The sampling temperature, in place of what the files say.
        record: The cassette that their answers are recorded to.

    Raises:
        SettingsError: If a file says where its model is and not which, or cannot be read.
    """
    found = {}
    for agent in agents:
        llm, where = agent_file(agent).llm, base_url or agent_file(agent).llm.base_url
        if agent in agent_names() or not where:
            continue
        if not (model or llm.model):
            raise SettingsError(f"{agent}: llm.model: there is none, though there is a base_url")
        choice = ModelSpec(
            spec=f"openai:{model or llm.model_name}",
            base_url=where,
            temperature=llm.temperature if temperature is None else temperature,
            record=record,
        )
        found[agent] = ModelRole(stand_in="rules", choice=choice)
    return found


def key_names(agents: Iterable[str]) -> set[str]:
    """The environment variables that hold the keys of agents."""
    return {agent_file(agent).llm.api_key_name for agent in agents}


def connect(
    agent: str, choice: ModelSpec, *, pace: Pace | None, scope: str, keys: Mapping[str, str]
) -> Model:
    """The model of an agent's own file, ready.

    Args:
        agent: Whose.
        choice: What `endpoints` said of it.
        pace: What a token costs; None if a wall clock tells.
        scope: Whose requests a cassette holds.
        keys: Keys by the names that files have for them.
    """
    llm: Endpoint = msgspec.structs.replace(
        agent_file(agent).llm,
        model=choice.spec.partition(":")[2],
        using_short_model_name=False,
        base_url=choice.base_url,
        temperature=choice.temperature,
    )
    model = _ready(llm.connect(keys.get(llm.api_key_name, ""), retries=2, pace=pace))
    if choice.record is None:
        return model
    return RecordingModel(model, Path(choice.record), scope=scope)


@lru_cache(maxsize=16)
def _ready(model: OpenAIModel) -> OpenAIModel:
    """One of all models that are equal, so that episodes share its thread and connections."""
    model.warm_up()
    return model


def tools_of(agents: Iterable[str]) -> ToolCatalog:
    """The one domain or catalog that the files of agents name; those of the package take any.

    Returns:
        It, its path complete; empty if no file names one.

    Raises:
        SettingsError: If they name several: what is heard in a run is about one domain.
    """
    named = {agent: _tools(agent) for agent in agents if agent not in agent_names()}
    told = {agent: tools for agent, tools in named.items() if tools != ToolCatalog()}
    if len(set(told.values())) > 1:
        each = ", ".join(f"{agent}: {one.catalog or one.domain}" for agent, one in told.items())
        raise SettingsError(
            f"the agents' files name several catalogs ({each}); give --domain or --catalog"
        )
    return next(iter(told.values()), ToolCatalog())


def _tools(agent: str) -> ToolCatalog:
    said, folder = agent_file(agent).tool_catalog, Path(agent).parent
    return ToolCatalog(
        domain=str(domain_from(said.domain, folder)) if said.domain else "",
        catalog=str(folder / said.catalog) if said.catalog else "",
    )
