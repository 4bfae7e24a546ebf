"""The settings of cold-start traces: a TOML file.

    source = "worked"                  # or "teacher"; or records = "runs/timely/reasoning"
    seed = 0
    each = 2                           # traces of each problem

    [problems]                         # as `timeful run timely/reasoning` takes them
    sets = ["sums", "modular:5"]
    size = 200

    [time]
    budget = ["0.4x", "1.5x"]          # of the time that all steps take, or ["5s", "60s"]
    alpha = [0.5, 2.0]                 # how much thinking counts
    jitter_s = [0.0, 0.3]              # how much the timer is off
    pace_ms = [100, 25]                # until a thought begins, and for each token

    [splits]
    train = 0.8

    [teacher]                          # an endpoint that solves the problems
    model = "openai/some-model"
    base_url = "https://..."

    [judge]                            # an endpoint that has the last word on answers
    model = "openai/some-model"
    base_url = "https://..."
    votes = 3

Budgets, alpha and jitter are drawn for each trace, between these bounds. Paths start at the folder
of the file. There is no field for a key: it comes from the environment, under the name that
`api_key_name` says.
"""

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from timeful.catalogs.reading import convert
from timeful.environments.reasoning.split import Shares
from timeful.errors import SettingsError
from timeful.files import read_toml
from timeful.models.endpoint import Endpoint
from timeful.models.request import address
from timeful.tasks.budgets import Budget, read_budget
from timeful.tasks.episode import TaskSource

AtLeast1 = Annotated[int, msgspec.Meta(ge=1)]


class Problems(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which problems.

    Attributes:
        sets: Sets, as `timeful run timely/reasoning --case` takes them.
        size: How many of each, or of the file.
        file: A file of problems, in place of sets.
        benchmark: What its fields are called.
        unsafe: Whether reasoning-gym may score without a sandbox.
    """

    sets: tuple[str, ...] = ()
    size: AtLeast1 | None = None
    file: str = ""
    benchmark: str = "file"
    unsafe: bool = False

    def __post_init__(self) -> None:
        if bool(self.sets) == bool(self.file):
            raise ValueError("problems come from sets, or from a file: give one of both")


class Time(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The time that traces have, each drawn between two bounds.

    Attributes:
        budget: The least and the most, both in seconds, or both as multiples of the time that a
            worked solution takes in full with alpha 1.
        alpha: How much thinking counts.
        jitter_s: The standard deviation of what the timer says, in seconds.
        pace_ms: What a thought costs before its first token, and each token, in milliseconds.
    """

    budget: tuple[str, str] = ("0.4x", "1.5x")
    alpha: tuple[float, float] = (0.5, 2.0)
    jitter_s: tuple[float, float] = (0.0, 0.3)
    pace_ms: tuple[float, float] = (100.0, 25.0)

    def __post_init__(self) -> None:
        try:
            least, most = self.budgets
        except SettingsError as error:
            raise ValueError(f"budget: {error}") from None
        if least.kind != most.kind or least.kind not in ("seconds", "times"):
            raise ValueError('budget: both in seconds, "5s", or both as multiples, "0.5x"')
        for name, (low, high), floor in (
            ("budget", (least.amount, most.amount), 0.0),
            ("alpha", self.alpha, 0.01),
            ("jitter_s", self.jitter_s, 0.0),
        ):
            if not floor <= low <= high <= 1e6:
                raise ValueError(
                    f"{name}: from {floor:g} up, the least first; got {low:g}, {high:g}"
                )
        if not all(0 <= span <= 1e6 for span in self.pace_ms) or not self.pace_ms[1]:
            raise ValueError("pace_ms: 0 or more, and a token takes some time")

    @property
    def budgets(self) -> tuple[Budget, Budget]:
        """The bounds of the budget."""
        least, most = self.budget
        return read_budget(least), read_budget(most)


class Teacher(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The endpoint that solves the problems; its fields are those of `Endpoint`."""

    model: str
    base_url: str = ""
    temperature: Annotated[float, msgspec.Meta(ge=0, le=2)] | None = None
    api_key_name: str = ""
    extra: dict[str, Any] = {}

    def __post_init__(self) -> None:
        self.endpoint.check_complete()

    @property
    def endpoint(self) -> Endpoint:
        """The model, and where it is."""
        return Endpoint(**msgspec.structs.asdict(self))


class Judge(Endpoint, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The endpoint that has the last word on answers which the rules find wrong.

    Attributes:
        votes: How often it is asked; an answer is right if it says so each time.
        tries: How often one vote is asked for, where it is no vote.
    """

    votes: AtLeast1 = 3
    tries: AtLeast1 = 3

    def __post_init__(self) -> None:
        self.check_complete()


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of it.

    Attributes:
        source: Who solves the problems: the worked solutions that come with ours, or a teacher.
        records: A run of timely/reasoning that was played already, in place of both.
        seed: Of all chance.
        each: Traces of each problem.
        least_calls: How often a trace asks the timer at least.
    """

    source: Literal["worked", "teacher"] = "worked"
    records: str = ""
    seed: int = 0
    each: AtLeast1 = 1
    least_calls: Annotated[int, msgspec.Meta(ge=0)] = 1
    problems: Problems | None = None
    time: Time = Time()
    splits: Shares = Shares()
    teacher: Teacher | None = None
    judge: Judge | None = None

    def __post_init__(self) -> None:
        if bool(self.records) == (self.problems is not None):
            raise ValueError("give [problems] to be solved, or records of those that were")
        if self.records:
            return
        if (self.source == "teacher") != (self.teacher is not None):
            raise ValueError('source = "teacher" goes with a section [teacher], and only with it')
        if self.teacher is not None and self.time.budgets[0].kind == "times":
            raise ValueError(
                'time: nobody knows how long a teacher takes: give budget = ["5s", "60s"]'
            )

    def about(self) -> dict[str, Any]:
        """It as plain JSON values, without credentials; the judge is no part of what is played."""
        teacher = self.teacher
        if teacher is not None:
            at = teacher.endpoint
            teacher = msgspec.structs.replace(
                teacher, base_url=address(at.address), api_key_name=at.key_name
            )
        public = msgspec.structs.replace(self, judge=None, teacher=teacher)
        return dict(msgspec.to_builtins(public))


def read_settings(path: Path) -> Settings:
    """Read the file; paths in it become such as start here.

    Raises:
        SettingsError: If it cannot be read or a field is wrong; the message names the field.
    """
    settings = convert(read_toml(path), Settings, str(path))
    if settings.records:
        return msgspec.structs.replace(settings, records=str(path.parent / settings.records))
    if settings.problems is not None and settings.problems.file:
        file = str(path.parent / settings.problems.file)
        problems = msgspec.structs.replace(settings.problems, file=file)
        return msgspec.structs.replace(settings, problems=problems)
    return settings


def source_of(problems: Problems) -> TaskSource:
    """The problems as a run of Timely-Eval names them."""
    return TaskSource(
        sets=problems.sets,
        size=problems.size,
        problems=problems.file or None,
        benchmark=problems.benchmark,
        is_unsafe=problems.unsafe,
    )
