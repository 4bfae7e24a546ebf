"""What a run would ask of endpoints and cost, before it is started."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from timeful.core.clock import monotonic_ns
from timeful.errors import ModelError
from timeful.experiments.suite import Suite
from timeful.experiments.sweep import (
    Choice,
    PlannedEpisode,
    default_values,
    plan_episode,
    plan_episodes,
    run_settings,
)
from timeful.models.demand import Demand, DemandLog
from timeful.models.ledger import read_accounts
from timeful.models.model_spec import ModelSpec
from timeful.models.prices import Price, find_price
from timeful.models.role import replace_models
from timeful.models.spending import Spending
from timeful.models.traffic import Limits, under
from timeful.records.events import Entry
from timeful.records.folder import check_path
from timeful.records.recorder import Recorder
from timeful.reports.page import Grid, Paragraph, Section
from timeful.reports.text import format_span, shorten
from timeful.runs.batch import RUN, find_missing
from timeful.runs.concurrency import find_live_models, is_live

SAMPLE = 12
"""The most episodes that a stand-in plays for an estimate."""

SAMPLE_S = 10.0
"""The seconds after which no further one is started."""

TOKENS_PER_S = 50.0
"""The speed of a stream that is assumed where no request was measured."""

Name = tuple[str, str, str]
"""The model, the address of its endpoint, and the role."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """The requests that are to come to a model in a role, as an estimate.

    Attributes:
        model: The name of the model at its server; "" for the sum of all.
        role: The label of the prompts.
        requests: The number of requests.
        prompt: The tokens of prompts.
        completion: The generated tokens.
        most: The tokens if each thought is as long as its limit, also if the agent never acts
            well; None if no stand-in could be played.
        cost: The USD; None if a price is unknown.
        most_cost: The USD if all answers are as long as they may be.
    """

    model: str
    role: str
    requests: float
    prompt: float
    completion: float
    most: float | None
    cost: float | None
    most_cost: float | None


_HEAD = ("model", "role", "requests", "prompt", "answers", "limit", "USD", "limit")


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would ask of endpoints; nothing was sent or written.

    Attributes:
        episodes: The episodes on endpoints that are not finished.
        finished: Those that are.
        sampled: The episodes that stand-ins played for it.
        is_measured: Whether requests, tokens and times are means over the finished episodes.
        lines: The requests by model and role; none if neither stand-ins nor finished episodes
            tell.
        connections: The requests in flight.
        seconds: The real time.
        problem: Why stand-ins could not play, "" if they could.
        noun: What is counted.
        source: How the sample was made.
        whole: What takes the time.
        remark: A further sentence.
    """

    episodes: int
    finished: int
    sampled: int
    is_measured: bool
    lines: Sequence[Line]
    connections: int
    seconds: float
    problem: str = ""
    noun: str = "episodes"
    source: str = "with stand-ins in place of the endpoints"
    whole: str = "The run"
    remark: str = ""

    @property
    def total(self) -> Line:
        """The sum of the lines."""
        return Line(
            model="",
            role="",
            requests=sum(line.requests for line in self.lines),
            prompt=sum(line.prompt for line in self.lines),
            completion=sum(line.completion for line in self.lines),
            most=_add(line.most for line in self.lines),
            cost=_add(line.cost for line in self.lines),
            most_cost=_add(line.most_cost for line in self.lines),
        )

    def section(self) -> Section:
        """The estimate as a table with its assumptions."""
        source = f"{self.sampled} {self.noun} {self.source}"
        if self.is_measured:
            source = f"the {self.finished} finished {self.noun}; the limits from {source}"
        lines = [line for line in self.lines if line.requests]
        texts = [f"{self.episodes} {self.noun} are to come, {self.finished} are finished."]
        if not self.episodes and not self.finished:
            texts = [] if lines else ["No endpoint is asked."]
        elif not self.lines:
            texts.append(f"No request could be counted. {self.problem}".rstrip())
        if not lines:
            return Section("Estimate", tuple(map(Paragraph, texts)), is_printed=True)
        means = f"Means are from {source}. " if self.episodes else ""
        texts.append(
            f"{means}Answers of a model that reasons more are longer. The limit is that of all "
            f"answers together. {self.remark}".rstrip()
        )
        speed = "as measured" if self.is_measured else f"at {TOKENS_PER_S:g} tokens/s a stream"
        texts.append(
            f"{self.whole} takes about {format_span(self.seconds)} with {self.connections} "
            f"{self.noun} in flight, {speed}."
        )
        rows = tuple(map(_row, [*lines, self.total] if len(lines) > 1 else lines))
        grid = Grid(head=_HEAD, rows=rows, caption="Requests and tokens that are to come", words=2)
        return Section("Estimate", (grid, *map(Paragraph, texts)), is_printed=True)


def _row(line: Line) -> tuple[str, ...]:
    dollars = ("" if x is None else f"{x:,.2f}" for x in (line.cost, line.most_cost))
    tokens = (line.requests, line.prompt, line.completion, line.most)
    return (
        line.model or "all",
        line.role,
        *("" if n is None else shorten(n) for n in tokens),
        *dollars,
    )


