"""Cold-start traces: solutions that watch the time, checked in two stages (Timely Machine, 4.2).

In the folder lie

| file | what |
| --- | --- |
| `train.jsonl`, `validation.jsonl`, `test.jsonl` | the traces that passed, as chat messages |
| `rejected.jsonl` | the others: the name of the record, and the rule that it broke |
| `README.md` | the card |
| `episodes/`, `rows.jsonl`, `settings.json` | the run that they come from |
| `judged/` | what the judge said of which answer |

The data are made of the records when nothing is left to play: the same settings and answers make
the same bytes, whatever was interrupted and however many worked on it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from timeful.environments.reasoning.split import SPLITS, Split
from timeful.errors import SettingsError
from timeful.experiments.rows import RowMaker
from timeful.experiments.run import Watcher, make_job
from timeful.experiments.sweep import PlannedEpisode
from timeful.records.folder import locked, open_folder
from timeful.runs.batch import RUN, run_batch
from timeful.tasks.rows import TaskRow, summarize
from timeful.training.data import generate
from timeful.training.data.episodes import Episode, LeftOut, Run
from timeful.training.data.files import (
    COLUMNS,
    Columns,
    Row,
    describe_columns,
    number_names,
    write_card,
    write_rows,
)
from timeful.training.data.filters import RULES, Rule, final_data, find_broken_rule
from timeful.training.data.rows import sft_row
from timeful.training.data.settings import Judge, Settings
from timeful.training.data.verify import Answer, Verdict, judge_all
from timeful.version import __version__

NAME = "traces"

COLUMNS_OF_TRACES: Columns = {**COLUMNS["sft"], "problem": "text", "jitter_s": "number"}
_REJECTED: Columns = {"episode": "text", "rule": "text", "votes": "text"}


@dataclass(slots=True, kw_only=True)
class TraceResult:
    """What came of the traces.

    Attributes:
        card: The card.
        splits: How many there are of each split.
        rejected: How many broke which rule.
        judged: How many answers the judge found right against the rules, wrong, and could not say.
        left_out: Episodes that were no data.
        unjudged: Traces of which the judge could not say, with why.
    """

    card: Path
    splits: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SPLITS, 0))
    rejected: dict[str, int] = field(default_factory=lambda: dict.fromkeys(RULES, 0))
    judged: dict[str, int] = field(default_factory=dict)
    left_out: LeftOut = field(default_factory=LeftOut)
    unjudged: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Check:
    """What the rules found of a trace: the first that it breaks, and its side."""

    rule: Rule | None
    split: Split


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judging:
    """How answers are judged that the rules reject: see `make_traces`."""

    judge: Judge
    api_key: str = field(repr=False)
    workers: int
    retry_failed: bool
    watcher: Watcher | None


def make_traces(
    settings: Settings,
    out: Path,
    *,
    workers: int,
    replace: bool = False,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    keys: Mapping[str, str],
) -> TraceResult:
    """Play the episodes that are missing, and make traces of all; or of a run that exists.

    Args:
        settings: All settings.
        out: The folder of the data, and of the episodes that are played.
        workers: The number of processes, and of answers judged at a time.
        replace: Start again if the folder holds traces with other settings.
        retry_failed: Play failed episodes again, and ask again where the judge gave no verdict.
        watcher: Follows the run.
        keys: The keys of endpoints by environment variable; never written to a file.

    Raises:
        SettingsError: If a setting is invalid, the run is not one of reasoning, or `out` is that
            run; nothing is played or written.
    """
    judging = None
    if (judge := settings.judge) is not None:
        judging = _Judging(
            judge=judge,
            api_key=keys.get(judge.api_key_name, ""),
            workers=workers,
            retry_failed=retry_failed,
            watcher=watcher,
        )
    if settings.records:
        records = Path(settings.records)
        if out.resolve() == records.resolve():
            raise SettingsError(f"{out} is the run itself; choose another folder with --out")
        with locked(out):
            return _make(settings, records, out, judging)
    episodes = generate.specs_of(settings)
    generate.check(episodes)
    teacher = settings.teacher
    job = make_job(
        generate.play,
        RowMaker(summarize=summarize, struct=TaskRow, fields=(), columns=()),
        api_key="" if teacher is None else keys.get(teacher.api_key_name, ""),
    )
    plan = [PlannedEpisode(key=e.key, settings=e.settings(), episode=e) for e in episodes]
    identity = {**generate.common(episodes[0]), "traces": settings.about()}
    about = {"suite": NAME, "version": __version__, **identity}
    with open_folder(out, about, RUN, replace=replace):
        if watcher is not None:
            watcher.start(len(plan))
        on_row = watcher.advance if watcher is not None else lambda _: None
        run_batch(plan, job, out, workers=workers, retry_failed=retry_failed, on_row=on_row)
        return _make(settings, out, out, judging)


def _make(settings: Settings, records: Path, out: Path, judging: _Judging | None) -> TraceResult:
    """Check the episodes of a run, and write those that pass as data."""
    run = Run(records, shares=settings.splits)
    if run.suite not in (NAME, "timely/reasoning"):
        raise SettingsError(f"{records} is a run of {run.suite}; traces are made of reasoning")
    checked: dict[str, _Check] = {}
    wrong: list[Answer] = []
    for episode in run:
        rule = find_broken_rule(episode, least_calls=settings.least_calls)
        checked[episode.key] = _Check(rule, episode.split)
        if (
            rule == "answer"
            and judging is not None
            and (answer_text := final_data(episode)["answer"])
        ):
            wrong.append(_answer(episode, answer_text, settings.seed))
    result = TraceResult(card=out / "README.md", left_out=run.left_out)
    verdicts = {} if judging is None else _judged(wrong, judging, out, result)
    for key, verdict in verdicts.items():
        if verdict.is_right:
            checked[key] = _Check(None, checked[key].split)
    for split in SPLITS:
        keys = [key for key, check in checked.items() if check == _Check(None, split)]
        rows = (_row(run.read(key)) for key in keys)
        result.splits[split] = write_rows(rows, out / f"{split}.jsonl", COLUMNS_OF_TRACES)
    write_rows(_rejected(checked, verdicts, result), out / "rejected.jsonl", _REJECTED)
    _write_card(settings, run, result)
    return result


def _answer(episode: Episode, text: str, seed: int) -> Answer:
    problem = episode.problem
    assert problem is not None, "an episode of reasoning has a problem"
    question = "\n".join((problem.question, *problem.choices))
    return Answer(trace=episode.key, question=question, right=problem.answer, text=text, seed=seed)


def _judged(
    wrong: list[Answer], judging: _Judging, out: Path, result: TraceResult
) -> dict[str, Verdict]:
    def on_verdict(verdict: Verdict) -> None:
        if verdict.error is not None and judging.watcher is not None:
            judging.watcher.say(f"no verdict on {verdict.trace}: {verdict.error}")

    verdicts = judge_all(
        wrong,
        judging.judge,
        out / "judged",
        api_key=judging.api_key,
        workers=judging.workers,
        retry_failed=judging.retry_failed,
        on_verdict=on_verdict,
    )
    for key, verdict in sorted(verdicts.items()):
        name = (
            "no verdict" if verdict.error is not None else "right" if verdict.is_right else "wrong"
        )
        result.judged[name] = result.judged.get(name, 0) + 1
        if verdict.error is not None:
            result.unjudged.append(f"{key}: {verdict.error}")
    return verdicts


def _row(episode: Episode) -> Row:
    assert episode.problem is not None, "an episode of reasoning has a problem"
    timer = msgspec.json.decode(episode.conditions)["timer"] or {}
    return {
        **sft_row(episode, episode.conversations[0]),
        "reward": 1.0,  # also where it was the judge who said so
        "problem": episode.problem.id,
        "jitter_s": timer.get("jitter", 0.0),
    }


def _rejected(
    checked: Mapping[str, _Check], verdicts: Mapping[str, Verdict], result: TraceResult
) -> Iterator[Row]:
    for key, trace in checked.items():
        if trace.rule is not None:
            result.rejected[trace.rule] += 1
            verdict = verdicts.get(key)
            votes = [] if verdict is None else ["yes" if vote else "no" for vote in verdict.votes]
            yield {"episode": key, "rule": trace.rule, "votes": " ".join(votes) or None}


def _write_card(settings: Settings, run: Run, result: TraceResult) -> None:
    files = {split: count for split, count in result.splits.items() if count}
    write_card(
        result.card,
        "Solutions that watch the time",
        "Each row is a conversation in which a problem is solved under a budget of time, with a "
        "timer that is asked on the way. The times are those of the simulated clock: tokens at a "
        f"pace, weighed by alpha. {_describe_source(settings)}",
        {
            "Columns": describe_columns(COLUMNS_OF_TRACES),
            "Traces": result.splits,
            "Rejected, by the first rule that was broken": {
                rule: count for rule, count in result.rejected.items() if count
            },
            "Answers that the rules found wrong, as the judge found them": result.judged,
            "Episodes that failed, by where": result.left_out.failed,
            "Records that cannot be read": number_names("record", result.left_out.broken),
            "Settings": _describe_settings(settings, run),
        },
        {split: f"{split}.jsonl" for split in files},
    )


def _describe_source(settings: Settings) -> str:
    if settings.records:
        return "The episodes were played before, by whom each row says."
    if settings.teacher is not None:
        return f"The solutions are those of {settings.teacher.model}."
    return (
        "The solutions were worked out by the programs that made the problems: no language model."
    )


def _describe_settings(settings: Settings, run: Run) -> dict[str, object]:
    about: dict[str, Any] = settings.about()
    time = about.pop("time")
    table = {"seed": settings.seed, "splits": _line(about["splits"])}
    if settings.records:
        return table | {"records": f"a run of {run.suite}, {Path(settings.records).name}"}
    problems = dict(about["problems"], file=Path(about["problems"]["file"]).name)
    table |= {"problems": _line(problems), "traces of each problem": settings.each}
    table |= {name: _line(value) for name, value in time.items()}
    if settings.teacher is not None:
        table["teacher"] = settings.teacher.model
    if settings.judge is not None:
        table["judge"] = f"{settings.judge.model_name}, {settings.judge.votes} votes, all yes"
    return table


def _line(value: object) -> str:
    return msgspec.json.encode(value).decode()
