"""Which world can have which interface, and why not.

Suites ask before anything runs; `docs/interfaces.md` shows the same table, and a test plays
every pair that is possible.
"""

from collections.abc import Collection

from timeful.errors import SettingsError, check_known

LAWS = {
    "event-driven": "event_driven",
    "loop": "loop",
    "polling": "polling",
    "reflex": "reflex",
    "fixed-rate": "fixed_rate",
    "frozen": "frozen",
}
"""The interfaces by name, and the file of each."""

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
"""The worlds; a module is an agent of its own (`timeful.runs.module`)."""

IMPOSSIBLE = {
    ("deliberation", "reflex"): "all there is to react to is known from the start",
    ("inbox", "fixed-rate"): "emails come when they come, and not at ticks",
    ("inbox", "frozen"): "a world that waits for the agent brings no email while it writes",
    ("kitchen", "frozen"): "a world that waits for the agent cooks nothing while it tutors",
    ("task", "fixed-rate"): "a reply comes when its tool is done, and not at ticks",
    ("task", "frozen"): "a world that waits for the agent sets it no deadline while it thinks",
    ("module", "frozen"): "others live in it, and wait for nobody",
}
"""The pairs that make no sense, and why."""


def check_fits(world: str, law: str, *, among: Collection[str] = tuple(LAWS)) -> None:
    """Refuse an interface that is unknown, or that a world cannot have.

    Args:
        world: One of `WORLDS`.
        law: The interface.
        among: The interfaces there are, for a suite that has not all of them.

    Raises:
        SettingsError: It says why, and which there are.
    """
    check_known("world", world, WORLDS)
    fitting = [name for name in among if (world, name) not in IMPOSSIBLE]
    why = IMPOSSIBLE.get((world, law))
    if why is not None:
        raise SettingsError(
            f"{world} cannot have the interface {law!r}: {why}; it can have {', '.join(fitting)}"
        )
    check_known("interface", law, fitting)
