"""What a patrol can be set to, and the three settings of the paper (tables 12 and 13)."""

from dataclasses import dataclass, field
from typing import Literal, get_args

from timeful.environments.patrol.dynamics import Rules
from timeful.errors import SettingsError, check_known, check_range

AfterInterruption = Literal["keep", "restart phase", "restart"]
AfterAlarm = Literal["same", "nearest", "next"]
Places = Literal["checkpoints", "anywhere"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A part of handling a checkpoint: how long it takes, and what it costs to abandon it."""

    name: str
    ticks: int
    cost: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dynamics:
    """What the paper leaves open. The defaults reproduce its hand-written policies.

    Attributes:
        is_aged_first: Whether deadlines come nearer before the agent acts, and not after.
        after_interruption: What becomes of the handling that was left for an alarm: its
            remainder is kept, its phase starts again, or the whole routine does.
        is_free_at_start: Whether leaving right at the start of a phase costs nothing.
        is_cutoff_strict: Whether PatchPro lets go below its progress cutoff only, not at it.
        after_alarm: Which checkpoint comes after an alarm.
        is_walking_on: Whether an agent whose alarm expires still walks to its place.
        alarms: Where alarms go off.
        switch_ticks: How long it takes to turn to an alarm, before the first step.
    """

    is_aged_first: bool = False
    after_interruption: AfterInterruption = "restart"
    is_free_at_start: bool = True
    is_cutoff_strict: bool = True
    after_alarm: AfterAlarm = "same"
    is_walking_on: bool = False
    alarms: Places = "checkpoints"
    switch_ticks: int = 0

    def __post_init__(self) -> None:
        check_known("after_interruption", self.after_interruption, get_args(AfterInterruption))
        check_known("after_alarm", self.after_alarm, get_args(AfterAlarm))
        check_known("place of alarms", self.alarms, get_args(Places))
        check_range("switch_ticks", self.switch_ticks, least=0, is_whole=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class PatrolSettings:
    """A patrol.

    Attributes:
        phases: The phases of handling a checkpoint, in their order.
        checkpoints: Cells as (row, column) from 0, visited round and round.
        size: Rows, and columns, of the grid.
        horizon: Ticks of an episode.
        alarm_probability: Of a new alarm, in every tick without one.
        alarm_distance: The least distance of a new alarm from the agent, in steps.
        deadlines: The least and the greatest deadline of a new alarm, in ticks.
        resolve_ticks: How long it takes to resolve an alarm that was reached.
        checkpoint_reward: For a checkpoint that was handled.
        resolve_reward: For an alarm that was resolved.
        expire_penalty: For an alarm that was not, at its deadline.
        tick_penalty: For every tick with an alarm.
        dynamics: What the paper leaves open.

    Raises:
        SettingsError: If it cannot be played so.
    """

    phases: tuple[Phase, ...]
    checkpoints: tuple[tuple[int, int], ...]
    size: int = 8
    horizon: int = 1000
    alarm_probability: float
    alarm_distance: int = 5
    deadlines: tuple[int, int]
    resolve_ticks: int = 2
    checkpoint_reward: float = 1.0
    resolve_reward: float = 25.0
    expire_penalty: float = 20.0
    tick_penalty: float = 0.5
    dynamics: Dynamics = field(default_factory=Dynamics)

    def __post_init__(self) -> None:
        for name in ("size", "horizon", "resolve_ticks"):
            check_range(name, getattr(self, name), least=1, is_whole=True)
        check_range("alarm_distance", self.alarm_distance, least=0, is_whole=True)
        self._check_phases()
        self._check_checkpoints()
        self._check_alarms()
        for name in ("checkpoint_reward", "resolve_reward", "expire_penalty", "tick_penalty"):
            check_range(name, getattr(self, name), least=0)

    def _check_phases(self) -> None:
        if not self.phases:
            raise SettingsError("a patrol needs at least one phase of handling; give `phases`")
        for phase in self.phases:
            check_range(f"the ticks of phase {phase.name!r}", phase.ticks, least=1, is_whole=True)
            check_range(f"the cost of phase {phase.name!r}", phase.cost, least=0)

    def _check_checkpoints(self) -> None:
        if not self.checkpoints:
            raise SettingsError("a patrol needs at least one checkpoint; give `checkpoints`")
        if len(set(self.checkpoints)) < len(self.checkpoints):
            raise SettingsError(f"checkpoints must differ from one another: {self.checkpoints}")
        for cell in self.checkpoints:
            if not all(0 <= coordinate < self.size for coordinate in cell):
                raise SettingsError(
                    f"checkpoint {cell} is off the grid; rows and columns are 0 to {self.size - 1}"
                )

    def _check_alarms(self) -> None:
        check_range("alarm_probability", self.alarm_probability, least=0, most=1)
        low, high = self.deadlines
        check_range("the least deadline", low, least=1, is_whole=True)
        check_range("the greatest deadline", high, least=low, is_whole=True)
        if self.alarm_distance > 2 * (self.size - 1):
            raise SettingsError(
                f"alarm_distance is {self.alarm_distance}, but no two cells of a grid of size "
                f"{self.size} are more than {2 * (self.size - 1)} steps apart"
            )

    @property
    def situations(self) -> tuple[int, int, int, int]:
        """How many values each part of `dynamics.situation` has: the shape of a policy's table."""
        longest = max(phase.ticks for phase in self.phases)
        return len(self.phases) + 1, longest + 1, self.deadlines[1] + 1, 2 * self.size - 1

    def rules(self) -> Rules:
        """The settings as the dynamics take them."""
        law = self.dynamics
        return Rules(
            size=self.size,
            cells=self.checkpoints,
            phase_ticks=tuple(phase.ticks for phase in self.phases),
            phase_costs=tuple(float(phase.cost) for phase in self.phases),
            horizon=self.horizon,
            probability=float(self.alarm_probability),
            distance=self.alarm_distance,
            deadline_low=self.deadlines[0],
            deadline_high=self.deadlines[1],
            resolve_ticks=self.resolve_ticks,
            checkpoint_reward=float(self.checkpoint_reward),
            resolve_reward=float(self.resolve_reward),
            expire_penalty=float(self.expire_penalty),
            tick_penalty=float(self.tick_penalty),
            is_aged_first=law.is_aged_first,
            after_interruption=get_args(AfterInterruption).index(law.after_interruption),
            after_alarm=get_args(AfterAlarm).index(law.after_alarm),
            is_free_at_start=law.is_free_at_start,
            is_walking_on=law.is_walking_on,
            is_alarmed_anywhere=law.alarms == "anywhere",
            switch_ticks=law.switch_ticks,
        )


MODULE = PatrolSettings(
    phases=(Phase(name="handle", ticks=20),),
    checkpoints=((0, 0), (0, 7), (7, 7), (7, 0)),
    alarm_probability=0.15,
    deadlines=(14, 22),
    dynamics=Dynamics(after_interruption="keep"),
)
"""Handling is one module (table 12); the remainder of an interrupted one is kept (figure 5)."""

DEPTH_2 = PatrolSettings(
    phases=(Phase(name="observe", ticks=4, cost=1), Phase(name="commit", ticks=10, cost=5)),
    checkpoints=((1, 1), (1, 6), (6, 6), (6, 1)),
    alarm_probability=0.07,
    deadlines=(7, 12),
)
"""Handling has two phases (table 13)."""

DEPTH_3 = PatrolSettings(
    phases=(
        Phase(name="observe", ticks=3, cost=1),
        Phase(name="verify", ticks=5, cost=4),
        Phase(name="commit", ticks=10, cost=7),
    ),
    checkpoints=((1, 1), (1, 6), (6, 6), (6, 1)),
    alarm_probability=0.07,
    deadlines=(7, 12),
)
"""Handling has three phases (table 13)."""