def estimate_run(
    suite: Suite,
    choice: Choice,
    out: Path,
    *,
    replace_run: bool = False,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
    check: Callable[[Sequence[ModelSpec]], object] = lambda _: None,
) -> Estimate:
    """Estimate what a run would ask of endpoints. Sends nothing and writes nothing.

    Some episodes are played in simulated time, with stand-ins that answer in place of the
    endpoints, and once more with models that answer with nothing. `most` is the larger sum of the
    limits of all thoughts in these two; a language model that thinks more than a stand-in
    generates more than `completion`.

    Args:
        suite: The suite.
        choice: What would be played of it.
        out: The run folder; its finished episodes are not played again.
        replace_run: Whether the run in the folder is replaced.
        limits: The limits of the traffic to endpoints.
        prices: Prices given by hand; see `prices.price_of`.
        check: Checks the models that would be asked, before their client is loaded.

    Raises:
        SettingsError: As `run_suite`.
    """
    check_path(out, RUN)
    plan = plan_episodes(suite, choice)
    settings = run_settings(suite, choice, plan)
    runs = [(plan, out)]
    playable = plan
    if suite.baseline is not None:
        episodes = [step.episode for step in plan]
        if first := suite.baseline.plan(episodes):  # the others depend on their outcome
            playable = [plan_episode(suite, episode) for episode in first]
            runs.append((playable, out.with_name(f"{out.name}-baseline")))
        else:
            plan = [plan_episode(suite, step) for step in suite.baseline.complete(episodes, ())]
            runs, playable = [(plan, out)], plan
    judges = suite.judges([step.episode for step in plan]) if suite.judges is not None else ()
    pending = [
        step
        for steps, folder in runs
        for step in (steps if replace_run else find_missing(steps, folder, settings))
    ]
    missing = [step for step in pending if is_live(step.episode)]
    check([*find_live_models([step.episode for step in missing]), *(judges if pending else ())])
    if suite.check is not None:
        suite.check([step.episode for step in playable])
    count = sum(is_live(step.episode) for steps, _ in runs for step in steps)
    keys = {step.key for step in missing}
    play = partial(suite.play, api_key="") if suite.takes_key else suite.play
    expected = estimate_episodes(
        play,
        [step for step in playable if step.key in keys],
        out,
        missing=len(missing),
        finished=count - len(missing),
        limits=limits,
        prices=prices,
    )
    if suite.demand is None or not judges:
        return expected
    keys = {step.key for step in pending}
    finished = [step for step in plan if step.key not in keys]
    demands = suite.demand(pending, finished, out, lambda steps: _play_dry(play, steps)[3])
    return add_judges(expected, demands, limits or Limits(), prices or {})


def add_judges(
    expected: Estimate,
    demands: Iterable[tuple[ModelSpec, Demand]],
    limits: Limits,
    prices: Mapping[str, Price],
    *,
    remark: str = "A judge is asked once about equal cases, so it may have fewer requests.",
) -> Estimate:
    """Add the requests to judges, which are asked after the last episode."""
    lines, seconds, flight = [*expected.lines], expected.seconds, expected.connections
    for model, demand in demands:
        name, count = (model.name, model.endpoint or "", "judge"), round(demand.requests)
        lines.append(_line(name, demand, find_price(*name[:2], prices), is_bounded=True))
        if count:
            span = demand.completion / demand.requests / TOKENS_PER_S
            seconds += _estimate_seconds(span, count, lines[-1:], limits)
            flight = max(flight, min(limits.connections, count))
    return replace(
        expected,
        lines=lines,
        seconds=seconds,
        connections=flight,
        noun=expected.noun if expected.episodes or expected.finished else "requests",
        remark=remark,
    )


def estimate_episodes(
    play: Callable[..., object],
    playable: Sequence[PlannedEpisode],
    out: Path,
    *,
    missing: int,
    finished: int,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
) -> Estimate:
    """Estimate what episodes would ask of endpoints; see `estimate_run`.

    Args:
        play: Plays an episode into a recorder.
        playable: The episodes to choose some of, for stand-ins.
        out: The run folder.
        missing: The number of episodes on endpoints that are to come.
        finished: The number of those that are finished.
        limits: The limits of the traffic to endpoints.
        prices: Prices given by hand.
    """
    log, sampled, problem, _ = _play_dry(play, playable)
    idle, idle_sampled, *_ = _play_dry(play, playable, is_idle=True)
    demands = {name: demand.scale(1 / sampled) for name, demand in log.demands.items()}
    for name, demand in idle.demands.items():
        bound = demands.setdefault(name, Demand())
        bound.most = max(bound.most, demand.most / idle_sampled)
    return project(
        demands,
        out,
        [model for step in playable for model in find_live_models([step.episode])],
        missing=missing,
        finished=finished,
        sampled=sampled,
        limits=limits,
        prices=prices,
        problem=problem,
    )


