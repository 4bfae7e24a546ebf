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

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from timeful.environments.reasoning.problems import Problem
from timeful.environments.reasoning.split import SPLITS, Split
from timeful.errors import SettingsError
from timeful.experiments.estimate import Estimate, add_judges, estimate_episodes
from timeful.experiments.rows import RowMaker
from timeful.experiments.run import Watcher, choose_keys, make_job
from timeful.experiments.sweep import PlannedEpisode
from timeful.models.ledger import Expense
from timeful.models.model_spec import ModelSpec
from timeful.models.preflight import Preflight, check_endpoints
from timeful.models.prices import Price
from timeful.models.spending import Budget, track_spending
from timeful.models.traffic import Limits, under
from timeful.records.folder import check_folder, locked, open_folder
from timeful.records.usage_total import read_usage
from timeful.reports.usage import describe_usage
from timeful.runs.batch import RUN, find_missing, has_record, run_batch
from timeful.runs.concurrency import choose_concurrency, find_live_models
from timeful.tasks.episode import TaskEpisode
from timeful.tasks.library import process_library
from timeful.tasks.rows import TaskRow, summarize
from timeful.training.data import generate
from timeful.training.data.episodes import Episode, LeftOut, Run
from timeful.training.data.files import (
    COLUMNS,
    Row,
    describe_columns,
    number_names,
    write_card,
    write_rows,
)
from timeful.training.data.filters import RULES, Rule, find_broken_rule
from timeful.training.data.rows import sft_row
from timeful.training.data.settings import Settings, source_of
from timeful.training.data.verify import (
    Answer,
    Verdict,
    estimate_votes,
    find_unjudged,
    judge_all,
)
from timeful.version import __version__

NAME = "traces"

COLUMNS_OF_TRACES = (*COLUMNS["sft"], "problem", "jitter_s")


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


def make_traces(  # noqa: PLR0913 - as `run_suite`
    settings: Settings,
    out: Path,
    *,
    workers: int | None,
    limits: Limits | None = None,
    replace: bool = False,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    keys: Mapping[str, str],
    preflight: Preflight | None = None,
    budget: Budget | None = None,
) -> TraceResult:
    """Play the episodes that are missing, and make traces of all; or of a run that exists.

    Args:
        settings: All settings.
        out: The folder of the data, and of the episodes that are played.
        workers: The number of processes; None for as many as the work needs.
        limits: The limits of the traffic to endpoints, the judge's too; None for the defaults
            where an endpoint answers.
        replace: Start again if the folder holds traces with other settings.
        retry_failed: Play failed episodes again, and ask again where the judge gave no verdict.
        watcher: Follows the run.
        keys: The keys of endpoints by environment variable; never written to a file.
        preflight: How the teacher and the judge are checked; None for no check.
        budget: The most that may be spent on the teacher and the judge.

    Raises:
        SettingsError: If a setting is invalid, the run is not one of reasoning, or `out` is that
            run; nothing is played or written.
    """
    judge = settings.judge
    say = watcher.say if watcher is not None else lambda _: None
    missing: Sequence[TaskEpisode] = ()
    if settings.records:
        records = Path(settings.records)
        if out.resolve() == records.resolve():
            raise SettingsError(f"{out} is the run itself; choose another folder with --out")
        folder: AbstractContextManager[object] = locked(out)
    else:
        records, (episodes, about) = out, _plan(settings)
        if not replace:
            check_folder(out, about, RUN)
        missing = [e for e in episodes if replace or not has_record(out, e.key)]
        folder = open_folder(out, about, RUN, replace=replace)
    is_judged = missing or find_answers(settings, out, retry_failed=retry_failed)
    probes: Sequence[Expense] = check_endpoints(
        [*find_live_models(missing), *_find_judges(settings if is_judged else None)],
        keys,
        preflight=preflight,
        budget=budget,
        say=say,
        limits=limits,
        folders=[out],
    )

    with folder, track_spending(out, budget) as spending:
        spending.enter(probes)
        if not settings.records:
            if watcher is not None:
                watcher.start(len(episodes))
                watcher.follow(spending)
            processes, flight = choose_concurrency(episodes, workers=workers, limits=limits)
            run_batch(
                list(map(_planned, episodes)),
                make_job(
                    generate.play,
                    RowMaker(summarize=summarize, struct=TaskRow, fields=(), columns=()),
                    api_key=choose_keys(episodes, keys),
                ),
                out,
                workers=processes,
                limits=flight,
                spending=spending,
                retry_failed=retry_failed,
                on_row=watcher.advance if watcher is not None else lambda _: None,
            )
        run = _open_run(settings, out)
        traces, wrong = _check(run, settings)
        verdicts: Mapping[str, Verdict] = {}
        if judge is not None:
            with under(limits, spending.share()):
                verdicts = judge_all(
                    wrong,
                    judge,
                    out / "judged",
                    api_key=keys.get(judge.key_name, ""),
                    workers=(limits or Limits()).connections,
                    retry_failed=retry_failed,
                    on_verdict=lambda verdict: _say_missing(verdict, say),
                )
        return _write(run, settings, out, traces, verdicts)


