"""Proactiveness ratings, PR: a judge rates each case once, and its answers are kept.

`ratings.jsonl` in a run folder has a line for each answer. A case is the conversation up to a turn
and the predictions there; it is rated once for all agents and runs. Only the episodes of Table 1
are rated, without their lost turns.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

import msgspec

from timeful.dialogues.opportunity import write_opportunities
from timeful.dialogues.transcript import transcript
from timeful.errors import SettingsError
from timeful.experiments.suite import ReportData
from timeful.experiments.sweep import PlannedEpisode
from timeful.judges.proactiveness import Case, Rubric, Verdict, make_messages, rate_case
from timeful.judges.settings import RATING_TOKENS, JudgeFile, Judger, read_judges
from timeful.metrics.proactor.episodes import read_conversation
from timeful.metrics.proactor.judge_score import MeanRating, mean_rating
from timeful.metrics.proactor.spread import Spread, over_runs
from timeful.models.cancellation import ask_concurrently
from timeful.models.demand import Demand
from timeful.models.kinds import KINDS, is_live
from timeful.models.live_answer import LiveModel
from timeful.models.model import Model
from timeful.models.model_spec import ModelSpec
from timeful.models.request import MOST_TOKENS, estimate_prompt
from timeful.records.events import Entry
from timeful.records.recorder import read_record
from timeful.records.store import KeyedLog, read_log
from timeful.records.usage import Usage
from timeful.records.usage_total import NamedUsage
from timeful.suites.proactor.episode import ProactorEpisode
from timeful.suites.proactor.rows import ProactorRow

FILE = "ratings.jsonl"
_BATCH = 32
"""The number of cases that are asked at a time; after each batch the answers are on disk."""


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file: the answer of a judge to a case; without a rating it failed.

    `rubric` is a digest of the judge's settings and prompts; `case` is a digest of the conversation
    up to the turn and of the predictions.
    """

    judge: str
    model: str
    rubric: str
    case: str
    dialogue: str
    turn: int
    rating: int | None
    reasoning: str
    error: str
    tries: int
    failure: str | None = None
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRating:
    """The ratings of an agent by one judge.

    Attributes:
        judge: Its name.
        model: Its model.
        spread: PR over runs; None if nothing was rated from 1 to 5.
        mean: All runs together.
        n_missing: Cases without a rating.
    """

    judge: str
    model: str
    spread: Spread | None
    mean: MeanRating
    n_missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """All judges of a run.

    Attributes:
        ratings: By agent, the ratings of each judge.
        requests: By judge, the number of requests, failures and repetitions included.
        errors: By judge, the last error.
    """

    ratings: dict[str, tuple[AgentRating, ...]]
    requests: dict[str, int]
    errors: dict[str, str]


NO_JUDGE = Bench(ratings={}, requests={}, errors={})


def find_judges(judge: str, base_url: str | None) -> JudgeFile:
    """The judges of a `KIND:NAME` behind an endpoint, or of a YAML file.

    Raises:
        SettingsError: If there are none, or the file is wrong.
    """
    if not is_live(judge):
        return read_judges(Path(judge))
    kind, _, name = judge.partition(":")
    if not name or not (base_url or KINDS[kind].base_url):
        raise SettingsError(f"the judge {judge} needs a model's name and --base-url")
    model = name if kind == "openai" else judge
    return JudgeFile(judgers=(Judger(name=name, model=model, base_url=base_url or ""),))


# --- asking ---------------------------------------------------------------------------------------


def finish(data: ReportData, keys: Mapping[str, str], say: Callable[[str], None]) -> list[str]:
    """Ask the judge of a run, if it has one, before its report."""
    if not data.options["judge"]:
        return []
    judges = find_judges(data.options["judge"], data.options["base_url"])
    models: list[LiveModel] = []

    def open_judge(judger: Judger) -> Model:
        models.append(judger.endpoint(keys.get(judger.key_name, "")))
        return models[-1]

    try:
        return rate(data.out, data.rows, judges, open_judge, say)
    finally:
        for model in models:
            model.close()


