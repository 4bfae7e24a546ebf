"""Which episodes a run has: agents, thresholds, laws of time and paces, spelled out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import PurePath

from timeful.agents.proactive.retrieval import CAUTIOUS, EAGER
from timeful.core.units import milliseconds
from timeful.errors import SettingsError, check_known
from timeful.models.pace import Pace
from timeful.models.role import ModelRole
from timeful.suites.proactor.spec import LAWS, Law, Part, ProactorSpec, Rig

PACES = tuple(Pace(per_token=milliseconds(each)) for each in (2, 5, 10, 20))
"""500, 200, 100 and 50 tokens a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Which episodes to run.

    Attributes:
        agents: Agents in the package, or files.
        thresholds: Of the stand-in; language models have none.
        curve: Further thresholds, played once, by turn, for the trade-off.
        timings: The laws of time: the first is for Table 1.
        paces: What the model's tokens cost, under every law but "by-turn".
        runs: How often.

    Raises:
        SettingsError: If a part is unknown, empty or named twice.
    """

    agents: Sequence[str] = ("non-reasoning", "reasoning", "reasoning-asg")
    thresholds: Sequence[float] = (CAUTIOUS, EAGER)
    curve: Sequence[float] = ()
    timings: Sequence[Law] = ("by-turn", "pace")
    paces: Sequence[Pace] = PACES
    runs: int = 3

    def __post_init__(self) -> None:
        titles = [PurePath(agent).stem for agent in self.agents]
        for kind, given in (
            ("agent", titles),
            ("threshold", self.thresholds),
            ("law of time", self.timings),
            ("pace", self.paces),
        ):
            if len(set(given)) < len(given):
                raise SettingsError(f"a {kind} was named twice: {', '.join(map(str, given))}")
            if not given:
                raise SettingsError(f"a run needs at least one {kind}")
        for timing in self.timings:
            check_known("law of time", timing, LAWS)
        for threshold in (*self.thresholds, *self.curve):
            if not 0 <= threshold <= 1:
                raise SettingsError(f"a threshold must be from 0 to 1, got {threshold}")
        if self.runs < 1:
            raise SettingsError(f"an agent needs at least 1 run, got {self.runs}")

    def conditions(self) -> list[tuple[Part, Law, Pace]]:
        """The laws of time with the paces of the model; the first one is for Table 1."""
        found: list[tuple[Law, Pace]] = []
        for timing in self.timings:
            # By turn nothing is lost but by who takes ten minutes for it, at any pace alike.
            paces = self.paces[:1] if timing == "by-turn" else self.paces
            found += [(timing, pace) for pace in paces]
        first, *others = found
        return [("main", *first), *(("time", *each) for each in others)]


def episodes(
    sweep: Sweep,
    rig: Rig,
    voice: ModelRole,
    *,
    count: int,
    own: Mapping[str, ModelRole] | None = None,
) -> list[ProactorSpec]:
    """Spell out a sweep.

    Args:
        sweep: Which episodes.
        rig: What they share.
        voice: Who thinks.
        count: Over how many conversations.
        own: Who thinks instead, for agents whose file says so: `agents.endpoints`.
    """
    return list(_episodes(sweep, rig, voice, count, own or {}))


def _episodes(
    sweep: Sweep, rig: Rig, voice: ModelRole, count: int, own: Mapping[str, ModelRole]
) -> Iterator[ProactorSpec]:
    conditions = sweep.conditions()
    offline = [agent for agent in sweep.agents if own.get(agent, voice).is_stand_in]
    thought: list[tuple[str, float | None]] = [
        (agent, threshold)
        for agent in sweep.agents
        for threshold in (sweep.thresholds if agent in offline else (None,))
    ]
    for (part, timing, pace), (agent, threshold) in product(conditions, thought):
        like = ProactorSpec(
            part=part,
            agent=agent,
            voice=own.get(agent, voice),
            is_own=agent in own,
            threshold=threshold,
            timing=timing,
            pace=pace,
            run=0,
            place=0,
            rig=rig,
        )
        for run, place in product(range(sweep.runs), range(count)):
            yield replace(like, run=run, place=place)
    if offline:
        _, timing, pace = conditions[0]
        for threshold, place in product(sweep.curve, range(count)):
            if threshold not in sweep.thresholds:
                yield ProactorSpec(
                    part="curve",
                    agent=offline[0],
                    threshold=threshold,
                    timing=timing,
                    pace=pace,
                    run=0,
                    place=place,
                    rig=rig,
                )
