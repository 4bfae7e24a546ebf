"""Calibration: the measured time of a token of an endpoint.

Answers of several lengths are generated and timed, and a line is fitted through (tokens,
seconds), as in Figure 10 of the paper "Real-Time Reasoning Agents in Evolving Environments".
Its slope and its height at zero are the model's pace.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import msgspec

from timeful.core.clock import monotonic_ns
from timeful.core.source import Chunk
from timeful.core.units import in_seconds
from timeful.errors import RecordError, SettingsError
from timeful.files import decode, read_bytes
from timeful.models.counting import MeteredSource
from timeful.models.least_squares import Line, line_through
from timeful.models.model import Model, Prompt
from timeful.models.pace import Pace

LENGTHS = (16, 64, 128, 256, 512)
_TASK = (
    "Write the numbers from one upwards in words, one on each line. Go on until you are stopped."
)


PROMPT = Prompt(label="plan", render=lambda: _TASK)
"""What an endpoint is asked by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """One timed answer, in seconds since it was asked for.

    `is_counted` says whether the server gave the number of tokens; else it is an estimate.
    `hidden` counts the tokens of reasoning that was not shown before the first token, whose delay
    is None where a log does not have it.
    """

    tokens: int
    seconds: float
    first_token_s: float | None = None
    is_counted: bool
    hidden: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The measured times, and the line through them: T = alpha N + beta.

    Attributes:
        model: The model's name.
        endpoint: Where it was reached, without credentials; empty if that is unknown.
        alpha_s_per_token: The slope.
        beta_s: The height at zero tokens.
        r_squared: The share of the variance that the line explains.
        first_token_s: The median delay of the first token; None if that is unknown.
        timings: The answers in the order they were timed.
    """

    model: str
    endpoint: str
    alpha_s_per_token: float
    beta_s: float
    r_squared: float
    first_token_s: float | None
    timings: tuple[Timing, ...]

    @property
    def pace(self) -> Pace:
        """The line as a pace; a delay below zero, which noise can give, becomes none."""
        return self._line.pace

    @property
    def doubts(self) -> tuple[str, ...]:
        """Warnings about its reliability, in words."""
        warnings = []
        if self.r_squared < 0.9:
            warnings.append(f"the line explains only {self.r_squared:.0%} of the variance")
        if self.beta_s < 0:
            warnings.append(f"the delay before all tokens is negative ({self.beta_s:.3g} s)")
        if not all(timing.is_counted for timing in self.timings):
            warnings.append("the server counts no tokens, so their numbers are estimates")
        if hidden := max((timing.hidden for timing in self.timings), default=0):
            warnings.append(
                f"up to {hidden} tokens of reasoning are hidden before the first visible token, "
                "so its delay is not that of the first token"
            )
        return tuple(warnings)

    @property
    def formula(self) -> str:
        """The line in words."""
        sign = "-" if self.beta_s < 0 else "+"
        return f"T = {self.alpha_s_per_token:.4g} N {sign} {abs(self.beta_s):.4g}"

    @property
    def _line(self) -> Line:
        return Line(alpha=self.alpha_s_per_token, beta=self.beta_s, r_squared=self.r_squared)

    def save(self, path: Path) -> None:
        """Write it as JSON for people and programs."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n")


def load_calibration(path: Path) -> Calibration:
    """Read a file written by `Calibration.save`.

    Raises:
        RecordError: If it cannot be read.
    """
    try:
        calibration = decode(read_bytes(path), Calibration)
        _ = calibration.pace  # fails for a negative slope
    except (SettingsError, ValueError) as error:
        raise RecordError(f"the calibration {path} cannot be read: {error}") from error
    return calibration