def rate(
    out: Path,
    rows: Iterable[ProactorRow],
    judges: JudgeFile,
    open_judge: Callable[[Judger], Model],
    say: Callable[[str], None],
) -> list[str]:
    """Ask for the ratings that are missing.

    Args:
        out: The run folder.
        rows: Its episodes.
        judges: The judges and their prompts.
        open_judge: Makes the model of a judge.
        say: Shows the number of requests, before any.

    Returns:
        What went wrong, a sentence for each judge that failed.
    """
    cases = dict(_cases(out, rows))
    log = KeyedLog(
        out / FILE,
        Rating,
        key=lambda rating: (rating.judge, rating.rubric, rating.case),
        sync=True,
    )
    problems = []
    for judger in judges.judgers:
        rubric = _rubric(judger, judges)
        keys = ((digest, (judger.name, rubric, digest)) for digest in cases)
        rated = {digest for digest, key in keys if key in log and log[key].rating is not None}
        missing = [(digest, case) for digest, case in cases.items() if digest not in rated]
        say(
            f"judge {judger.name}: {len(cases)} different cases, {len(cases) - len(missing)} rated "
            f"before: {len(missing)} requests or more"
        )
        if missing:
            problems += _rate(log, missing, judger, judges, open_judge(judger))
    return problems


def _rate(
    log: KeyedLog[tuple[str, str, str], Rating],
    missing: Sequence[tuple[str, Case]],
    judger: Judger,
    judges: JudgeFile,
    model: Model,
) -> list[str]:
    rubric = _make_rubric(judger, judges)

    def make(case: str, verdict: Verdict) -> Rating:
        return Rating(
            judge=judger.name,
            model=judger.model,
            rubric=_rubric(judger, judges),
            case=case,
            **asdict(verdict),
        )

    failed, error = 0, ""
    remaining = iter(missing)
    while batch := list(islice(remaining, _BATCH)):
        verdicts: dict[str, Verdict] = {}
        try:
            _ask(model, batch, rubric, verdicts)
        finally:  # also if a refusal ends the run
            ratings = [make(case, verdicts[case]) for case, _ in batch if case in verdicts]
            for rating in ratings:
                log.put(rating)
        failed += sum(rating.rating is None for rating in ratings)
        error = next((rating.error for rating in ratings if rating.error), error)
        if all(rating.failure == "endpoint" for rating in ratings):
            return [f"{judger.name} does not answer, and is asked no more: {error}"]
    if not failed:
        return []
    return [f"{judger.name} left {failed} of {len(missing)} cases without a rating: {error}"]


def _ask(
    model: Model, batch: Sequence[tuple[str, Case]], rubric: Rubric, verdicts: dict[str, Verdict]
) -> None:
    """Ask about cases; each verdict is there as soon as it comes."""

    def ask(judge: Model, item: tuple[str, Case]) -> tuple[str, Verdict]:
        return item[0], rate_case(judge, item[1], rubric)

    ask_concurrently(model, ask, batch, done=lambda pair: verdicts.update([pair]))


def _make_rubric(judger: Judger, judges: JudgeFile) -> Rubric:
    return Rubric(
        system=judges.system_prompt,
        task=judges.task_prompt,
        max_tokens=judger.max_tokens,
        tries=judger.tries,
    )


def _rubric(judger: Judger, judges: JudgeFile) -> str:
    # Without the address: a server that moves answers as before.
    settings = (judger.model, judger.temperature, judger.max_tokens, judger.extra)
    question = (*settings, judges.system_prompt, judges.task_prompt)
    return sha256(msgspec.json.encode(question, order="sorted")).hexdigest()[:16]


def _cases(out: Path, rows: Iterable[ProactorRow]) -> Iterator[tuple[str, Case]]:
    """The cases of the episodes of Table 1 by their digest, turn by turn."""
    for row in rows:
        if row.part != "main" or row.status != "ok":
            continue
        yield from _read_cases(read_record(out / "episodes" / f"{row.key}.jsonl"))


def _read_cases(events: Iterable[Entry]) -> Iterator[tuple[str, Case]]:
    """The cases of a record; none if the episode failed."""
    if (conversed := read_conversation(events)) is None:
        return
    for turn in conversed.turns:
        if turn.turn not in conversed.lost:
            case = Case(
                dialogue=conversed.dialogue,
                turn=turn.turn,
                context=transcript(conversed.transcript, until=turn.turn),
                predictions=turn.predictions,
            )
            content = (case.context, write_opportunities(case.predictions))
            yield sha256(msgspec.json.encode(content)).hexdigest()[:24], case


