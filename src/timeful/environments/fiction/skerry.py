"""The Light on Skerry: a small game of our own, 100 points, won in some eighty moves.

A lighthouse has gone dark. To light it again one needs the keeper's keys, oil, a wick, the lens
that smugglers took, and the clockwork wound, in an order that has to be found out.
By its seed a game has another combination, and the wick lies in another of two places.
"""

from dataclasses import replace

from timeful.environments.fiction.skerry_places import FIXED, LOOSE, ROOMS
from timeful.environments.fiction.story import Deed, Story, Thing
from timeful.seeding import child

OPENING = """\
THE LIGHT ON SKERRY
The supply boat puts you ashore and turns back at once: there is weather coming. In the west a
convoy is making for the sound, and the light that should guide it has been dark for two nights.
Nobody has seen the keeper. Somebody has to get that lamp burning before the ships come in."""

ENDING = """\
The wick catches. The lens begins to turn, and a long white beam walks out over the water, once,
twice. Far out a ship's bell answers. You have won."""


def _deeds(wick_in_chest: bool) -> tuple[Deed, ...]:
    """What can be done; the wick is in the sea chest or in the crypt."""
    chest, niche = ("move wick cellar, ", "") if wick_in_chest else ("", "move wick crypt, ")
    under_lid = "a new wick" if wick_in_chest else "old sailcloth, and nothing else"
    behind_slab = "sand" if wick_in_chest else "a new wick, wrapped in wax paper"
    return (
        Deed(
            verb="take", thing="pool", second="net", needs="not is caught", points=4,
            does="set caught, move fish hands",
            says="You sweep the net through a pool, and bring up a fat fish.",
        ),
        Deed(
            verb="put", thing="net", second="pool", needs="not is caught", points=4,
            does="set caught, move fish hands",
            says="You sweep the net through a pool, and bring up a fat fish.",
        ),
        Deed(
            verb="give", thing="fish", second="dog", needs="has fish", points=4,
            does="set fed, move fish away, move dog away", says=FED,
        ),
        Deed(
            verb="give", thing="dog", second="fish", needs="has fish", points=4,
            does="set fed, move fish away, move dog away", says=FED,
        ),
        Deed(
            verb="examine", thing="board", does="set know", points=2,
            says="The wooden figures for last Sunday's hymn still hang there: {code}.",
        ),
        Deed(
            verb="put", thing="handle", second="winch", needs="has handle",
            does="set winch, move handle garden",
            says="The handle fits the winch.",
        ),
        Deed(verb="take", thing="handle", needs="is winch", does="clear winch, move handle hands",
             says="You pull the handle off the winch."),
        Deed(verb="take", thing="handle", needs="is clock_handle",
             does="clear clock_handle, move handle hands",
             says="You pull the handle off the clockwork."),
        Deed(
            verb="turn move", thing="winch", needs="is winch, not is raised", points=4,
            does="set raised, move key garden",
            says="The rope comes up, wet, and with it a bucket. In it is a small key.",
        ),
        Deed(
            verb="unlock open", thing="cottage", second="key",
            needs="has key, not is cottage_open", does="set cottage_open", points=4,
            says="The lock turns. The cottage is open.",
        ),
        Deed(
            verb="light", thing="lantern", second="matches",
            needs="has matches, has lantern, not is lit, not is dry",
            does="set lit, set dry, burn 90", points=4,
            says="The lantern gives a small, steady light.",
        ),
        Deed(
            verb="fill", thing="lantern", second="drum", needs="has lantern, is dry, not is lit",
            does="clear dry", says="You fill the lantern from the drum.",
        ),
        Deed(
            verb="move take", thing="rug", needs="not is rug_moved", points=4,
            does="set rug_moved, move trapdoor kitchen",
            says="Under the rug is a trapdoor. You open it.",
        ),
        Deed(
            verb="pry open", thing="chest", second="crowbar",
            needs="has crowbar, not is chest_open", does=f"{chest}set chest_open", points=2,
            says=f"The lid comes up with a shriek of nails, on {under_lid}.",
        ),
        Deed(
            verb="move open take examine", thing="niche", needs="not is niche_open",
            does=f"{niche}set niche_open", points=2,
            says=f"The slab comes away. Behind it is {behind_slab}.",
        ),
        Deed(
            verb="fill", thing="can", second="drum", needs="has can, not is filled",
            does="set filled", points=2, says="The can is full now.",
        ),
        Deed(
            verb="pry open", thing="grating", second="crowbar",
            needs="has crowbar, not is grating_open", does="set grating_open", points=4,
            says="The grating breaks out of the rock. The way east is open.",
        ),
        Deed(
            verb="dial put", thing="code", needs="not is safe_open", points=8, hidden="is know",
            does="set safe_open, move big_key bedroom", says=OPENED,
        ),
        Deed(
            verb="turn open unlock put dial", thing="safe", second="code", needs="not is safe_open",
            does="set safe_open, move big_key bedroom", says=OPENED, points=8, hidden="is know",
        ),
        Deed(
            verb="unlock open", thing="tower", second="big_key",
            needs="has big_key, not is tower_open", does="set tower_open", points=6,
            says="The big lock gives. The tower is open.",
        ),
        *_lighting(),
    )  # fmt: skip


