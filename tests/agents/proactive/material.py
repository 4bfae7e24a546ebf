"""A catalog, agents without YAML, and conversations played for tests."""

import json
from collections.abc import Collection, Sequence
from functools import partial
from typing import Any

from tests.environments.dialogue.material import one
from timeful.agents.connection import Interface
from timeful.agents.proactive.agent import proactive
from timeful.agents.proactive.settings import AgentFile, Prompts
from timeful.catalogs.catalog import Catalog, catalog_of
from timeful.core.clock import Clock, VirtualClock
from timeful.dialogues.dialogue import Dialogue
from timeful.dialogues.opportunity import Opportunity, write_opportunities
from timeful.environments.dialogue.timing import Timing
from timeful.environments.dialogue.world import Conversation
from timeful.interfaces.event_driven import EventDriven
from timeful.metrics.proactor.episodes import Conversed, read_conversation
from timeful.models.model import Model
from timeful.records.events import EpisodeFailed, Noted
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode

PARAMETERS = [{"name": "who", "type": "string", "required": True}]
CATALOG: Catalog = catalog_of(
    {
        "catalog_metadata": {"name": "toy"},
        "custom_agents": [
            {"name": name, "description": f"Can {name}.", "parameters": PARAMETERS}
            for name in ("open", "pay", "send")
        ],
    },
    "toy",
)


def agent_file(*, reasons: bool = False, tracks: bool = False, **more: Any) -> AgentFile:
    states = " STATES {action_states}" if tracks else ""
    prompts = Prompts(
        system_prompt="TOOLS {tool_catalog} ANSWER {{}}",
        task_prompt="SO FAR {dialogue_context}" + states,
    )
    return AgentFile(
        name="toy", reasons=reasons, action_prompts=prompts, question_prompts=prompts, **more
    )


def actions(*opportunities: Opportunity) -> str:
    return json.dumps({"proactive_action_opportunities": write_opportunities(opportunities)})


def questions(*asked: str) -> str:
    return json.dumps({"raised_questions": asked})


PAY = actions(one("pay", "ready_to_trigger", "Ada"))


AT_ONCE: Interface = partial(EventDriven, full=True)


class Played:
    """A conversation with an agent in it, and what its record says."""

    def __init__(
        self,
        model: Model,
        dialogue: Dialogue,
        timing: Timing,
        *,
        interface: Interface = AT_ONCE,
        clock: Clock | None = None,
        recorder: Recorder | None = None,
        actions: Collection[str] = tuple(CATALOG.actions),
        **agent: Any,
    ) -> None:
        self.recorder = recorder or Recorder()
        self.world = Conversation(dialogue, timing, seed=1, actions=actions)
        settings = {"file": agent_file(), "catalog": CATALOG} | agent
        play_episode(
            EpisodeSetting(settings={"played": "for a test"}, seed=4),
            environment=self.world,
            interface=interface,
            agent=partial(proactive, model=model, **settings),
            clock=clock or VirtualClock(),
            recorder=self.recorder,
        )
        self.events = self.recorder.events
        self.failed = [e for e in self.events if isinstance(e, EpisodeFailed)]
        self.notes = [(e.topic, e.text) for e in self.events if isinstance(e, Noted)]

    @property
    def conversed(self) -> Conversed:
        found = read_conversation(self.events)
        assert found is not None
        return found

    @property
    def said(self) -> dict[int, list[str]]:
        """The names that stand for each turn; none where it is lost."""
        return {
            turn.turn: [each.name for each in turn.predictions]
            for turn in self.conversed.turns
            if turn.turn not in self.conversed.lost
        }


def topics(notes: Sequence[tuple[str, str]]) -> list[str]:
    return [topic for topic, _ in notes]
