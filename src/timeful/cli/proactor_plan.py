"""What the options of `timeful run proactor` mean: conversations, paces, judges and pages."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Sequence

    from timeful.domains.dialogue_set import DialogueSource
    from timeful.judges.settings import JudgeFile, Judger
    from timeful.models.model import Model
    from timeful.models.pace import Pace
    from timeful.suites.proactor.dialogues import Pages
    from timeful.suites.proactor.rows import ProactorRow
    from timeful.suites.proactor.spec import Tempo

_Command = TypeVar("_Command", bound=Callable[..., Any])


def pages_option(command: _Command) -> _Command:
    """Add `pages`."""
    option = click.option(
        "--pages",
        default="20",
        show_default=True,
        help="Which dialogues are drawn, a page each: the first so many, all, or one by its name.",
    )
    return option(command)


def tempo_options(command: _Command) -> _Command:
    """Add `speaking_wpm`, `reading_wpm`, `pause` and `spread`."""
    for option in (
        click.option("--spread", type=float, help="How much these spans vary.  [default: 0.25]"),
        click.option("--pause", type=float, help="Seconds before a turn.  [default: 1]"),
        click.option(
            "--reading-wpm",
            type=float,
            help="Words a minute that people read; 0 where they hear.  [default: 240]",
        ),
        click.option(
            "--speaking-wpm",
            type=float,
            help="Words a minute that people speak or type.  [default: 40 at a pace; with "
            "timestamps a turn is there at once]",
        ),
    ):
        command = option(command)
    return command


def tempo(
    speaking_wpm: float | None,
    reading_wpm: float | None,
    pause: float | None,
    spread: float | None,
) -> "Tempo":
    """How fast people are, as a command line says it."""
    from timeful.suites.proactor.spec import Tempo

    usual = Tempo()
    return Tempo(
        speaking_wpm=speaking_wpm,
        reading_wpm=usual.reading_wpm if reading_wpm is None else reading_wpm,
        pause_s=usual.pause_s if pause is None else pause,
        spread=usual.spread if spread is None else spread,
    )


def asks_endpoint(judge: str | None) -> bool:
    """Whether a judge is named by its model, and not by a file that says where it is."""
    return judge is not None and judge.startswith("openai:")


def judges_of(judge: str, base_url: str | None) -> "JudgeFile":
    """The judges that a command line names, before anything is played.

    Raises:
        SettingsError: If there is none of this name, or its file is wrong.
    """
    from timeful.errors import SettingsError
    from timeful.judges.settings import JudgeFile, Judger, read_judges

    if not asks_endpoint(judge):
        return read_judges(Path(judge))
    model = judge.partition(":")[2]
    if not model or not base_url:
        raise SettingsError(f"the judge {judge} needs a model's name and --base-url")
    return JudgeFile(
        judgers=(Judger(name=model, model=model, base_url=base_url, using_short_model_name=False),)
    )


def rate_run(out: Path, rows: "Sequence[ProactorRow]", judges: "JudgeFile") -> list[str]:
    """Have a run rated; Ctrl-C keeps what was said, and exits with 130."""
    from timeful.models.chat import OpenAIModel
    from timeful.suites.proactor.judging import rate

    opened: list[OpenAIModel] = []

    def open_judge(judger: "Judger") -> "Model":
        opened.append(judger.endpoint(os.environ.get(judger.api_key_name, "")))
        return opened[-1]

    try:
        return rate(out, rows, judges, open_judge, lambda said: print(said, file=sys.stderr))
    except KeyboardInterrupt:
        print("\nstopped; what was rated is kept, the same command goes on", file=sys.stderr)
        raise SystemExit(130) from None
    finally:
        for one in opened:
            one.close()


def pages_of(pages: str) -> "Pages":
    """Which dialogues a command line wants drawn.

    Raises:
        SettingsError: If it is less than none.
    """
    from timeful.errors import SettingsError

    try:
        count = int(pages)
    except ValueError:
        return pages
    if count < 0:
        raise SettingsError(f"--pages is 0 or more, all, or the name of a dialogue, got {count}")
    return count


def paces(
    token_ms: tuple[float, ...], first_ms: float, measured: Path | None = None
) -> "tuple[Pace, ...]":
    """What tokens cost, as a command line or what was measured says it."""
    from timeful.core.units import milliseconds
    from timeful.errors import SettingsError
    from timeful.models.calibrate import load_calibration
    from timeful.models.pace import Pace
    from timeful.suites.proactor.sweep import PACES

    if measured is not None:
        return (load_calibration(measured).pace,)
    for given in (*token_ms, first_ms):
        if not 0 <= given < 1e6:
            raise SettingsError(f"what a token takes must be 0 ms or above, got {given:g}")
    first = milliseconds(first_ms)
    if not token_ms:
        return tuple(Pace(first=first, per_token=pace.per_token) for pace in PACES)
    return tuple(Pace(first=first, per_token=milliseconds(each)) for each in token_ms)


def source_of(
    domain: str | None,
    data: Path | None,
    *,
    abcd: Path | None,
    catalog: Path | None,
    ontology: Path | None,
    split: str | None,
    dialogues: int | None,
    seed: int,
    agents: "Sequence[str]",
) -> "DialogueSource":
    """Which conversations a command line names; the domain may be that of its agents' files.

    Without a word on it, the split is test; of a file that has none of this name, all counts.
    """
    from dataclasses import replace

    from timeful.agents.proactive.settings import ToolCatalog
    from timeful.domains.dialogue_set import DialogueSource, digest, has_split
    from timeful.errors import SettingsError
    from timeful.suites.proactor.agents import tools_of

    told = ToolCatalog() if domain or abcd or catalog else tools_of(agents)
    domain = domain or told.domain or DialogueSource().domain
    catalog = Path(told.catalog) if told.catalog else catalog
    if ontology is not None and catalog is None:
        raise SettingsError("--ontology has no effect: it is for --catalog")
    size = dialogues if data is not None or dialogues is not None else DialogueSource().size
    source = DialogueSource(
        domain=domain,
        data=_text(data),
        abcd=_text(abcd),
        catalog=_text(catalog),
        ontology=_text(ontology),
        split="" if split == "all" else split or DialogueSource().split,
        size=size,
        seed=seed,
        digest="-".join(digest(one) for one in (data, catalog, ontology) if one is not None),
    )
    if split is None and data is not None and not has_split(source):
        print(f"{data.name} has no split called test: all of it counts", file=sys.stderr)
        return replace(source, split="")
    return source


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
