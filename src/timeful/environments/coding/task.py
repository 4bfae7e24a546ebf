"""A case of machine learning as a task: one tool, which runs the program that it is given.

A call takes as long as the program itself ran; what the runner needs around it is not charged.
Its reply has what the program printed, what went wrong, and how good the submission is that then
lies in its folder. (Timely Machine, appendix A.1.3 and table 7.)

The runner is any sandbox that fits `Runner`; it sees the public files, and hands back bytes.
Labels are compared in this process, and a submission is read as what it is: anybody's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from timeful.core.units import Duration, in_seconds, seconds
from timeful.environments.coding.cases import Case
from timeful.environments.coding.dataset import SUBMISSION
from timeful.environments.coding.graders import DECIMALS, Grade, grade
from timeful.environments.coding.submission import InvalidSubmissionError
from timeful.environments.timed.task import Done, Work
from timeful.tools import Parameter, ToolCall, ToolSpec

EXECUTE = ToolSpec(
    name="execute_code_and_get_duration",
    description=(
        f"Runs a Python program in the folder that has the data, and replies with what it printed, "
        f"the accuracy of the ./{SUBMISSION} that it wrote, and the time."
    ),
    parameters=(Parameter(name="code", description="The whole program."),),
)

WARM = (
    "numpy",
    "pandas",
    "sklearn.calibration",
    "sklearn.dummy",
    "sklearn.ensemble",
    "sklearn.feature_extraction.text",
    "sklearn.linear_model",
    "sklearn.model_selection",
    "sklearn.naive_bayes",
    "sklearn.neighbors",
    "sklearn.pipeline",
    "sklearn.preprocessing",
    "sklearn.svm",
)
"""What a warm runner imports once, so that no program is charged for it."""

LONGEST_RUN = seconds(600)
_GRACE_S = 0.05
"""A program that is stopped at the deadline must have passed it by its own count, too."""

MOST_PRINTED, MOST_ERROR = 4000, 2000
_MOST_HISTORY = 50


class RunReport(Protocol):
    """What a program came to."""

    @property
    def stdout(self) -> str:
        """What it printed."""
        ...

    @property
    def error(self) -> str:
        """What went wrong; empty if it ended well."""
        ...

    @property
    def seconds(self) -> float:
        """How long it ran, in real seconds."""
        ...

    @property
    def files(self) -> Mapping[str, bytes]:
        """Those files that were asked for and that this run left."""
        ...


class Runner(Protocol):
    """Runs programs in a folder that has the public files and keeps nothing else."""

    def run(self, code: str, *, limit_s: float | None = None) -> RunReport:
        """Run a program, for so many seconds at most."""
        ...

    def stop(self) -> None:
        """End the run under way, from another thread."""
        ...

    def close(self) -> None:
        """Let go of processes and files."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """A run with its grade, or why there is none."""

    report: RunReport
    grade: Grade | None
    invalid: str


@dataclass(frozen=True, slots=True)
class _Running:
    """A run under way. Its submission is graded in its thread, too: that can take a while."""

    case: Case
    runner: Runner
    code: str
    limit_s: float

    def run(self) -> Done:
        report = self.runner.run(self.code, limit_s=self.limit_s)
        graded, invalid = None, ""
        try:
            graded = grade(report.files.get(SUBMISSION), self.case.answers)
        except InvalidSubmissionError as error:
            invalid = str(error)
        return Done(
            took=seconds(max(0.0, report.seconds)),
            result=_Outcome(report=report, grade=graded, invalid=invalid),
        )

    def stop(self) -> None:
        self.runner.stop()


@dataclass(slots=True)
class _State:
    runs: int = 0
    valid: int = 0
    last: Grade | None = None
    over: bool = False
    history: list[dict[str, Any]] = field(default_factory=list)


class CodingTask:
    """A `Task`: the last valid submission counts, by its reward accuracy.

    Args:
        case: What is to be predicted.
        runner: Where programs run; it is closed with the task.
        longest: The longest that a program may run where the deadline is farther away.
    """

    def __init__(self, case: Case, runner: Runner, *, longest: Duration = LONGEST_RUN) -> None:
        self._case = case
        self._runner = runner
        self._longest = longest
        self._state = _State()

    @property
    def opening(self) -> str:
        """The case in words."""
        return self._case.opening

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """The one tool."""
        return (EXECUTE,)

    @property
    def score(self) -> float:
        """Reward accuracy of the last valid submission, in [0, 1]; 0 if there is none."""
        last = self._state.last
        return 0.0 if last is None else last.reward_accuracy

    @property
    def over(self) -> bool:
        """Never before the agent says so."""
        return self._state.over

    def reset(self) -> None:
        """Forget all runs."""
        self._state = _State()

    def begin(self, call: ToolCall, limit: Duration) -> Work:
        """Begin to run a program."""
        limit_s = in_seconds(min(limit, self._longest)) + _GRACE_S
        return _Running(self._case, self._runner, call.arguments["code"], limit_s)

    def finish(self, call: ToolCall, result: _Outcome) -> str:
        """Let what it wrote count, and say how it went."""
        state, report, graded = self._state, result.report, result.grade
        state.runs += 1
        state.valid += graded is not None and not report.error
        if graded is not None:
            state.last = graded
        state.history.append(
            {
                "seconds": round(report.seconds, 3),
                "ended_well": not report.error,
                "metric": None if graded is None else graded.metric,
            }
        )
        return self._reply(result)

    def _reply(self, result: _Outcome) -> str:
        report, metric = result.report, self._case.answers.metric
        lines = ["The program ran to its end." if not report.error else "The program failed."]
        if report.stdout.strip():
            lines.append(f"It printed:\n{truncate(report.stdout.rstrip(), MOST_PRINTED)}")
        if report.error:
            lines.append(f"Error: {truncate(report.error.rstrip(), MOST_ERROR)}")
        if result.grade is None:
            lines.append(f"There is no valid {SUBMISSION}: {truncate(result.invalid, MOST_ERROR)}.")
        else:
            lines.append(f"Evaluation accuracy: {result.grade.reward_accuracy:.{DECIMALS}f}.")
            if metric == "log_loss":
                lines.append(f"Log loss: {result.grade.metric:.{DECIMALS}f}.")
        return "\n".join(lines)

    def answer(self, text: str) -> None:
        """Take the last words; what counts was submitted before."""
        self._state.over = True

    def facts(self) -> Mapping[str, Any]:
        """The metric, the reward, and what runs there were.

        `valid_runs` ended well and left a valid submission. Of the first runs there is a history.
        """
        state, last = self._state, self._state.last
        return {
            "metric_name": self._case.answers.metric,
            "metric": None if last is None else last.metric,
            "reward_accuracy": self.score,
            "runs": state.runs,
            "valid_runs": state.valid,
            "history": state.history[:_MOST_HISTORY],
        }

    def close(self) -> None:
        """Close the runner."""
        self._runner.close()


def truncate(text: str, most: int) -> str:
    """Keep the start and, twice as much, the end of a text that is too long: errors end it."""
    if len(text) <= most:
        return text
    start = most // 3
    left_out = len(text) - most
    return f"{text[:start]}\n... ({left_out} characters left out) ...\n{text[start + left_out :]}"
