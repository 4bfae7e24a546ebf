"""The game: Alice is played, Bob follows his script, a hundred turns."""

from typing import Any, ClassVar, Literal, Self

import msgspec

from timeful.environments.game import DIFFICULTIES, MODES, Difficulty, Mode
from timeful.environments.overcooked.draws import WORDS
from timeful.environments.overcooked.kitchen import (
    ACTIONS,
    COOK_TIME,
    COUNTER,
    FLOOR,
    HORIZON,
    IDLE,
    POT,
    RECIPE,
    STEPS,
    Item,
    Kitchen,
    open_kitchen,
)
from timeful.environments.overcooked.partner import Partner, PublishedPartner, RandomPartner
from timeful.environments.overcooked.view import SHOWN_HISTORY, OvercookedView, show
from timeful.environments.settings import check_seed
from timeful.errors import IllegalActionError, WorldError, check_known


class _Saved(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    game: Literal["overcooked"] = "overcooked"
    difficulty: Difficulty
    seed: str  # as text: a seed may be larger than a packed integer
    mode: Mode
    turn: int
    score: float
    history: tuple[str, str]
    at: tuple[int, int]
    facing: tuple[str, str]
    held: tuple[Item | None, Item | None]
    counters: dict[int, Item]
    pots: dict[int, tuple[int, int]]
    partner: list[int]


class Overcooked:
    """Two cooks, one of them played: onions into pots, soups to the serving place.

    In mode "compat" (the default) an episode equals the published benchmark's, transition by
    transition, and the seed has no effect. In mode "paper" the partner chooses at random, from
    a generator that the seed decides; kitchens and rewards are the same.
    """

    name: ClassVar[str] = "overcooked"
    actions: ClassVar[tuple[str, ...]] = ACTIONS
    default_action: ClassVar[str] = "S"
    horizon: ClassVar[int] = HORIZON
    restarted = False
    busy = False

    def __init__(self, *, difficulty: Difficulty, seed: int, mode: Mode = "compat") -> None:
        check_known("difficulty", difficulty, DIFFICULTIES)
        check_known("mode", mode, MODES)
        check_seed(self.name, seed, published=None)
        self._difficulty, self._seed, self._mode = difficulty, seed, mode
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode."""
        self._kitchen = open_kitchen(self._difficulty)
        self._partner = _partner_for(self._kitchen, mode=self._mode, seed=self._seed)
        self._history = ("", "")
        self.turn = 0
        self.score = 0.0
        self.done = False

    def step(self, action: str) -> float:
        """Play one turn: Alice acts as told, Bob as he likes, both from the same state.

        Returns:
            3 for a useful dish that Alice takes, 5 for a soup that she lifts from a pot, 20 for
            a soup that either cook serves; their sum.

        Raises:
            IllegalActionError: If there is no such action; the state is unchanged.
            WorldError: If the game is over.
        """
        if action not in ACTIONS:
            raise IllegalActionError.named(action, ACTIONS)
        if self.done:
            raise WorldError(f"the game was over after {self.turn} turns; reset it first")
        kitchen = self._kitchen
        answer = self._partner.act(kitchen)
        reward = float(kitchen.step(action, answer))
        alice, bob = self._history
        self._history = ((alice + action)[-SHOWN_HISTORY:], (bob + answer)[-SHOWN_HISTORY:])
        self.turn += 1
        self.score += reward
        self.done = self.turn >= self.horizon
        return reward

    def legal_actions(self) -> tuple[str, ...]:
        """All six actions, always."""
        return ACTIONS

    def view(self) -> OvercookedView:
        """What a player is shown now."""
        return show(self._kitchen, turn=self.turn, history=self._history)

    def summary(self) -> dict[str, Any]:
        """Players as [x, y, facing, held], counters as [x, y, item], pots as [x, y, onions, tick].

        Alice comes before Bob, the rest is sorted; tick is -1 while a pot does not cook, and
        what is empty is left out.
        """
        view = self.view()
        return {
            "players": [[cook.x, cook.y, cook.facing, cook.held] for cook in view.players],
            "counters": [[spot.x, spot.y, spot.item] for spot in view.counters],
            "pots": [[pot.x, pot.y, pot.onions, pot.tick] for pot in view.pots],
        }

    def save(self) -> bytes:
        """The full state, the partner's memory and generators included."""
        kitchen = self._kitchen
        state = _Saved(
            difficulty=self._difficulty,
            seed=str(self._seed),
            mode=self._mode,
            turn=self.turn,
            score=self.score,
            history=self._history,
            at=(kitchen.at[0], kitchen.at[1]),
            facing=(kitchen.facing[0], kitchen.facing[1]),
            held=(kitchen.held[0], kitchen.held[1]),
            counters=dict(sorted(kitchen.counters.items())),
            pots=dict(sorted(kitchen.pots.items())),
            partner=self._partner.memory(),
        )
        return msgspec.msgpack.encode(state)

    def load(self, state: bytes) -> None:
        """Continue from a saved state of any Overcooked game, whose settings are taken over.

        Raises:
            WorldError: If the bytes are no saved state of this game; nothing is changed then.
        """
        try:
            loaded_state = msgspec.msgpack.decode(state, type=_Saved)
            seed = int(loaded_state.seed)
            kitchen = _kitchen_from(loaded_state)
            partner = _partner_for(kitchen, mode=loaded_state.mode, seed=seed)
            partner.remember(loaded_state.partner)
        except (ValueError, msgspec.MsgspecError) as error:
            raise WorldError(f"these bytes are no saved Overcooked game: {error}") from error
        self._difficulty, self._seed, self._mode = loaded_state.difficulty, seed, loaded_state.mode
        self._kitchen, self._partner = kitchen, partner
        self._history = loaded_state.history
        self.turn, self.score = loaded_state.turn, loaded_state.score
        self.done = self.turn >= self.horizon

    def copy(self) -> Self:
        """An independent game in the same state."""
        twin = object.__new__(type(self))
        twin._difficulty, twin._seed, twin._mode = self._difficulty, self._seed, self._mode
        twin._kitchen = self._kitchen.copy()
        twin._partner = self._partner.copy()
        twin._history = self._history
        twin.turn, twin.score, twin.done = self.turn, self.score, self.done
        return twin


def _partner_for(kitchen: Kitchen, *, mode: Mode, seed: int) -> Partner:
    return PublishedPartner(kitchen) if mode == "compat" else RandomPartner(kitchen, seed=seed)


def _kitchen_from(state: _Saved) -> Kitchen:
    """Rebuild a kitchen, refusing one that could not be."""
    layout = open_kitchen(state.difficulty).layout
    can_be = (
        0 <= state.turn <= Overcooked.horizon
        and len(set(state.at)) == 2
        and set(state.at) <= set(layout.cells_of(FLOOR))
        and set(state.facing) <= set(STEPS)
        and set(state.counters) <= set(layout.cells_of(COUNTER))
        and set(state.pots) <= set(layout.cells_of(POT))
        and all(
            1 <= onions <= len(RECIPE) and IDLE <= tick <= COOK_TIME
            for onions, tick in state.pots.values()
        )
        and all(-1 <= number < WORDS for number in state.partner)
    )
    if not can_be:
        raise ValueError("what it describes cannot be")
    return Kitchen(
        layout,
        at=state.at,
        facing=state.facing,
        held=state.held,
        counters=state.counters,
        pots=state.pots,
    )
