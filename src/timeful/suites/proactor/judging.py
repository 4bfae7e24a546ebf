"""Proactiveness ratings, PR: a judge is asked once of each case, and what it said is kept.

`ratings.jsonl` in a run folder has a line for each answer. A case is the conversation up to a turn
and what was predicted there: it is rated once, whoever predicted it in whichever run. Only the
episodes of Table 1 are rated, and of them no turn that was lost.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path

import msgspec

from timeful.dialogues.opportunity import write_opportunities
from timeful.dialogues.transcript import transcript
from timeful.judges.proactiveness import Case, Rubric, judge
from timeful.judges.settings import JudgeFile, Judger
from timeful.metrics.proactor.episodes import read_conversation
from timeful.metrics.proactor.judge_score import MeanRating, mean_rating
from timeful.metrics.proactor.spread import Spread, over_runs
from timeful.models.model import Model
from timeful.records.recorder import read_record
from timeful.records.store import KeyedLog, read_log
from timeful.suites.proactor.numbers import Cell
from timeful.suites.proactor.rows import ProactorRow

FILE = "ratings.jsonl"
_BATCH = 32
"""So many cases are asked for at a time; after each, what was said is on disk."""


class Rating(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the file: what a judge said of a case; without a rating it failed.

    `judge` and `rubric` name who was asked, and a digest of its settings and prompts; `case` is a
    digest of the conversation up to the turn and of the predictions.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What one judge said of an agent.

    Attributes:
        judge: Its name.
        model: Its model.
        spread: PR over runs; None if nothing was rated from 1 to 5.
        ratings: All runs together.
        n_missing: Cases without a rating.
    """

    judge: str
    model: str
    spread: Spread | None
    ratings: MeanRating
    n_missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """All judges of a run.

    Attributes:
        judged: By the title of the agent, what each judge said of it.
        requests: By judge, how often it was asked, failures and repetitions included.
        errors: By judge, why it gave no rating, the last time that it gave none.
    """

    judged: dict[str, tuple[Judged, ...]]
    requests: dict[str, int]
    errors: dict[str, str]


NOBODY = Bench(judged={}, requests={}, errors={})
"""Where no judge was asked."""


# --- asking ---------------------------------------------------------------------------------------


def rate(
    out: Path,
    rows: Iterable[ProactorRow],
    judges: JudgeFile,
    open_judge: Callable[[Judger], Model],
    say: Callable[[str], None],
) -> list[str]:
    """Have rated what is not rated yet.

    Args:
        out: The run folder.
        rows: Its episodes.
        judges: Who rates, and what they are told.
        open_judge: Makes the model of a judge.
        say: Told how many requests there will be, before any.

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
    wrong = []
    for judger in judges.judgers:
        rubric = _rubric(judger, judges)
        keys = ((digest, (judger.name, rubric, digest)) for digest in cases)
        rated = {digest for digest, key in keys if key in log and log[key].rating is not None}
        left = [(digest, case) for digest, case in cases.items() if digest not in rated]
        say(
            f"judge {judger.name}: {len(cases)} different cases, {len(cases) - len(left)} rated "
            f"before: {len(left)} requests or more"
        )
        if left:
            wrong += _rate(log, left, judger, judges, open_judge(judger))
    return wrong


def _rate(
    log: KeyedLog[tuple[str, str, str], Rating],
    left: Sequence[tuple[str, Case]],
    judger: Judger,
    judges: JudgeFile,
    model: Model,
) -> list[str]:
    how = Rubric(
        system=judges.system_prompt,
        task=judges.task_prompt,
        max_tokens=judger.max_tokens,
        tries=judger.tries,
    )
    failed, why = 0, ""
    every = iter(left)
    while batch := list(islice(every, _BATCH)):
        verdicts = judge(model, [case for _, case in batch], how)
        lines = [
            Rating(
                judge=judger.name,
                model=judger.model,
                rubric=_rubric(judger, judges),
                case=digest,
                dialogue=one.dialogue,
                turn=one.turn,
                rating=one.rating,
                reasoning=one.reasoning,
                error=one.error,
                tries=one.tries,
            )
            for (digest, _), one in zip(batch, verdicts, strict=True)
        ]
        for line in lines:
            log.put(line)
        failed += sum(line.rating is None for line in lines)
        why = next((line.error for line in lines if line.error), why)
        if all(one.failure == "endpoint" for one in verdicts):
            return [f"{judger.name} does not answer, and is asked no more: {why}"]
    if not failed:
        return []
    return [f"{judger.name} left {failed} of {len(left)} cases without a rating: {why}"]


def _rubric(judger: Judger, judges: JudgeFile) -> str:
    # Not where it is: a server of one's own may move, and answers as it did.
    how = (judger.model, judger.temperature, judger.max_tokens, judger.extra)
    asked = (*how, judges.system_prompt, judges.task_prompt)
    return sha256(msgspec.json.encode(asked, order="sorted")).hexdigest()[:16]


def _cases(out: Path, rows: Iterable[ProactorRow]) -> Iterator[tuple[str, Case]]:
    """The cases of the episodes of Table 1 by their digest, turn by turn."""
    for row in rows:
        if row.part != "main" or row.status != "ok":
            continue
        conversed = read_conversation(read_record(out / "episodes" / f"{row.key}.jsonl"))
        assert conversed is not None, "an episode that did not fail has a conversation"
        for turn in conversed.turns:
            if turn.turn not in conversed.lost:
                case = Case(
                    dialogue=conversed.dialogue,
                    turn=turn.turn,
                    context=transcript(conversed.transcript, until=turn.turn),
                    predictions=turn.predictions,
                )
                said = (case.context, write_opportunities(case.predictions))
                yield sha256(msgspec.json.encode(said)).hexdigest()[:24], case


# --- reading --------------------------------------------------------------------------------------


def read_bench(out: Path, cells: Sequence[Cell]) -> Bench:
    """What the judges of a run folder said of some agents; nothing is asked.

    Of a judge that was asked in several ways, the last way counts.

    Raises:
        RecordError: If the file cannot be read.
    """
    every = list(read_log(out / FILE, Rating))
    if not every:
        return NOBODY
    last = {one.judge: (one.rubric, one.model) for one in every}
    requests: dict[str, int] = {}
    found: dict[str, dict[str, int]] = {name: {} for name in last}
    for one in every:
        requests[one.judge] = requests.get(one.judge, 0) + one.tries
        if one.rubric == last[one.judge][0] and one.rating is not None:
            found[one.judge][one.case] = one.rating
    judged = {}
    for cell in cells:
        runs = [[digest for digest, _ in _cases(out, run)] for run in cell.runs]
        judged[cell.title] = tuple(
            _judged(runs, name, last[name][1], ratings) for name, ratings in found.items()
        )
    errors = {one.judge: one.error for one in every if one.rating is None}
    return Bench(judged=judged, requests=requests, errors=errors)


def _judged(
    runs: Sequence[Sequence[str]], name: str, model: str, ratings: dict[str, int]
) -> Judged:
    rated = [[ratings[case] for case in run if case in ratings] for run in runs]
    means = [mean for run in rated if (mean := mean_rating(run).mean) is not None]
    return Judged(
        judge=name,
        model=model,
        spread=over_runs(means) if means else None,
        ratings=mean_rating(chain.from_iterable(rated)),
        n_missing=sum(map(len, runs)) - sum(map(len, rated)),
    )
