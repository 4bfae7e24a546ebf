"""The published numbers of Timely-Eval, and the benchmarks of the paper that ours belong to."""

from collections.abc import Mapping
from pathlib import Path

from timeful.reports.published import Reference, load_reference
from timeful.reports.results import Where
from timeful.tasks.episode import Family

BENCHMARKS: Mapping[Family, Mapping[str, tuple[str, ...]]] = {
    "reasoning": {"MATH": ("math",), "AIME": ("aime",), "GPQA Diam.": ("gpqa",)},
    "fiction": {
        "Zork1": ("zork1",),
        "Advent": ("advent", "cave"),
        "Enchanter": ("enchanter",),
        "Detective": ("detective",),
    },
    "coding": {
        "Leaf": ("leaf-classification",),
        "Spaceship": ("spaceship-titanic",),
        "Pizza": ("random-acts-of-pizza",),
        "Insults": ("detecting-insults-in-social-commentary",),
    },
}
"""By family, the columns of Table 1 in its order, and the names of ours that belong to each."""

MODELS = (
    "GPT-5.1 (medium)",
    "DeepSeek-V3.2",
    "Gemini2.5-pro",
    "Qwen3-8B",
    "Qwen3-14B",
    "Qwen3-32B",
    "TimelyLM-8B",
)
"""The models of Table 1. Table 2 says GPT5.1, taken to be the GPT-5.1 (medium) of Table 1."""


def published_key(family: Family, where: Where) -> dict[str, str]:
    """The values that the published number of a cell is looked up by; of a stand-in, none."""
    benchmark = find_benchmark(family, str(where.get("group", "")))
    model = find_model(str(where.get("who", "")))
    if benchmark is None or model is None:
        return {}
    return {"benchmark": benchmark, "model": model, "budget": str(where.get("budget", "all"))}


def find_benchmark(family: Family, group: str) -> str | None:
    """The column of Table 1 for a game, an ML task or a set; a file's name may go on."""
    name = group.lower()
    for benchmark, names in BENCHMARKS[family].items():
        if name in names or (family == "reasoning" and name.startswith(names)):
            return benchmark
    return None


def find_model(player: str) -> str | None:
    """The paper's name of a model such as `openai:Qwen/Qwen3-8B`; None for all others."""
    name = _plain(player.partition(":")[2].rpartition("#")[2].rpartition("/")[2])
    return next((m for m in MODELS if _plain(m.partition(" (")[0]) == name), None)


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())


def load_published(family: Family) -> Reference:
    """The published numbers of a family."""
    path = Path(__file__).with_name(f"{family}.toml")
    return load_reference(path, key=lambda where: published_key(family, where))


def _ablation() -> dict[str, dict[str, float]]:
    table: dict[str, dict[str, float]] = {}
    for number in load_published("reasoning").numbers:
        if number.source == TABLE_3:
            method, benchmark = str(number.where["model"]), str(number.where["benchmark"])
            table.setdefault(method, {})[benchmark] = number.value
    return table


TABLE_3 = "Timely Machine, Table 3"
ABLATION = _ablation()
"""Table 3: on time under 0.75x, by method and benchmark, in percent."""