def calibrate(
    model: Model,
    *,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = 3,
    seed: int = 0,
    endpoint: str = "",
    prompt: Prompt | None = None,
    read: Callable[[], int] = monotonic_ns,
) -> Calibration:
    """Time answers of several lengths, one after another, and fit a line.

    One answer goes first and is not counted: it opens the connection and loads the client. The
    lengths take turns, so that an endpoint that slows down does not bend the line.

    Args:
        model: The model to measure.
        lengths: The limits to generate to, in tokens, at least two different ones above 0.
        repeats: How many answers to time at each length.
        seed: The first sampling seed; each answer has another.
        endpoint: Where the model is reached, for the record.
        prompt: What to ask; it should make the model talk until it is stopped.
        read: A monotonic nanosecond counter.

    Raises:
        SettingsError: If the lengths or repeats cannot give a line.
        ModelError: If the model fails, or no pace can be told from what it did.
    """
    prompt = prompt or PROMPT
    _, *timings = (
        _time(model, prompt, max_tokens=limit, seed=seed + n, read=read)
        for n, limit in enumerate(plan_limits(lengths, repeats))
    )
    return fit(model.name, timings, endpoint=endpoint)


def fit(model: str, timings: Sequence[Timing], *, endpoint: str = "") -> Calibration:
    """Fit a line through timed answers.

    Args:
        model: The name of the model.
        timings: The answers.
        endpoint: Where the model is reached, for the record.

    Raises:
        ModelError: If no pace can be told from them.
    """
    line = line_through([(timing.tokens, timing.seconds) for timing in timings])
    delays = [t.first_token_s for t in timings if t.first_token_s is not None]
    return Calibration(
        model=model,
        endpoint=endpoint,
        alpha_s_per_token=line.alpha,
        beta_s=line.beta,
        r_squared=line.r_squared,
        first_token_s=median(delays) if delays else None,
        timings=tuple(timings),
    )


def plan_limits(lengths: Sequence[int], repeats: int) -> list[int]:
    """The limits of the answers of a calibration, in order, in tokens.

    Raises:
        SettingsError: If the lengths or repeats cannot give a line.
    """
    if len(set(lengths)) < 2 or min(lengths) < 1 or repeats < 1:
        raise SettingsError(
            "a calibration needs at least two different lengths above 0 and one repeat,"
            f" got lengths {list(lengths)} and {repeats} repeats"
        )
    return [min(lengths), *(length for _ in range(repeats) for length in lengths)]


def _time(
    model: Model, prompt: Prompt, *, max_tokens: int, seed: int, read: Callable[[], int]
) -> Timing:
    start = read()
    source = model.open(prompt, max_tokens=max_tokens, seed=seed)
    first: int | None = None
    tokens = 0
    is_thinking_visible = False
    try:
        while isinstance(piece := source.pull(), Chunk):
            first = read() - start if first is None else first
            tokens += piece.tokens
            is_thinking_visible |= piece.channel == "reasoning"
        span = read() - start
        usage = source.usage if isinstance(source, MeteredSource) else None
    finally:
        source.close()
    return Timing(
        tokens=tokens if piece.tokens is None else piece.tokens,
        seconds=in_seconds(span),
        first_token_s=in_seconds(span if first is None else first),
        is_counted=piece.tokens is not None,
        hidden=0 if usage is None or is_thinking_visible else usage.reasoning or 0,
    )


def figure(calibration: Calibration, path: Path) -> None:
    """Draw the timed answers and the line, like Figure 10; the suffix decides the format."""
    # Imported when first used: it loads slowly, and only a picture needs it.
    from matplotlib.figure import Figure  # noqa: PLC0415

    tokens = [timing.tokens for timing in calibration.timings]
    picture = Figure(figsize=(5, 3.5), layout="constrained")
    axes = picture.subplots()
    axes.scatter(tokens, [timing.seconds for timing in calibration.timings], s=14, alpha=0.7)
    ends = (0, max(tokens))
    line = [calibration.alpha_s_per_token * n + calibration.beta_s for n in ends]
    label = f"${calibration.formula}$, $R^2 = {calibration.r_squared:.4f}$"
    axes.plot(ends, line, color="black", linewidth=1, label=label)
    axes.set(xlabel="generated tokens N", ylabel="time T (s)")
    axes.set_title(calibration.model, parse_math=False)
    axes.legend(loc="upper left", frameon=False)
    picture.savefig(path)
