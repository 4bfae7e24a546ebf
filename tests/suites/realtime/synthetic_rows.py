"""Episodes made up for tests: no game was played and no model asked."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from timeful.records.rows import EpisodeRow
from timeful.suites.realtime.scores import BOUNDS

SKILL = {"reactive": 0.35, "planning": 0.3, "agile": 0.7, "code-policy": 0.4}
RESERVES = {"agile": 2048, "agile-concurrent": 2048, "agile-reduced": 2048}


def episode(**changes: Any) -> EpisodeRow:
    """One episode of the search reasoner, with what a test cares about changed."""
    agent = changes.get("agent", "reactive")
    fields: dict[str, Any] = {
        "suite": "realtime",
        "game": "freeway",
        "difficulty": "medium",
        "mode": "compat",
        "agent": agent,
        "model": "search",
        "stand_in": True,
        "clock": "token",
        "tokens_per_step": 8192,
        "seconds_per_step": None,
        "reserve": RESERVES.get(agent),
        "game_seed": 0,
        "sample": 0,
        "status": "ok",
        "score": 44.5,
        "turns": 40,
        "late_turns": 3,
        "tokens": 50_000,
        "reactor_tokens": (),
        "reactor_cut": 0,
        "error": None,
    }
    fields |= changes
    fields.setdefault("sha256", "-".join(str(value) for value in fields.values())[:80])
    return EpisodeRow(**fields)


def failed(**changes: Any) -> EpisodeRow:
    """One episode that ended with an error."""
    error = {"status": "failed", "score": None, "error": "ModelTimeoutError: nothing for 60 s"}
    return episode(**(error | changes))


def condition(
    *, seeds: int = 8, samples: int = 2, skill: float | None = None, **at: Any
) -> list[EpisodeRow]:
    """Seeds times samples of one agent under one condition, with scores around its skill."""
    fields = {"agent": "reactive", "game": "freeway", "difficulty": "medium"} | at
    rng = np.random.default_rng(list(repr(sorted(fields.items())).encode()))
    low, high = BOUNDS[fields["game"]]
    load = {"easy": 0.2, "medium": 0.0, "hard": -0.15}[fields["difficulty"]]
    centre = (SKILL.get(fields["agent"], 0.5) if skill is None else skill) + load
    rows = []
    for seed in range(seeds):
        seeded = centre + rng.normal(0, 0.1)
        for sample in range(samples):
            score = low + (high - low) * (seeded + rng.normal(0, 0.05))
            lengths = tuple(int(n) for n in rng.gamma(4, 350, 40))
            is_agile = fields["agent"].startswith("agile")
            rows.append(
                episode(
                    **fields,
                    game_seed=seed,
                    sample=sample,
                    score=float(score),
                    reactor_tokens=lengths if is_agile else (),
                )
            )
    return rows


def whole_suite(agents: Iterable[str] = tuple(SKILL), **size: int) -> list[EpisodeRow]:
    """Both main experiments and the sweep of the reserve."""
    rows = []
    for game in BOUNDS:
        for agent in agents:
            for load in ("easy", "hard"):
                rows += condition(game=game, agent=agent, difficulty=load, **size)
            for tokens in (32768, 16384, 8192, 4096):
                drop = {32768: 0.2, 16384: 0.1, 8192: 0.0, 4096: -0.15}[tokens]
                skill = SKILL[agent] + (drop if agent == "planning" else drop / 3)
                rows += condition(
                    game=game, agent=agent, tokens_per_step=tokens, skill=skill, **size
                )
        if "agile" in agents:
            for reserve in (512, 1024, 4096, 8192):
                skill = {512: 0.4, 1024: 0.6, 4096: 0.65, 8192: 0.5}[reserve]
                rows += condition(game=game, agent="agile", reserve=reserve, skill=skill, **size)
    return rows
