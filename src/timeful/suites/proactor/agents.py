"""The agents of a run by their files: their models and their catalogs.

| options | a built-in agent | an agent of a file |
| --- | --- | --- |
| none | the stand-in | its model, if its file has the address; else the stand-in |
| an address | the stand-in | its model at that address |
| a model and an address | that model | that model there |
| a model | an error, it has no address | that model, at the address in its file |
"""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from timeful.agents.proactive.settings import AgentFile, ToolCatalog, agent_names, load_agent
from timeful.domains.library import domain_from
from timeful.errors import SettingsError
from timeful.models.counting import Counting
from timeful.models.role import ModelRole


@lru_cache(maxsize=16)
def agent_file(name: str) -> AgentFile:
    """Load a built-in agent by its name, or from a file.

    Raises:
        SettingsError: If there is no such agent, or its file is wrong.
    """
    return load_agent(name)


def digest_agents(agents: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """A digest of the content of each agent's file, with the name of its key spelled out."""
    return tuple((name, _digest(load_agent(name))) for name in agents)


def _digest(file: AgentFile) -> str:
    llm = msgspec.structs.replace(file.llm, api_key_name=file.llm.key_name)
    text = msgspec.json.encode(msgspec.structs.replace(file, llm=llm), order="sorted")
    return sha256(text).hexdigest()[:16]


def find_endpoints(
    agents: Iterable[str],
    *,
    model: str = "",
    base_url: str | None = None,
    temperature: float | None = None,
    record: str | None = None,
    counting: Counting = "auto",
) -> dict[str, ModelRole]:
    """The agents that think with the model of their own file.

    Args:
        agents: Built-in agents, or files.
        model: The name of the model, in place of the files' names.
        base_url: The address of all of these models, in place of the files' addresses.
        temperature: The sampling temperature, in place of the files' temperatures.
        record: The cassette that records their answers.
        counting: How their tokens are counted in simulated time.

    Raises:
        SettingsError: If a file has an address and no model, or cannot be read.
    """
    roles = {}
    for agent in agents:
        llm = agent_file(agent).llm
        if agent in agent_names() or not (base_url or llm.address):
            continue
        if not (model or llm.model):
            raise SettingsError(f"{agent}: llm.model is missing, though there is a base_url")
        choice = llm.choose(
            model=model,
            base_url=base_url,
            temperature=temperature,
            record=record,
            counting=counting,
        )
        roles[agent] = ModelRole(stand_in="rules", choice=choice)
    return roles


def find_catalog(agents: Iterable[str]) -> ToolCatalog:
    """The domain or catalog that the files of agents name; built-in agents take any.

    Returns:
        It, its path complete; empty if no file names one.

    Raises:
        SettingsError: If they name several: the dialogues of a run have one domain.
    """
    catalogs = {agent: _catalog(agent) for agent in agents if agent not in agent_names()}
    choices = {agent: tools for agent, tools in catalogs.items() if tools != ToolCatalog()}
    if len(set(choices.values())) > 1:
        texts = ", ".join(f"{agent}: {t.catalog or t.domain}" for agent, t in choices.items())
        raise SettingsError(
            f"the agents' files name several catalogs ({texts}); give --domain or --catalog"
        )
    return next(iter(choices.values()), ToolCatalog())


def _catalog(agent: str) -> ToolCatalog:
    tools, folder = agent_file(agent).tool_catalog, Path(agent).parent
    return ToolCatalog(
        domain=str(domain_from(tools.domain, folder)) if tools.domain else "",
        catalog=str(folder / tools.catalog) if tools.catalog else "",
    )