def estimate_demand(
    missing: Sequence[PlannedEpisode],
    finished: Sequence[PlannedEpisode],
    out: Path,
    play: Callable[[Sequence[PlannedEpisode]], Sequence[Iterable[Entry]]],
) -> Iterator[tuple[ModelSpec, Demand]]:
    """What the judges of a run will be asked; see `Suite.demand`."""
    first: ProactorEpisode = (*missing, *finished)[0].episode
    judges = find_judges(first.judge, first.base_url)
    to_play, played = (
        [step for step in steps if step.episode.part == "main"] for steps in (missing, finished)
    )
    records = play(to_play)
    sample = [case for events in records for _, case in _read_cases(events)]
    paths = [out / "episodes" / f"{step.key}.jsonl" for step in played]
    known = {digest: case for path in paths for digest, case in _read_cases(read_record(path))}
    rated = {
        (line.judge, line.rubric, line.case)
        for line in read_log(out / FILE, Rating)
        if line.rating is not None
    }
    for judger in judges.judgers:
        rubric = _make_rubric(judger, judges)
        demand = _add_up(sample, rubric).scale(len(to_play) / max(1, len(records)))
        name = judger.name, _rubric(judger, judges)
        left = [case for digest, case in known.items() if (*name, digest) not in rated]
        demand.add(_add_up(left, rubric))
        yield judger.choose(), demand


def _add_up(cases: Iterable[Case], rubric: Rubric) -> Demand:
    demand, most = Demand(), rubric.max_tokens or MOST_TOKENS
    for case in cases:
        prompt = estimate_prompt(make_messages(case, rubric))
        answer = min(most, RATING_TOKENS)
        demand.add(Demand(requests=1, prompt=prompt, completion=answer, most=most))
    return demand


# --- reading --------------------------------------------------------------------------------------


def read_bench(out: Path, agents: Mapping[str, Sequence[Sequence[ProactorRow]]]) -> Bench:
    """Read the ratings in a run folder of agents, each with its rows by run; no judge is asked.

    Of a judge that was asked in several ways, the last way counts.

    Raises:
        RecordError: If the file cannot be read.
    """
    lines = list(read_log(out / FILE, Rating))
    if not lines:
        return NO_JUDGE
    last = {line.judge: (line.rubric, line.model) for line in lines}
    requests: dict[str, int] = {}
    scores: dict[str, dict[str, int]] = {name: {} for name in last}
    for line in lines:
        requests[line.judge] = requests.get(line.judge, 0) + line.tries
        if line.rubric == last[line.judge][0] and line.rating is not None:
            scores[line.judge][line.case] = line.rating
    ratings = {}
    for method, rows_by_run in agents.items():
        runs = [[digest for digest, _ in _cases(out, rows)] for rows in rows_by_run]
        ratings[method] = tuple(
            _rating(runs, name, last[name][1], by_case) for name, by_case in scores.items()
        )
    errors = {line.judge: line.error for line in lines if line.rating is None}
    return Bench(ratings=ratings, requests=requests, errors=errors)


def _rating(
    runs: Sequence[Sequence[str]], name: str, model: str, by_case: dict[str, int]
) -> AgentRating:
    rated = [[by_case[case] for case in run if case in by_case] for run in runs]
    means = [mean for run in rated if (mean := mean_rating(run).mean) is not None]
    return AgentRating(
        judge=name,
        model=model,
        spread=over_runs(means) if means else None,
        mean=mean_rating(chain.from_iterable(rated)),
        n_missing=sum(map(len, runs)) - sum(map(len, rated)),
    )


def read_judge_usage(out: Path) -> Iterator[NamedUsage]:
    """The token usage of the judges of a run folder."""
    for line in read_log(out / FILE, Rating):
        if line.usage is not None:
            yield (line.model, "judge"), line.usage


def describe_judges(bench: Bench) -> str:
    """The judges, their requests and what is missing."""
    if not bench.ratings:
        return "PR: no judge was asked; --judge names a language model."
    sentences = []
    for index, first in enumerate(next(iter(bench.ratings.values()), ())):
        ratings = [by_judge[index] for by_judge in bench.ratings.values()]
        missing = sum(rating.n_missing for rating in ratings)
        error = bench.errors.get(first.judge, "not asked")
        reason = f": {error}; --judge asks again" if missing else ""
        sentences.append(
            f"PR by {first.judge} ({first.model}), {bench.requests[first.judge]:,} requests: "
            f"{sum(rating.mean.n_rated for rating in ratings):,} turns rated from 1 to 5, "
            f"{sum(rating.mean.n_unjudged for rating in ratings):,} that cannot be judged, "
            f"{missing:,} without an answer{reason}."
        )
    return " ".join(sentences)
