"""AgileThinker in the kitchen: one thread plans without pause, the other finishes dishes in time.

The agent is the one that plays Freeway; only its prompt kit is the kitchen's. Rules stand in for
both models, and are asked with the same prompts as language models would be.
"""

from functools import partial

from timeful.agents.agile import agile
from timeful.agents.prompt_kit import prompt_kit
from timeful.agents.prompts.kitchen import NAMES
from timeful.environments.kitchen.cases import multi_dish_case
from timeful.environments.kitchen.policy import decide
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.models.pace import tokens
from timeful.models.rules import Answer, RuleModel
from timeful.runs.play import play
from timeful.seeding import child

WORDS = {element: word for word, element in NAMES.items()}


def plan(view, rng):
    urgent = [dish.name for dish in view.dishes if dish.is_critical]
    return Answer(f"Watch {' and '.join(urgent)}. \\boxed{{WAIT}}", 30)


def react(view, rng):
    return Answer(f"\\boxed{{{WORDS[str(decide(view, view.at))]}}}", 12)


def cook(name, interface):
    case = multi_dish_case(family="resume_pressure", dishes=3, problems=2, stoves=1, seed=7)
    agent = partial(
        agile,
        planner=RuleModel(plan, name="planner"),
        reactor=RuleModel(react, name="reactor"),
        prompts=prompt_kit("kitchen"),
        reserve=tokens(12),
    )
    world = Kitchen(case, KitchenSettings(writes_itself=True), child(7, "jitter"))
    episode = play(agent, world, interface=interface)
    dishes = [event for event in episode.events if getattr(event, "what", "") == "finished"]
    in_time = sum(event.data["quality"] for event in dishes)
    print(f"{name}: {in_time} of {len(dishes)} dishes in time, utility {episode.score:.2f}")


cook("a tick every 16 tokens", "fixed-rate:16tokens")
cook("a tick every 64 tokens", "fixed-rate:64tokens")
cook("event-driven", "event-driven")

# It prints:
# > a tick every 16 tokens: 2 of 3 dishes in time, utility 10.62
# > a tick every 64 tokens: 1 of 3 dishes in time, utility 4.25
# > event-driven: 2 of 3 dishes in time, utility 10.04
