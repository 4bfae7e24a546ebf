"""The built-in worlds of events by name: `timeful.play(agent, "inbox", interface="loop")`.

Each function makes one episode's world from a seed, at the settings of the papers. The games are
made by `registry.py`, dialogues by `timeful.domains.dialogue_set`.
"""

from typing import Literal

from timeful.core.units import seconds
from timeful.environments.deliberation.settings import SEQUENTIAL
from timeful.environments.deliberation.world import Deliberation
from timeful.environments.fiction.library import open_game
from timeful.environments.fiction.task import FictionTask
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.task import Decomposition, draw_task
from timeful.environments.inbox.world import Inbox
from timeful.environments.kitchen.cases import CASE_FAMILIES, multi_dish_case
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.environments.patrol.settings import DEPTH_2, DEPTH_3, MODULE
from timeful.environments.patrol.world import Patrol
from timeful.environments.timed.latency import read_latency
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import check_known, check_range
from timeful.seeding import child, child_seed

Handling = Literal["module", "depth-2", "depth-3"]
_PATROLS = {"module": MODULE, "depth-2": DEPTH_2, "depth-3": DEPTH_3}


def make_inbox(*, seed: int = 0, decomposition: Decomposition = "single") -> Inbox:
    """Make an inbox of 90 s: a document to write, and emails with deadlines (EP, 5.2.1).

    Args:
        seed: The seed of the emails and of the document.
        decomposition: "single" for one part of the document, "milestones" for four.
    """
    settings = InboxSettings()
    rng = child(seed, "inbox", "task", decomposition)
    task = draw_task(decomposition, target=settings.scoring.target, rng=rng)
    return Inbox(settings, draw_mail(settings, child(seed, "inbox", "mail")), task.units)


def make_kitchen(
    *,
    seed: int = 0,
    family: str = "resume_pressure",
    dishes: int = 3,
    problems: int = 2,
    stoves: int = 1,
) -> Kitchen:
    """Make a kitchen with tutoring (EP, 5.2.2 and appendix E).

    Args:
        seed: The seed of the case and of the jitter of signals.
        family: `resume_pressure`, `soft_vs_critical_conflict` or `staggered_criticals`.
        dishes: The number of dishes, at least 3.
        problems: The number of tutoring problems, at least 2.
        stoves: The number of slots on the stove, at least 1.

    Raises:
        SettingsError: If the family is unknown or a number is too small.
    """
    check_known("case family", family, CASE_FAMILIES)
    check_range("the number of dishes", dishes, least=3)
    check_range("the number of problems", problems, least=2)
    check_range("the number of stoves", stoves, least=1)
    case = multi_dish_case(
        family=family, dishes=dishes, problems=problems, stoves=stoves, seed=seed
    )
    return Kitchen(case, KitchenSettings(), child(seed, "kitchen", case.name, "jitter"))


def make_patrol(*, seed: int = 0, handling: Handling = "depth-2") -> Patrol:
    """Make a patrol with alarms (EP, 5.1.2, Tables 12 and 13).

    Args:
        seed: The seed of the alarms.
        handling: The phases of handling a checkpoint: `module`, `depth-2` or `depth-3`.

    Raises:
        SettingsError: If there is no such handling.
    """
    check_known("handling", handling, tuple(_PATROLS))
    return Patrol(_PATROLS[handling], child(seed, "patrol"))


def make_deliberation(*, seed: int = 0) -> Deliberation:
    """Make ten tasks whose deadlines follow each other (EP, 5.1.1, Table 7)."""
    return Deliberation(SEQUENTIAL, child(seed, "deliberation"))


def make_fiction(
    *, seed: int = 0, game: str = "skerry", budget_s: float = 300.0, latency: str = "none"
) -> TimedTask:
    """Make a text adventure with tools under a time budget (Timely Machine, A.1.2).

    Args:
        seed: The seed of the game and of latencies.
        game: The game: `skerry`, `adventure`, or a story that the extra `timely` can open.
        budget_s: The time until the deadline in s, above 0.
        latency: The latency of its tools, such as `2s`.

    Raises:
        SettingsError: If there is no such game or latency, or the budget is not above 0.
    """
    time = TimeSettings(budget=seconds(budget_s), latency=read_latency(latency))
    task = FictionTask(open_game(game, seed=child_seed(seed, "game", game)))
    return TimedTask(task, time, seed=child_seed(seed, "time"))
