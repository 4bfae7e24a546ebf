"""The interfaces that make sense for a world, and the reasons for the others.

Suites check this before they run; `docs/interfaces.md` shows the same table, and a test plays every
possible pair.
"""

from collections.abc import Collection

from timeful.environments.environment import Environment
from timeful.environments.ticking import Ticking
from timeful.errors import SettingsError, check_known

INTERFACES = ("event-driven", "loop", "polling", "reflex", "fixed-rate", "frozen")
"""The names of the interfaces; the class of each is in a file of the same name."""

WORLDS = (
    "freeway",
    "snake",
    "overcooked",
    "deliberation",
    "patrol",
    "inbox",
    "kitchen",
    "task",
    "dialogue",
    "module",
)
"""The worlds; a module is an agent with a world of its own (`timeful.runs.module`)."""

IMPOSSIBLE = {
    ("deliberation", "reflex"): "all there is to react to is known from the start",
    ("inbox", "fixed-rate"): "emails come when they come, and not at ticks",
    ("inbox", "frozen"): "a world that waits for the agent brings no email while it writes",
    ("kitchen", "frozen"): "a world that waits for the agent cooks nothing while it tutors",
    ("task", "fixed-rate"): "a reply comes when its tool is done, and not at ticks",
    ("task", "frozen"): "a world that waits for the agent sets it no deadline while it thinks",
    ("module", "frozen"): "others live in it, and wait for nobody",
}
"""The pairs that make no sense, with the reasons."""

_NAMES = {
    "timeful.environments.deliberation.world.Deliberation": "deliberation",
    "timeful.environments.patrol.world.Patrol": "patrol",
    "timeful.environments.inbox.world.Inbox": "inbox",
    "timeful.environments.kitchen.world.Kitchen": "kitchen",
    "timeful.environments.timed.world.TimedTask": "task",
    "timeful.environments.dialogue.world.Conversation": "dialogue",
    "timeful.runs.module.Module": "module",
}


def world_name(environment: Environment) -> str:
    """The name of a built-in world, else the name of its class."""
    if isinstance(environment, Ticking):
        return environment.game.name
    kind = type(environment)
    return _NAMES.get(f"{kind.__module__}.{kind.__qualname__}", kind.__name__)


def check_fits(world: str, interface: str, *, among: Collection[str] = INTERFACES) -> None:
    """Refuse an interface that is unknown, or that a world cannot have.

    Args:
        world: One of `WORLDS`.
        interface: The name of the interface.
        among: The interfaces that a suite offers.

    Raises:
        SettingsError: If the interface does not fit; it gives the reason and those that fit.
    """
    check_known("world", world, WORLDS)
    fitting = [name for name in among if (world, name) not in IMPOSSIBLE]
    reason = IMPOSSIBLE.get((world, interface))
    if reason is not None:
        raise SettingsError(
            f"{world} cannot have the interface {interface!r}: {reason}; "
            f"it can have {', '.join(fitting)}"
        )
    check_known("interface", interface, fitting)