FED = "The dog takes the fish, and itself, round the corner. The gate is free."
OPENED = "The safe swings open. A big key falls out of it."


def _lighting() -> tuple[Deed, ...]:
    """What is to be done in the tower."""
    return (
        Deed(
            verb="put", thing="weight", second="clockwork", needs="has weight", points=6,
            does="set hung, move weight away",
            says="You hang the weight on the hook. The chain takes it with a groan.",
        ),
        Deed(
            verb="put", thing="handle", second="clockwork", needs="has handle",
            does="set clock_handle, move handle watch",
            says="The handle fits the axle of the clockwork, too.",
        ),
        Deed(
            verb="turn move", thing="clockwork", needs="is clock_handle, is hung, not is wound",
            does="set wound", points=6, says="You wind the weight up to the ceiling. It ticks.",
        ),
        Deed(
            verb="pour put", thing="can", second="burner", needs="has can, is filled", points=4,
            does="clear filled, set oiled", says="The burner is full of oil.",
        ),
        Deed(
            verb="put", thing="wick", second="burner", needs="has wick", points=4,
            does="set wick, move wick away", says="You thread the new wick into the burner.",
        ),
        Deed(
            verb="put", thing="lens", second="frame", needs="has lens", points=6,
            does="set lens, move lens away", says="The lens settles into its frame.",
        ),
        Deed(
            verb="pry open", thing="shutters", second="crowbar",
            needs="has crowbar, not is unshuttered", does="set unshuttered", points=4,
            says="The shutters fly open. There is the sea, and smoke on the horizon.",
        ),
        Deed(
            verb="light", thing="burner", second="matches", points=7,
            needs="has matches, is oiled, is wick, is lens, is wound, is unshuttered",
            does="win", says="You put a match to the burner.",
        ),
    )  # fmt: skip


VISITS = {"yard": 2, "kitchen": 2, "crypt": 3, "cave": 4, "lamp_room": 2}


def skerry(seed: int) -> Story:
    """Make the story that belongs to a seed."""
    rng = child(seed, "skerry")
    code = str(rng.integers(100, 1000))
    deeds = tuple(
        replace(deed, says=deed.says.format(code=code)) for deed in _deeds(bool(rng.integers(2)))
    )
    return Story(
        opening=OPENING,
        ending=ENDING,
        start="jetty",
        rooms=ROOMS,
        things={**FIXED, **LOOSE, "code": Thing(name=code, at="bedroom", text="A number.")},
        deeds=deeds,
        visits=VISITS,
        strength=9,
        light="lantern",
    )
