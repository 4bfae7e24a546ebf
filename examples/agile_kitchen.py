"""AgileThinker in the kitchen: one thread plans without pause, the other finishes dishes in time.

The agent is the one that plays Freeway; only its playbook is the kitchen's. Rules stand in for
both models, and are asked with the same prompts as language models would be.
"""

from functools import partial

from timeful.agents.agile import agile
from timeful.agents.playbook import playbook
from timeful.agents.prompts.kitchen import NAMES
from timeful.core.clock import VirtualClock
from timeful.environments.kitchen.cases import multi_dish_case
from timeful.environments.kitchen.policy import decide
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.interfaces.event_driven import EventDriven
from timeful.interfaces.fixed_rate import FixedRate
from timeful.models.pace import tokens
from timeful.models.rules import Answer, RuleModel
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, play_episode
from timeful.seeding import child

WORDS = {element: word for word, element in NAMES.items()}


def plan(view, rng):
    urgent = [dish.name for dish in view.dishes if dish.is_critical]
    return Answer(f"Watch {' and '.join(urgent)}. \\boxed{{WAIT}}", 30)


def react(view, rng):
    return Answer(f"\\boxed{{{WORDS[str(decide(view, view.at))]}}}", 12)


def cook(name, interface):
    case = multi_dish_case(family="resume_pressure", dishes=3, problems=2, stoves=1, seed=7)
    recorder = Recorder()
    play_episode(
        EpisodeSetting(settings={"case": case.name}, seed=0),
        environment=Kitchen(case, KitchenSettings(writes_itself=True), child(7, "jitter")),
        interface=interface,
        agent=partial(
            agile,
            planner=RuleModel(plan, name="planner"),
            reactor=RuleModel(react, name="reactor"),
            playbook=playbook("kitchen"),
            reserve=tokens(12),
        ),
        clock=VirtualClock(),
        recorder=recorder,
    )
    seen = [event for event in recorder.events if getattr(event, "what", "") == "finished"]
    in_time = sum(event.data["quality"] for event in seen)
    score = recorder.events[-2].score
    print(f"{name}: {in_time} of {len(seen)} dishes in time, utility {score:.2f}")


cook("a tick every 16 tokens", partial(FixedRate, period=tokens(16), full=False))
cook("a tick every 64 tokens", partial(FixedRate, period=tokens(64), full=False))
cook("event-driven", partial(EventDriven, full=False))

# It prints:
# > a tick every 16 tokens: 2 of 3 dishes in time, utility 10.62
# > a tick every 64 tokens: 1 of 3 dishes in time, utility 4.25
# > event-driven: 2 of 3 dishes in time, utility 10.04