def estimate_traces(
    settings: Settings,
    out: Path,
    *,
    replace_run: bool = False,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
    check: Callable[[Sequence[ModelSpec]], object] = lambda _: None,
) -> Estimate:
    """Estimate what the teacher and the judge would be asked; see `estimate_run`.

    The judge is asked about answers that the rules find wrong. Those of episodes that are to come
    are counted as if all of them were wrong, so that the judge has fewer requests.

    Raises:
        SettingsError: If a setting is invalid.
    """
    live: list[TaskEpisode] = []
    missing: list[TaskEpisode] = []
    if not settings.records:
        episodes, about = _plan(settings)
        live = [episode for episode in episodes if episode.role.is_live]
        missing = live if replace_run else find_missing(live, out, about)
    is_kept = settings.records or len(live) > len(missing)
    answers = find_answers(settings, out) if is_kept else []
    judges = _find_judges(settings if missing or answers else None)
    check([*find_live_models(missing), *judges])
    expected = estimate_episodes(
        partial(generate.play, api_key=""),
        [_planned(episode) for episode in missing],
        out,
        missing=len(missing),
        finished=len(live) - len(missing),
        limits=limits,
        prices=prices,
    )
    if settings.judge is None or not judges:
        return expected
    answers += _expect_answers(settings, missing)
    return add_judges(
        expected,
        [(judges[0], estimate_votes(answers, settings.judge))],
        limits or Limits(),
        prices or {},
        remark="The judge is counted as if all answers to come were wrong." if missing else "",
    )


def find_models(settings: Settings) -> list[ModelSpec]:
    """The models behind endpoints that play episodes, and the judge."""
    episodes = [] if settings.records else generate.specs_of(settings)
    return [*find_live_models(episodes), *_find_judges(settings)]


def find_answers(settings: Settings, out: Path, *, retry_failed: bool = False) -> list[Answer]:
    """The answers in the records that the judge will be asked about."""
    if settings.judge is None:
        return []
    answers = _check(_open_run(settings, out), settings)[1]
    return find_unjudged(answers, settings.judge, out / "judged", retry_failed=retry_failed)


def _find_judges(settings: Settings | None) -> list[ModelSpec]:
    return [] if settings is None or settings.judge is None else [settings.judge.choose()]


def _expect_answers(settings: Settings, episodes: Sequence[TaskEpisode]) -> list[Answer]:
    """Answers to the problems of episodes that are to come, as long as the right ones."""
    if settings.problems is None:
        return []
    problems = process_library().problems(source_of(settings.problems), settings.seed)
    return [
        _make_answer(settings, e.key, problems[e.case], problems[e.case].answer) for e in episodes
    ]


def _open_run(settings: Settings, out: Path) -> Run:
    """The run that the traces are made of.

    Raises:
        SettingsError: If it is not one of reasoning.
    """
    records = Path(settings.records) if settings.records else out
    run = Run(records, shares=settings.splits)
    if run.suite not in (NAME, "timely/reasoning"):
        raise SettingsError(f"{records} is a run of {run.suite}; traces are made of reasoning")
    return run


def _plan(settings: Settings) -> tuple[Sequence[TaskEpisode], dict[str, Any]]:
    """The episodes of settings, and what identifies their folder."""
    episodes = generate.specs_of(settings)
    generate.check(episodes)
    identity = {**generate.common(episodes[0]), "traces": settings.about()}
    return episodes, {"suite": NAME, "version": __version__, **identity}


