"""The published numbers of Timely-Eval, and the benchmarks of the paper that ours belong to."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path

from timeful.reports.published import Reference, load_reference
from timeful.reports.results import Where
from timeful.tasks.episode import Family

Benchmarks = Mapping[str, Sequence[str]]
"""The columns of Table 1 in its order, and the patterns of names of ours that belong to each."""


def load_published(family: Family) -> Reference:
    """The published numbers of a family; those of a stand-in are none."""
    path = Path(__file__).with_name(f"{family}.toml")
    reference = load_reference(path)
    benchmarks = tomllib.loads(path.read_text(encoding="utf-8"))["benchmarks"]
    models = dict.fromkeys(str(number.where["model"]) for number in reference.numbers)

    def key(where: Where) -> Where:
        benchmark = find_benchmark(benchmarks, str(where.get("group", "")))
        model = find_model(models, str(where.get("who", "")))
        if benchmark is None or model is None:
            return {}
        return {"benchmark": benchmark, "model": model, "budget": str(where.get("budget", "all"))}

    return replace(reference, key=key)


def find_benchmark(benchmarks: Benchmarks, group: str) -> str | None:
    """The column of Table 1 for a game, an ML task or a set, such as `math-500`."""
    name = group.lower()
    return next(
        (b for b, names in benchmarks.items() if any(fnmatch(name, n) for n in names)), None
    )


def find_model(models: Iterable[str], player: str) -> str | None:
    """The paper's name of a model such as `openai:Qwen/Qwen3-8B`; None for all others."""
    name = _plain(player.partition(":")[2].rpartition("#")[2].rpartition("/")[2])
    return next((m for m in models if _plain(m.partition(" (")[0]) == name), None)


@lru_cache(1024)  # every cell is compared with every model of the paper
def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
