"""What every environment promises: the tests that define the `Environment` protocol.

A world's own tests call `check_environment` with a way to make the world, and a way to make up
actions for what can be seen. Every check lives through random episodes from a seed of its own,
so a failure can be repeated; it raises `AssertionError` and says which promise was broken.

    check_environment(World(make=Doorbell, actions=lambda view, rng: ["open"]))
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass
from typing import Any

import numpy as np

from timeful.core.units import START, Duration, Instant
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError, SettingsError
from timeful.seeding import child

Actions = Callable[[View, np.random.Generator], Sequence[str]]
"""What somebody might do about a view, illegal actions included."""

NONSENSE = ("", " ", "nonsense", "\n", "é", "<", "1 2 3")


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """How to make a world, how to act in it, and who tries it.

    Attributes:
        make: Makes one and the same episode, at its start.
        actions: Makes up a set of actions for a view.
        seed: Of the random players.
        patience: After so many changes nobody acts any more, so that the episode ends.
        rewards_add_up: Whether the score is the sum of all rewards.

    Raises:
        SettingsError: If `make` makes nothing, as a world does not.
    """

    make: Callable[[], Environment]
    actions: Actions
    seed: int = 0
    patience: int = 200
    rewards_add_up: bool = True

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise SettingsError(
                f"every check begins an episode of its own: give a way to make the world, such as "
                f"its class, not a {type(self.make).__name__}"
            )


def check_environment(world: World) -> None:
    """Check every promise for one world.

    Raises:
        AssertionError: If a promise is broken; the message says which, and what broke it.
        SettingsError: If it is given the world itself.
    """
    if not isinstance(world, World):
        kind = type(world).__name__
        raise SettingsError(
            f"check_environment wants to make worlds and to act in them, got a {kind}; give it "
            f"World(make={kind}, actions=lambda view, rng: [...])"
        )
    for check in CHECKS:
        try:
            check(world)
        except AssertionError as error:
            raise AssertionError(f"{check.__name__}: {error}") from error


def check_start(world: World) -> None:
    """An environment starts ahead of all that happens, and nothing has happened yet."""
    env = world.make()
    change = env.next_change()
    ahead = change is not None and change >= START
    _promise(ahead, f"the first change must lie ahead, got {change}")
    _promise(env.advance(START) == () or change == START, "nothing happens before its time")


def check_time(world: World) -> None:
    """Time goes on: each change comes when it was said, and what is seen of it has its instant."""
    for step in _lived(world, "time"):
        _promise(step.at >= step.before, f"time went back, from {step.before} to {step.at}")
        at = step.before
        for seen in step.seen:
            _promise(
                at <= seen.at <= step.at,
                f"what is seen must lie between two changes, in order; {seen.event!r} at {seen.at} "
                f"does not lie between {at} and {step.at}",
            )
            at = seen.at
        change = step.env.next_change()
        _promise(
            change is None or change >= step.at,
            f"the next change must not lie in the past, got {change} at {step.at}",
        )
        tick = step.env.next_tick
        _promise(tick is None or change is None or tick >= change, "a tick is a change, or later")


def check_waiting(world: World) -> None:
    """Nothing happens before the next change, however often and far one looks."""
    for step in _lived(world, "waiting"):
        change = step.env.next_change()
        if change is None or change <= step.at:
            continue
        before = _shown(step.env)
        for at in (step.at, Instant((step.at + change) // 2), Instant(change - 1)):
            seen = [each.event for each in step.env.advance(at)]
            _promise(
                not seen, f"something happened before the next change at {change}: {seen} by {at}"
            )
        _promise_same(before, step.env, f"waiting until {at}")


def check_repeatable(world: World) -> None:
    """Two worlds, and one world after a reset, live through the same with the same actions."""
    first = _trace(world.make(), world, "repeat")
    _promise(first == _trace(world.make(), world, "repeat"), "two worlds of one episode differ")
    env = world.make()
    for _ in _lives(env, world, "something else"):
        pass
    env.reset()
    _promise(first == _trace(env, world, "repeat"), "reset does not lead back to the same episode")


def check_in_one_go(world: World) -> None:
    """To advance far at once shows the same as change by change."""
    slowly = world.make()
    seen: list[Observation] = []
    while (change := slowly.next_change()) is not None:
        seen += slowly.advance(change)
        end = change
    _promise(list(world.make().advance(end)) == seen, "one long step shows something else")


def check_illegal(world: World) -> None:
    """An illegal action raises and changes nothing, and takes a whole set with it."""
    rng = _rng(world, "illegal")
    for step in _lived(world, "illegal"):
        if step.env.next_change() is None:
            continue
        before = _shown(step.env)
        for wrong in NONSENSE:
            made_up = [*world.actions(step.env.view(), rng), wrong]
            for actions in ([wrong], made_up):
                _promise(
                    not _takes(step.env, actions, step.at),
                    f"{actions} must raise IllegalActionError",
                )
                _promise_same(before, step.env, f"the illegal {actions}")
        _promise(_takes(step.env, [], step.at), "[] must be taken: nobody has to do anything")
        _promise_same(before, step.env, "doing nothing, []")


def check_over(world: World) -> None:
    """An episode ends by a change of the world, and never begins again."""
    for step in _lived(world, "over"):
        env = step.env
    _promise(env.next_change() is None, "an episode must come to an end when nobody acts")
    before = _shown(env)
    late = [seen.event for seen in env.advance(Instant(step.at * 2 + 1))]
    _promise(not late, f"something happened after the end: {late}")
    _promise_same(before, env, "time after the end")


def check_acts_do_not_end(world: World) -> None:
    """Nobody ends an episode unseen: after an action there is still a change to come."""
    for step in _lived(world, "acts"):
        if step.acted is not None:
            _promise(
                step.was_ahead,
                f"after an action there must be a change that shows the end; after {step.acted!r} "
                "there is none",
            )


def check_score(world: World) -> None:
    """The score moves by the rewards of what is seen."""
    env = world.make()
    total = env.score
    for step in _lives(env, world, "score"):
        for seen in step.seen:
            _promise(
                type(seen.reward) is float,
                f"a reward must be a float; that of {seen.event!r} is {seen.reward!r}",
            )
            total += seen.reward
        if world.rewards_add_up and (step.seen or env.next_change() is None):
            near = abs(total - env.score) <= 1e-9 * max(1.0, abs(total))
            _promise(near, f"the score is {env.score}, but the rewards so far make {total}")


def check_view(world: World) -> None:
    """A view is a value: equal for equal states, fixed, and plain as JSON; so is an observation."""
    kept: list[tuple[View, str, str]] = []
    for step in _lived(world, "view"):
        for view in (step.env.view(), *(seen.view for seen in step.seen)):
            _promise(_is_frozen(view), "a view must be frozen")
            state: Any = view.json_state()
            _promise(json.loads(json.dumps(state)) == state, "json_state must hold plain values")
            kept.append((view, view.text(), json.dumps(state)))
        for seen in step.seen:
            data = dict(seen.data)
            _promise(json.loads(json.dumps(data)) == data, "data must hold plain JSON values")
        _promise(step.env.view() == step.env.view(), "two views of one state must be equal")
    for view, text, written in kept:
        _promise(view.text() == text, "the text of a view changed while the world went on")
        _promise(json.dumps(view.json_state()) == written, "the JSON of a view changed later")


CHECKS = (
    check_start,
    check_time,
    check_waiting,
    check_repeatable,
    check_in_one_go,
    check_illegal,
    check_over,
    check_acts_do_not_end,
    check_score,
    check_view,
)
"""Every promise, in the order in which they are best read."""


@dataclass(slots=True, kw_only=True)
class _Step:
    """One change of a world, or one act in it, and what was seen on the way."""

    env: Environment
    before: Instant
    at: Instant
    seen: tuple[Observation, ...]
    acted: str | None = None
    was_ahead: bool = True


def _lived(world: World, purpose: str) -> Iterator[_Step]:
    return _lives(world.make(), world, purpose)


def _lives(env: Environment, world: World, purpose: str) -> Iterator[_Step]:
    """Live through an episode; act now and then, between two changes and at their instants."""
    rng, now, count = _rng(world, purpose), START, 0
    while (change := env.next_change()) is not None:
        count += 1
        if count <= world.patience and rng.random() < 0.9:
            # At the very instant of the change, the intervention comes first.
            power = int(rng.integers(1, 10))  # soon or late, for changes may be far apart
            late = rng.random() < 0.1 or change >= 1 << 61
            at = change if late else (now + Duration(int((change - now) * rng.random() ** power)))
            drawn = world.actions(env.view(), rng)
            taken = next((act for act in drawn if _takes(env, [act], at)), None)
            if taken is not None:
                ahead = env.next_change() is not None
                yield _Step(env=env, before=now, at=at, seen=(), acted=taken, was_ahead=ahead)
                now = at
                continue
        before, now = now, change
        yield _Step(env=env, before=before, at=now, seen=env.advance(now))


def _takes(env: Environment, actions: Sequence[str], at: Instant) -> bool:
    try:
        env.intervene(actions, at=at)
    except IllegalActionError:
        return False
    return True


def _shown(env: Environment) -> dict[str, Any]:
    """All that an interface can ask a world."""
    return {
        "view": env.view(),
        "score": env.score,
        "busy": env.busy,
        "next_tick": env.next_tick,
        "next_change": env.next_change(),
    }


def _promise_same(before: dict[str, Any], env: Environment, what: str) -> None:
    after = _shown(env)
    moved = ", ".join(
        f"{name} from {then} to {after[name]}"
        for name, then in before.items()
        if then != after[name]
    )
    _promise(not moved, f"{what} has changed {moved}")


def _trace(env: Environment, world: World, purpose: str) -> list[Any]:
    """All that can be seen while an episode is lived through."""
    return [(step.at, step.seen, step.acted, _shown(env)) for step in _lives(env, world, purpose)]


def _rng(world: World, purpose: str) -> np.random.Generator:
    return child(world.seed, "environment", purpose)


def _is_frozen(view: object) -> bool:
    try:
        view.turn = 0  # type: ignore[attr-defined]
    except (FrozenInstanceError, AttributeError):
        return True
    return False


def _promise(kept: bool, promise: str) -> None:
    if not kept:
        raise AssertionError(promise)
