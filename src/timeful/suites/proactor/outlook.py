"""What a run is about to do: its episodes by what they are for, and the hours of a wall clock."""

from collections.abc import Iterable, Sequence
from textwrap import wrap

from timeful.core.units import in_seconds
from timeful.domains.dialogue_set import load_dialogue_set
from timeful.environments.dialogue.timing import ByTurn, Stamped
from timeful.seeding import child
from timeful.suites.proactor.spec import Part, ProactorSpec
from timeful.suites.proactor.words import WIDTH


def outlook(specs: Sequence[ProactorSpec], *, workers: int) -> list[str]:
    """Why there are so many episodes, and how long a wall clock will take, in lines.

    Args:
        specs: The episodes.
        workers: How many are played side by side.
    """
    main = _of(specs, "main")
    agents, runs = _count((one.agent, one.who) for one in main), _count(one.run for one in main)
    told = [f"{len(main):,} for Table 1 ({agents} agents x {runs} runs)"]
    if timed := _of(specs, "time"):
        paces = _count((one.timing, one.pace) for one in timed)
        told.append(f"{len(timed):,} for what time costs (the same at {paces} paces; --timing)")
    if curve := _of(specs, "curve"):
        thresholds = _count(one.threshold for one in curve)
        told.append(f"{len(curve):,} for the trade-off ({thresholds} more thresholds; --no-curve)")
    dialogues = _count(one.place for one in main)
    said = [f"{len(specs):,} episodes of {dialogues} dialogues: {', '.join(told)}"]
    real_s = sum(map(_real_s, specs)) if main[0].rig.clock == "wall" else 0.0
    if real_s:
        said.append(
            f"by the wall clock the conversations take {real_s / 60:,.0f} minutes in all, "
            f"{real_s / 60 / workers:,.0f} or more with {workers} workers"
        )
    return [line for one in said for line in wrap(one, WIDTH, break_on_hyphens=False)]


def _of(specs: Iterable[ProactorSpec], part: Part) -> list[ProactorSpec]:
    return [one for one in specs if one.part == part]


def _count(values: Iterable[object]) -> int:
    return len(set(values))


def _real_s(spec: ProactorSpec) -> float:
    """About how long a conversation takes; one that waits takes no time of its own."""
    law, dialogue = spec.law, load_dialogue_set(spec.rig.source).dialogues[spec.place]
    if isinstance(law, ByTurn):
        return 0.0
    if isinstance(law, Stamped):
        return in_seconds(law.timetable(dialogue).end)
    return in_seconds(law.timetable(dialogue, child(spec.rig.seed, "outlook", dialogue.id)).end)
