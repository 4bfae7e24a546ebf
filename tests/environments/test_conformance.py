"""Every world keeps the promises of `Environment`; a world that breaks one fails its check."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.environments.kitchen.menus import case, critical, problem, soft
from tests.interfaces.bells import Bells, halves
from timeful.core.units import Instant, seconds
from timeful.environments.conformance import World, check_environment
from timeful.environments.deliberation.settings import SEQUENTIAL
from timeful.environments.deliberation.world import Deliberation, answer
from timeful.environments.environment import Observation
from timeful.environments.inbox.mail import draw_mail
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.world import Inbox
from timeful.environments.kitchen.settings import KitchenSettings
from timeful.environments.kitchen.world import Kitchen
from timeful.environments.patrol.settings import DEPTH_3, MODULE
from timeful.environments.patrol.world import CONTINUE, RESPOND, Patrol
from timeful.environments.registry import GAME_NAMES, make_game
from timeful.environments.ticking import Ticking
from timeful.errors import SettingsError
from timeful.models.pace import tokens
from timeful.seeding import child

RINGS = (0, 3, 3, 20, 31)


def bells(kind: type[Bells] = Bells) -> World:
    def actions(view: Any, rng: np.random.Generator) -> Sequence[str]:
        open_bells = [f"answer:{bell}" for bell in view.open]
        return [str(rng.choice([f"walk:{rng.integers(1, 20)}", "answer:9", *open_bells]))]

    return World(
        make=lambda: kind([Instant(halves(ring)) for ring in RINGS], Instant(halves(200))),
        actions=actions,
    )


def game(name: str) -> World:
    letters = make_game(name, difficulty="easy", seed=0).actions
    return World(
        make=lambda: Ticking(make_game(name, difficulty="easy", seed=0), tokens(8)),
        actions=lambda _, rng: rng.choice(letters, size=2).tolist(),
    )


def deliberation() -> World:
    def actions(view: Any, rng: np.random.Generator) -> Sequence[str]:
        return [answer(int(task), int(rng.integers(1, 6))) for task in rng.integers(1, 13, size=2)]

    return World(make=lambda: Deliberation(SEQUENTIAL, child(3, "tasks")), actions=actions)


def patrol(settings: Any) -> World:
    return World(
        make=lambda: Patrol(replace(settings, horizon=150), child(3, "alarms")),
        actions=lambda _, rng: [str(rng.choice([CONTINUE, RESPOND]))],
    )


def inbox() -> World:
    settings = InboxSettings()

    def actions(view: Any, rng: np.random.Generator) -> Sequence[str]:
        verb = rng.choice(["check", "open", "handle", "remind", "ignore", "return", "deliver"])
        number = "" if verb in ("check", "return") else f" {rng.integers(1, 6)}"
        return [f"{verb}{number}"]

    return World(
        make=lambda: Inbox(
            settings, draw_mail(settings, child(3, "mail")), (1, settings.scoring.target - 1)
        ),
        actions=actions,
    )


def kitchen(*, writes_itself: bool) -> World:
    dishes = [critical(), soft()]

    def actions(view: Any, rng: np.random.Generator) -> Sequence[str]:
        kinds = [
            f'<{verb} dish="D{n}"/>' for verb in ("prepare", "stage", "finish") for n in (1, 2)
        ]
        others = ['<tutor problem="Q1" tokens="9"/>', '<wait ticks="5"/>', "<check/>"]
        return [str(act) for act in rng.choice([*kinds, *others], size=3)]

    return World(
        make=lambda: Kitchen(
            case(*dishes, problems=(problem(),)),
            KitchenSettings(writes_itself=writes_itself),
            child(3, "jitter"),
        ),
        actions=actions,
    )


WORLDS = {
    "bells": bells(),
    **{name: game(name) for name in GAME_NAMES},
    "deliberation": deliberation(),
    "patrol": patrol(MODULE),
    "patrol in phases": patrol(DEPTH_3),
    "inbox": inbox(),
    "kitchen": kitchen(writes_itself=False),
    "kitchen that writes": kitchen(writes_itself=True),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_world_keeps_every_promise(name: str, seed: int) -> None:
    check_environment(replace(WORLDS[name], seed=seed))


# --- worlds that break one promise -----------------------------------------------------------


class Early(Bells):
    """Shows what has not happened yet."""

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        return super().advance(Instant(to + halves(3)))


class Backwards(Bells):
    """Says that its next change has passed."""

    def next_change(self) -> Instant | None:
        change = super().next_change()
        return change and Instant(change - (change > halves(10)) * halves(30))


class Forgetful(Bells):
    """A reset forgets to forget who was answered."""

    def reset(self) -> None:
        answered = self._view.answered if hasattr(self, "_view") else ()
        super().reset()
        self._view = replace(self._view, answered=answered)


class Careless(Bells):
    """Does the first of a set before it finds the second illegal."""

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        for action in actions:
            super().intervene((action,), at=at)


class Lenient(Bells):
    """Takes nonsense for nothing."""

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        super().intervene([action for action in actions if action != "nonsense"], at=at)


class Endless(Bells):
    """Goes on after its end."""

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        if self._is_over:
            return (Observation(at=to, event="encore", view=self.view()),)
        return super().advance(to)


class Abrupt(Bells):
    """An answer ends it, and nobody is told."""

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        super().intervene(actions, at=at)
        self._is_over |= any(action.startswith("answer") for action in actions)


class Generous(Bells):
    """Pays more than it says."""

    @property
    def score(self) -> float:
        return 2 * self._score


class Jumpy(Bells):
    """Waiting changes it."""

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        seen = super().advance(to)
        if not seen:
            self._view = replace(self._view, at=to)
        return seen


class Loose(Bells):
    """Shows what can be written on."""

    def view(self) -> Any:
        shown = [1]

        class View:
            turn, open = 0, ()

            def text(self) -> str:
                shown.append(1)
                return str(shown)

            def json_state(self) -> dict[str, Any]:
                return {}

        return View()


class Eternal(Bells):
    """Rings for ever."""

    def next_change(self) -> Instant | None:
        return Instant(self._view.at + halves(1))

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        seen = []
        while (change := self.next_change()) is not None and change <= to:
            self._view = replace(self._view, at=change, turn=self._view.turn + 1)
            seen.append(Observation(at=change, event="ring", view=self.view()))
        return tuple(seen)


class Blurred(Bells):
    """Announces its changes as floats."""

    def next_change(self) -> Instant | None:
        change = super().next_change()
        return change and change / 1  # type: ignore[return-value]


class Eager(Bells):
    """Pays for each walk when it begins."""

    fee = 0.0

    def reset(self) -> None:
        super().reset()
        self.fee = 0.0

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        if list(actions) == ["bow"]:
            self.fee += 1.0
        else:
            super().intervene(actions, at=at)

    @property
    def score(self) -> float:
        return self._score + self.fee


@pytest.mark.parametrize(
    ("kind", "check"),
    [
        (Eternal, r"check_\w+: .*\d+ changes"),
        (Blurred, "check_time: an instant"),
        (Early, "check_time"),
        (Backwards, "check_time"),
        (Forgetful, "check_repeatable"),
        (Careless, r"check_illegal: .*\['answer:1', ''\]"),
        (Lenient, r"check_illegal: \['nonsense'\]"),
        (Endless, "check_over"),
        (Abrupt, r"check_acts_do_not_end: .*'answer:\d'"),
        (Generous, "check_score"),
        (Jumpy, r"check_waiting: .*\d+ .* view from "),
        (Loose, "check_waiting"),
    ],
)
def test_a_world_that_breaks_a_promise_fails_its_check(kind: type[Bells], check: str) -> None:
    with pytest.raises(AssertionError, match=f"^{check}"):
        check_environment(bells(kind))


def test_an_action_that_counts_twice_at_one_instant_must_be_declared() -> None:
    world = replace(bells(Eager), actions=lambda view, rng: ["bow"], rewards_add_up=False)
    with pytest.raises(AssertionError, match=r"^check_twice: .*'bow'"):
        check_environment(world)
    check_environment(replace(world, can_repeat=True))


def test_actions_must_be_a_list_with_a_legal_one_and_the_counts_are_returned() -> None:
    with pytest.raises(SettingsError, match="walk"):
        check_environment(replace(bells(), actions=lambda view, rng: "walk"))
    with pytest.raises(AssertionError, match=r"\d+ proposed actions"):
        check_environment(replace(bells(), actions=lambda view, rng: ["fly"]))
    counts = check_environment(bells())
    assert min(counts.episodes, counts.changes, counts.observations, counts.legal) > 0
    assert counts.illegal > 0
    assert str(counts.legal) in str(counts)


def test_the_world_itself_is_refused_with_the_call_to_write() -> None:
    instance: Any = bells().make()
    with pytest.raises(SettingsError, match=r"World\(make=Bells, actions="):
        check_environment(instance)
    with pytest.raises(SettingsError, match="Bells"):
        World(make=instance, actions=lambda view, rng: [])


def test_a_world_with_unseeded_chance_fails() -> None:
    luck = np.random.default_rng(0)

    class Chancy(Bells):
        def reset(self) -> None:
            self._end = Instant(seconds(1) + int(luck.integers(1000)))
            super().reset()

    with pytest.raises(AssertionError, match=r"^check_repeatable"):
        check_environment(bells(Chancy))
