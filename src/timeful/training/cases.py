"""The scenes of a training, as its settings name them."""

from itertools import product

from timeful.core.units import seconds
from timeful.environments.timed.stopwatch import TimerSettings
from timeful.models.choice import ModelChoice
from timeful.models.pace import Pace
from timeful.seeding import child
from timeful.suites.timely.budgets import read_budget
from timeful.suites.timely.families import cases_of
from timeful.suites.timely.spec import Rig, Source, TimelySpec
from timeful.suites.voices import Voice
from timeful.training.config import CasesPart
from timeful.training.scenes import Scene, TimelyScene


def scenes_of(part: CasesPart, *, model: str, max_tokens: int, seed: int) -> dict[str, Scene]:
    """The scenes by their keys: each case under each budget, with a device of its own.

    Args:
        part: What the settings say.
        model: The checkpoint that learns, as records name who acted.
        max_tokens: The most tokens of a thought.
        seed: Of the problems, and of which device a case draws.

    Raises:
        SettingsError: If there are no such cases.
    """
    source = Source(
        sets=part.sets if part.problems is None else (),
        size=part.size,
        problems=part.problems,
    )
    names = cases_of(part.family, source.sets, source, seed=seed)
    voice = Voice(stand_in="policy", choice=ModelChoice(spec=f"local:{model}"))
    found: dict[str, Scene] = {}
    for name, written in product(names, part.budgets):
        rng = child(seed, "device", name, written)
        budget = read_budget(written)
        rig = Rig(
            source=source,
            is_soft=part.soft,
            alpha=float(rng.choice(part.alphas)),
            timer=TimerSettings(
                scale=float(rng.choice(part.timer_scales)), jitter=part.timer_jitter
            ),
            most_tokens=max_tokens,
            pace=Pace(per_token=seconds(part.token_seconds)),
            seed=seed,
        )
        spec = TimelySpec(
            family=part.family,
            case=name,
            voice=voice,
            run=0,
            latency=str(rng.choice(part.latencies)),
            rig=rig,
            budget=budget,
            span=budget.span(None),
        )
        found[spec.key] = TimelyScene(spec)
    return found