def _planned(episode: TaskEpisode) -> PlannedEpisode:
    return PlannedEpisode(key=episode.key, settings=episode.settings(), episode=episode)


def _say_missing(verdict: Verdict, say: Callable[[str], None]) -> None:
    if verdict.error is not None:
        say(f"no verdict on {verdict.trace}: {verdict.error}")


_Traces = Mapping[str, tuple[Rule | None, Split]]
"""The first rule that each trace breaks, and its side."""


def _check(run: Run, settings: Settings) -> tuple[_Traces, list[Answer]]:
    """Check the episodes of a run; also the answers that break no other rule, for a judge."""
    traces: dict[str, tuple[Rule | None, Split]] = {}
    wrong: list[Answer] = []
    for episode in run:
        rule = find_broken_rule(episode, least_calls=settings.least_calls)
        traces[episode.key] = rule, episode.split
        if rule == "answer" and (text := episode.over["answer"]):
            problem = episode.problem
            assert problem is not None, "an episode of reasoning has a problem"
            wrong.append(_make_answer(settings, episode.key, problem, text))
    return traces, wrong


def _make_answer(settings: Settings, trace: str, problem: Problem, text: str) -> Answer:
    return Answer(
        trace=trace,
        question="\n".join((problem.question, *problem.choices)),
        right=problem.answer,
        text=text,
        seed=settings.seed,
    )


def _write(
    run: Run, settings: Settings, out: Path, traces: _Traces, verdicts: Mapping[str, Verdict]
) -> TraceResult:
    result = TraceResult(card=out / "README.md", left_out=run.left_out)
    for _, verdict in sorted(verdicts.items()):
        name = "no verdict" if verdict.error else "right" if verdict.is_right else "wrong"
        result.judged[name] = result.judged.get(name, 0) + 1
        if verdict.error is not None:
            result.unjudged.append(f"{verdict.trace}: {verdict.error}")
    rejected: list[Row] = []
    passed: dict[Split, list[str]] = {split: [] for split in SPLITS}
    for key, (rule, split) in traces.items():
        votes = verdicts[key].votes if key in verdicts else ()
        if rule is None or (key in verdicts and verdicts[key].is_right):
            passed[split].append(key)
        else:
            result.rejected[rule] += 1
            words = " ".join("yes" if vote else "no" for vote in votes)
            rejected.append({"episode": key, "rule": rule, "votes": words or None})
    for split, keys in passed.items():
        rows = (_row(run.read(key)) for key in keys)
        result.splits[split] = write_rows(rows, out / f"{split}.jsonl", COLUMNS_OF_TRACES)
    write_rows(rejected, out / "rejected.jsonl", ("episode", "rule", "votes"))
    judge = "" if settings.judge is None else settings.judge.model_name
    judged = (((judge, "judge"), v.usage) for v in verdicts.values() if v.usage is not None)
    usage = read_usage((path for path in run.paths if path.stem in traces), judged)
    _write_card(settings, result, describe_usage(usage))
    return result


def _row(episode: Episode) -> Row:
    assert episode.problem is not None, "an episode of reasoning has a problem"
    timer = msgspec.json.decode(episode.conditions)["timer"] or {}
    return {
        **sft_row(episode, episode.conversations[0]),
        "reward": 1.0,  # also where it was the judge who said so
        "problem": episode.problem.id,
        "jitter_s": timer.get("jitter", 0.0),
    }


def _write_card(settings: Settings, result: TraceResult, usage: Mapping[str, str]) -> None:
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
            "Tokens, as servers count them": usage,
            "Episodes that failed, by where": result.left_out.failed,
            "Records that cannot be read": number_names("record", result.left_out.broken),
            "Settings": _describe_settings(settings),
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


def _describe_settings(settings: Settings) -> dict[str, object]:
    """The settings, with names in place of paths and addresses."""
    about = settings.about()
    time, problems = about.pop("time"), about["problems"]
    if problems is not None:
        problems["file"] = Path(problems["file"]).name
    about["records"] = Path(settings.records).name
    about |= time | {"teacher": settings.teacher and settings.teacher.model}
    about["judge"] = settings.judge and settings.judge.model_name
    return {
        name: value if isinstance(value, str) else msgspec.json.encode(value).decode()
        for name, value in about.items()
        if value not in (None, "")
    }