def project(
    demands: Mapping[Name, Demand],
    out: Path,
    models: Iterable[ModelSpec],
    *,
    missing: int,
    finished: int,
    sampled: int,
    limits: Limits | None = None,
    prices: Mapping[str, Price] | None = None,
    **details: str,
) -> Estimate:
    """Estimate what is to come from what one episode asks.

    Args:
        demands: What one episode asks, by model, address and role.
        out: The folder with the ledger of the finished episodes.
        models: The models that are asked.
        missing: The number of episodes that are to come.
        finished: The number of those that are finished.
        sampled: The number of episodes that `demands` are means of.
        limits: The limits of the traffic to endpoints.
        prices: Prices given by hand.
        details: Further fields of the estimate.
    """
    demands = dict(demands)
    seconds = {name: demand.completion / TOKENS_PER_S for name, demand in demands.items()}
    measured = _measure(out, finished, models) if finished else {}
    for name, (demand, wall_s) in measured.items():
        demands[name] = replace(demand, most=demands[name].most if name in demands else 0)
        seconds[name] = wall_s
    limits = limits or Limits()
    lines = [
        _line(name, demand.scale(missing), find_price(*name[:2], prices or {}), bool(sampled))
        for name, demand in sorted(demands.items())
    ]
    return Estimate(
        episodes=missing,
        finished=finished,
        sampled=sampled,
        is_measured=bool(measured),
        lines=lines,
        connections=min(limits.connections, max(missing, 1)),
        seconds=_estimate_seconds(sum(seconds.values()), missing, lines, limits),
        **details,
    )


def _play_dry(
    play: Callable[..., object], steps: Sequence[PlannedEpisode], *, is_idle: bool = False
) -> tuple[DemandLog, int, str, list[list[Entry]]]:
    """Play episodes at even distances with stand-ins: what they ask, number, problem, events."""
    log, number, problem = DemandLog(), 0, ""
    records: list[list[Entry]] = []
    count = min(SAMPLE, len(steps))
    closed = Spending(is_run=True)
    closed.stop(ModelError("nothing is sent in a dry run"))
    began = monotonic_ns()
    for index in range(count):
        step = steps[(2 * index + 1) * len(steps) // (2 * count)]
        if number and monotonic_ns() - began > SAMPLE_S * 1e9:
            break
        trial, recorder = DemandLog(is_idle=is_idle), Recorder()
        recorder.settings = dict(step.settings)
        try:
            with under(None, closed):
                play(_make_dry(step.episode, trial), recorder)
        except Exception as error:  # noqa: BLE001 - an agent of a user may raise anything
            problem = f"{type(error).__name__}: {error}"
            continue
        number += 1
        records.append(recorder.events)
        for name, demand in trial.demands.items():
            log.find(*name).add(demand)
    return log, number, problem, records


def _make_dry(episode: Any, log: DemandLog) -> Any:
    """The episode with a stand-in in place of each endpoint, in simulated time."""
    episode = replace_models(episode, lambda _, spec: replace(spec, demand=log, record=None))
    if getattr(episode, "clock", None) == "wall":
        episode = replace(episode, clock=default_values(type(episode))["clock"])
    return episode


def _measure(
    out: Path, finished: int, models: Iterable[ModelSpec]
) -> dict[Name, tuple[Demand, float]]:
    """The demand of a finished episode, and the real seconds of its requests."""
    addresses = {model.name: model.endpoint or "" for model in models}
    return {
        (line.model, addresses.get(line.model, ""), line.role): (
            Demand(
                requests=line.requests / finished,
                prompt=line.prompt / finished,
                completion=line.completion / finished,
            ),
            line.wall_s / finished,
        )
        for line in read_accounts(out).expenses
        if line.role != "probe"
    }


def _line(name: Name, demand: Demand, price: Price | None, is_bounded: bool) -> Line:
    cost = most_cost = None
    if price is not None and demand.requests:
        # A price may depend on the length of a prompt.
        prompt = demand.prompt / demand.requests
        cost = price.cost(prompt, demand.completion / demand.requests) * demand.requests
        most_cost = price.cost(prompt, demand.most / demand.requests) * demand.requests
    return Line(
        model=name[0],
        role=name[2],
        requests=demand.requests,
        prompt=demand.prompt,
        completion=demand.completion,
        most=demand.most if is_bounded else None,
        cost=cost,
        most_cost=most_cost if is_bounded else None,
    )


def _estimate_seconds(
    per_episode: float, episodes: int, lines: Sequence[Line], limits: Limits
) -> float:
    """The real time: as the connections allow, as the rates allow, or that of one episode."""
    spans = [per_episode, per_episode * episodes / limits.connections] if episodes else [0.0]
    if limits.rpm:
        spans.append(60 * sum(line.requests for line in lines) / limits.rpm)
    if limits.tpm:
        spans.append(60 * sum(line.prompt + line.completion for line in lines) / limits.tpm)
    return max(spans)


def _add(values: Iterable[float | None]) -> float | None:
    """The sum; None if one is unpresent, or there is none."""
    numbers = list(values)
    present = [number for number in numbers if number is not None]
    return sum(present) if numbers and len(present) == len(numbers) else None
