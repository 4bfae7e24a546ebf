"""What the commands of Timely-Eval can be asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import click

from timeful.cli.suite import FILE, batch_options, endpoint_options

if TYPE_CHECKING:
    from timeful.tasks.episode import Family

_Command = TypeVar("_Command", bound=Callable[..., Any])

BASELINES = "runs/timely-baselines.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Everything that stands on a command line, under the names of its options.

    The commands have some thirty options in common, each with most of them; this is the one place
    where they are listed. What a command does not have keeps its default.
    """

    out: Path
    preset: str = "quick"
    cases: tuple[str, ...] = ()
    players: tuple[str, ...] = ()
    model: str | None = None
    base_url: str | None = None
    temperature: float | None = None
    record: Path | None = None
    budgets: tuple[str, ...] = ()
    latencies: tuple[str, ...] = ()
    tool_latencies: tuple[str, ...] = ()
    soft: bool = False
    alpha: float = 1.0
    timer_scale: float = 1.0
    timer_jitter: float = 0.0
    tells: str = "elapsed"
    calls: str | None = None
    max_tokens: int | None = None
    clock: str = "virtual"
    pace: Path | None = None
    runs: int | None = None
    seed: int = 0
    transcripts: str | None = None
    baselines: Path = Path(BASELINES)
    size: int | None = None
    split: str | None = None
    problems: Path | None = None
    benchmark: str = "file"
    fields: tuple[str, ...] = ()
    private: bool = False
    data: Path | None = None
    unsafe: bool = False
    workers: int | None = None
    replace: bool = False
    retry_failed: bool = False


# --- options --------------------------------------------------------------------------------------


class Options(Protocol):
    """Adds options to a command."""

    def __call__(self, command: _Command, /) -> _Command:
        """Add them."""
        ...


def _all(*options: Options) -> Options:
    """Options in the order in which they are listed."""

    def add(command: _Command) -> _Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


OWN: "Mapping[Family, Options]" = {
    "fiction": _all(
        click.option("--game", "cases", multiple=True, help="Only this game; repeatable."),
    ),
    "coding": _all(
        click.option("--case", "cases", multiple=True, help="Only this ML task; repeatable."),
        click.option(
            "--data",
            type=FILE,
            help="What `timeful prepare` wrote, or a folder of such.",
        ),
        click.option("--unsafe", is_flag=True, help="Run code even if no sandbox works here."),
    ),
    "reasoning": _all(
        click.option(
            "--case",
            "cases",
            multiple=True,
            help="A set of problems: mixed, a family, family:TERMS or gym:TASK; repeatable.",
        ),
        click.option("--size", type=int, help="How many problems of each set, or of the file."),
        click.option(
            "--split",
            help="Only problems on the side of train, validation or test; --size of them.",
        ),
        click.option("--problems", type=FILE, help="Problems of your own, a JSONL or CSV file."),
        click.option(
            "--benchmark",
            default="file",
            show_default=True,
            help="What its fields are called: file, math-500, aime or gpqa.",
        ),
        click.option(
            "--fields",
            multiple=True,
            metavar="WHAT=FIELD",
            help="Which field holds the question, answer, id, choices, wrong or kind; repeatable.",
        ),
        click.option("--private", is_flag=True, help="Keep its words out of all records."),
        click.option(
            "--unsafe", is_flag=True, help="Score reasoning-gym even if no sandbox works here."
        ),
    ),
}
"""The options that a family alone has."""

WHO = _all(
    click.option("--player", "players", multiple=True, help="Only this stand-in; repeatable."),
    click.option(
        "--model", help="A language model: openai:NAME, replay:FILE[#NAME] or local:PATH."
    ),
    endpoint_options,
)

TIME = _all(
    click.option(
        "--latency",
        "latencies",
        multiple=True,
        metavar="LAW",
        help="How long tools take: none, 2s, uniform:1s:3s, lognormal:2s:0.3 or measured; "
        "repeatable.",
    ),
    click.option(
        "--tool-latency",
        "tool_latencies",
        multiple=True,
        metavar="TOOL=LAW",
        help="Another law for one tool; repeatable.",
    ),
    click.option("--soft", is_flag=True, help="Tell and measure budgets, but cut nobody off."),
    click.option(
        "--alpha", default=1.0, show_default=True, help="How much thinking counts, tools apart."
    ),
    click.option(
        "--calls", help="How a language model is offered tools: native or text.  [default: native]"
    ),
    click.option("--max-tokens", type=int, help="The most tokens of a thought."),
    click.option(
        "--clock",
        default="virtual",
        show_default=True,
        help="virtual (tokens at their pace) or wall.",
    ),
    click.option("--pace", type=FILE, help="What tokens cost, as `timeful calibrate` measured it."),
    click.option("--seed", default=0, show_default=True, help="The seed of all chance."),
    click.option(
        "--transcripts", help="full or answers.  [default: full for language models, not private]"
    ),
    click.option(
        "--baselines",
        type=FILE,
        default=BASELINES,
        show_default=True,
        help="What unhurried runs of endpoints took: a file that `timeful baseline` adds to.",
    ),
)

PRESET = click.option(
    "--preset",
    default="quick",
    show_default=True,
    help="quick, paper (as many as published) or, of fiction, figure2.",
)

LIMITS = _all(
    PRESET,
    click.option(
        "--budget",
        "budgets",
        multiple=True,
        help="0.75x (of one's own unhurried time), 30steps (of one's own), 30@WHO (of another's), "
        "20s or none; repeatable.",
    ),
    click.option(
        "--timer-scale", default=1.0, show_default=True, help="Timers are wrong by this factor."
    ),
    click.option(
        "--timer-jitter", default=0.0, show_default=True, help="And by this noise, in seconds."
    ),
    click.option(
        "--tells",
        default="elapsed",
        show_default=True,
        help="What tools say of the time: elapsed, remaining, both or nothing.",
    ),
)

BATCH = _all(
    click.option("--runs", type=int, help="How often each case, with other chance."),
    batch_options,
)
