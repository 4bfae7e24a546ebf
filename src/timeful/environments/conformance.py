"""The tests that define the `Environment` protocol.

The tests of a world call `check_environment` with a function that makes the world, and one that
proposes actions for a view. Every check plays random episodes from a seed of its own, so a failure
can be repeated; it raises `AssertionError` with the broken promise.

    print(check_environment(World(make=Doorbell, actions=lambda view, rng: ["open"])))
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import Any

import numpy as np

from timeful.core.units import START, Duration, Instant
from timeful.environments.environment import Environment, Observation
from timeful.environments.game import View
from timeful.errors import IllegalActionError, SettingsError
from timeful.seeding import child

Actions = Callable[[View, np.random.Generator], Sequence[str]]
"""Proposes actions for a view; illegal ones are allowed."""

NONSENSE = ("", " ", "nonsense", "\n", "é", "<", "1 2 3")
"""Actions that no world has."""


@dataclass(slots=True)
class Counts:
    """The numbers of things that the checks of a world tried."""

    episodes: int = 0
    changes: int = 0
    observations: int = 0
    legal: int = 0
    illegal: int = 0

    def __str__(self) -> str:
        return (
            f"{self.episodes} episodes, {self.changes} changes, {self.observations} observations, "
            f"{self.legal} legal and {self.illegal} illegal actions"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """A world to check.

    Attributes:
        make: Makes the same episode each time, at its start.
        actions: Proposes a list of actions for a view, with a `numpy.random.Generator`.
        seed: The seed of the random players.
        patience: The number of changes after which the players stop acting.
        longest: The most changes of an episode after the players stop acting.
        rewards_add_up: Whether the score is the sum of all rewards.
        can_repeat: Whether an action that is taken twice at one instant may count twice.

    Raises:
        SettingsError: If `make` is not callable.
    """

    make: Callable[[], Environment]
    actions: Actions
    seed: int = 0
    patience: int = 200
    longest: int = 10_000
    rewards_add_up: bool = True
    can_repeat: bool = False
    counts: Counts = field(default_factory=Counts, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not callable(self.make):
            raise SettingsError(
                f"make must be a function that makes the world, such as its class; got a "
                f"{type(self.make).__name__}"
            )


def check_environment(world: World) -> Counts:
    """Check every promise for one world.

    Returns:
        The counts of what was tried; printed, they are a line.

    Raises:
        AssertionError: If a promise is broken; the message names the check.
        SettingsError: If the argument is no `World`, or its `actions` returns no list.
    """
    if not isinstance(world, World):
        kind = type(world).__name__
        raise SettingsError(
            f"check_environment takes a World, got a {kind}; write "
            f"World(make={kind}, actions=lambda view, rng: [...])"
        )
    world = replace(world, counts=Counts())
    for check in CHECKS:
        try:
            check(world)
        except AssertionError as error:
            raise AssertionError(f"{check.__name__}: {error}") from error
    counts = world.counts
    promise(
        counts.legal > 0 or counts.illegal == 0,
        f"none of {counts.illegal} proposed actions was legal, so that no action was checked",
    )
    return counts


def check_start(world: World) -> None:
    """The first change is at or after the start."""
    env = world.make()
    change = env.next_change()
    promise(
        change is None or isinstance(change, int),
        f"an instant must be a whole number of nanoseconds, got {change!r}",
    )
    ahead = change is not None and change >= START
    promise(ahead, f"the first change must be at or after the start, got {change}")
    promise(
        env.advance(START) == () or change == START, "something happened before the first change"
    )


def check_time(world: World) -> None:
    """Changes come at the announced instants; observations lie between two changes, in order."""
    for step in _play(world, "time"):
        promise(step.at >= step.before, f"time went back, from {step.before} to {step.at}")
        at = step.before
        for observation in step.observations:
            promise(
                isinstance(observation.at, int),
                f"an instant must be a whole number of nanoseconds, got {observation.at!r}",
            )
            promise(
                at <= observation.at <= step.at,
                f"{observation.event!r} at {observation.at} must be between {at} and {step.at}",
            )
            at = observation.at
        change = step.env.next_change()
        promise(
            change is None or change >= step.at,
            f"the next change is in the past: {change} at {step.at}",
        )
        tick = step.env.next_tick
        promise(tick is None or change is None or tick >= change, "a tick is a change, or later")


def check_waiting(world: World) -> None:
    """Nothing happens before the next change, however often the world is advanced."""
    for step in _play(world, "waiting"):
        change = step.env.next_change()
        if change is None or change <= step.at:
            continue
        before = _snapshot(step.env)
        for at in (step.at, Instant((step.at + change) // 2), Instant(change - 1)):
            events = [observation.event for observation in step.env.advance(at)]
            promise(not events, f"{events} happened by {at}, before the next change at {change}")
        _promise_same(before, step.env, f"waiting until {at}")


def check_repeatable(world: World) -> None:
    """Two worlds, and a world after a reset, play the same episode for the same actions."""
    first = _trace(world.make(), world, "repeat")
    promise(first == _trace(world.make(), world, "repeat"), "two worlds of one episode differ")
    env = world.make()
    for _ in _play(world, "something else", env):
        pass
    env.reset()
    promise(first == _trace(env, world, "repeat"), "reset does not lead back to the same episode")


def check_in_one_go(world: World) -> None:
    """One long advance gives the same observations as one advance a change."""
    env = world.make()
    observations: list[Observation] = []
    end = START
    for step in _play(replace(world, patience=0), "in one go", env):
        observations += step.observations
        end = step.at
    promise(list(world.make().advance(end)) == observations, "one long advance differs")


def check_illegal(world: World) -> None:
    """An illegal action raises and changes nothing; with one, a whole set is refused."""
    rng = _rng(world, "illegal")
    for step in _play(world, "illegal"):
        if step.env.next_change() is None:
            continue
        before = _snapshot(step.env)
        for illegal in NONSENSE:
            proposed = [*_propose(world, step.env, rng), illegal]
            for actions in ([illegal], proposed):
                promise(
                    not _takes(step.env, actions, step.at),
                    f"{actions} must raise IllegalActionError",
                )
                _promise_same(before, step.env, f"the illegal {actions}")
        promise(_takes(step.env, [], step.at), "[] must be legal at all times")
        _promise_same(before, step.env, "doing nothing, []")


def check_over(world: World) -> None:
    """An episode ends by a change of the world, and nothing happens after the end."""
    for step in _play(world, "over"):
        env = step.env
    promise(env.next_change() is None, "an episode must end when no agent acts")
    before = _snapshot(env)
    events = [observation.event for observation in env.advance(Instant(step.at * 2 + 1))]
    promise(not events, f"{events} happened after the end")
    _promise_same(before, env, "time after the end")


def check_acts_do_not_end(world: World) -> None:
    """An action does not end the episode: a change after it shows the end."""
    for step in _play(world, "acts"):
        if step.action is not None:
            promise(
                step.was_ahead,
                f"no change follows the action {step.action!r} to show the end",
            )


def check_twice(world: World) -> None:
    """The same action, taken twice at one instant, counts once, unless the world says otherwise."""
    if world.can_repeat:
        return
    twin, latest = world.make(), ""
    for step in _play(world, "twice"):
        if step.action is None:
            twin.advance(step.at)
        else:
            latest = step.action
            if _takes(twin, [latest], step.at):
                _takes(twin, [latest], step.at)
        promise(
            twin.score == step.env.score,
            f"{latest!r} counts twice if it is taken twice at one instant: the score is "
            f"{twin.score} and not {step.env.score}; set can_repeat=True if this is meant",
        )


def check_score(world: World) -> None:
    """The score is the sum of the rewards of all observations."""
    env = world.make()
    total = env.score
    for step in _play(world, "score", env):
        for observation in step.observations:
            reward = observation.reward
            promise(
                type(reward) is float,
                f"a reward must be a float; that of {observation.event!r} is {reward!r}",
            )
            total += reward
        if world.rewards_add_up and (step.observations or env.next_change() is None):
            near = abs(total - env.score) <= 1e-9 * max(1.0, abs(total))
            promise(near, f"the score is {env.score}, but the rewards so far make {total}")


def check_view(world: World) -> None:
    """Views and data are values: frozen, equal for equal states, and plain JSON."""

    def views() -> Iterator[View]:
        for step in _play(world, "view"):
            for observation in step.observations:
                data = dict(observation.data)
                promise(is_plain_json(data), "data must hold plain JSON values")
                yield observation.view
            promise(step.env.view() == step.env.view(), "two views of one state must be equal")
            yield step.env.view()

    check_views(views())


def check_views(views: Iterable[View]) -> None:
    """Views are frozen and plain JSON, and stay as they are while the world changes."""
    snapshots = []
    for view in views:
        promise(_is_frozen(view), "a view must be frozen")
        promise(is_plain_json(view.json_state()), "json_state must hold plain JSON values")
        snapshots.append((view, view.text(), json.dumps(view.json_state())))
    for view, text, state in snapshots:
        promise(view.text() == text, "the text of a view changed later")
        promise(json.dumps(view.json_state()) == state, "the JSON of a view changed later")


def is_plain_json(value: Any) -> bool:
    """Whether a value is equal after a round trip through JSON."""
    return bool(json.loads(json.dumps(value)) == value)


def _is_frozen(view: object) -> bool:
    try:
        view.turn = 0  # type: ignore[attr-defined]
    except (FrozenInstanceError, AttributeError):
        return True
    return False


CHECKS = (
    check_start,
    check_time,
    check_waiting,
    check_repeatable,
    check_in_one_go,
    check_illegal,
    check_over,
    check_acts_do_not_end,
    check_twice,
    check_score,
    check_view,
)
"""Every check, in reading order."""


@dataclass(slots=True, kw_only=True)
class _Step:
    """One change of a world, or one action in it, with the observations of it."""

    env: Environment
    before: Instant
    at: Instant
    observations: tuple[Observation, ...]
    action: str | None = None
    was_ahead: bool = True


def _play(world: World, purpose: str, env: Environment | None = None) -> Iterator[_Step]:
    """Play an episode with actions between two changes and at their instants."""
    env = env or world.make()
    counts = world.counts
    counts.episodes += 1
    rng, now, count = _rng(world, purpose), START, 0
    while (change := env.next_change()) is not None:
        count += 1
        longest = world.patience + world.longest
        promise(count <= longest, f"the world does not end within {longest} changes")
        if count <= world.patience and rng.random() < 0.9:
            # At the very instant of the change, the intervention comes first.
            power = int(rng.integers(1, 10))  # soon or late, for changes may be far apart
            late = rng.random() < 0.1 or change >= 1 << 61
            at = change if late else (now + Duration(int((change - now) * rng.random() ** power)))
            proposed = _propose(world, env, rng)
            action = next((action for action in proposed if _takes(env, [action], at)), None)
            refused = len(proposed) if action is None else proposed.index(action)
            counts.illegal += refused
            if action is not None:
                counts.legal += 1
                yield _Step(
                    env=env,
                    before=now,
                    at=at,
                    observations=(),
                    action=action,
                    was_ahead=env.next_change() is not None,
                )
                now = at
                continue
        before, now = now, change
        observations = env.advance(now)
        counts.changes += 1
        counts.observations += len(observations)
        yield _Step(env=env, before=before, at=now, observations=observations)


def _propose(world: World, env: Environment, rng: np.random.Generator) -> list[str]:
    """The actions that are proposed for a view.

    Raises:
        SettingsError: If they are no list.
    """
    actions = world.actions(env.view(), rng)
    if isinstance(actions, str) or not isinstance(actions, Sequence):
        raise SettingsError(f"actions must return a list of actions, got {actions!r}")
    return list(actions)


def _takes(env: Environment, actions: Sequence[str], at: Instant) -> bool:
    try:
        env.intervene(actions, at=at)
    except IllegalActionError:
        return False
    return True


def _snapshot(env: Environment) -> dict[str, Any]:
    """All that an interface can read of a world."""
    return {
        "view": env.view(),
        "score": env.score,
        "busy": env.busy,
        "next_tick": env.next_tick,
        "next_change": env.next_change(),
    }


def _promise_same(before: dict[str, Any], env: Environment, cause: str) -> None:
    after = _snapshot(env)
    changes = ", ".join(
        f"{name} from {value} to {after[name]}"
        for name, value in before.items()
        if value != after[name]
    )
    promise(not changes, f"{cause} has changed {changes}")


def _trace(env: Environment, world: World, purpose: str) -> list[Any]:
    """All that can be observed while an episode is played."""
    steps = _play(world, purpose, env)
    return [(step.at, step.observations, step.action, _snapshot(env)) for step in steps]


def _rng(world: World, purpose: str) -> np.random.Generator:
    return child(world.seed, "environment", purpose)


def promise(is_kept: bool, text: str) -> None:
    """Raise an `AssertionError` with the text of a promise that is broken."""
    if not is_kept:
        raise AssertionError(text)
