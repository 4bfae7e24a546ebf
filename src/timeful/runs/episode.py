"""One episode: an agent, a world and an interface on a timeline, and the record of it."""

from dataclasses import dataclass
from pathlib import Path
from traceback import extract_tb
from typing import Any

from timeful.agents.connection import Interface
from timeful.agents.session import Agent, Session, Transcripts
from timeful.core import kernel as kernel_module
from timeful.core.clock import Clock, cpu_seconds, monotonic_ns
from timeful.core.kernel import Kernel
from timeful.core.units import in_seconds
from timeful.environments.environment import Environment
from timeful.errors import (
    NO_ASYNCIO,
    AgentError,
    KernelError,
    ModelError,
    ProgramError,
    SandboxError,
    WorldError,
)
from timeful.records.events import Boundary, EpisodeEnded, EpisodeFailed, EpisodeStarted, Wall
from timeful.records.outage import find_outage
from timeful.records.recorder import Recorder
from timeful.version import __version__

_CORE = Path(kernel_module.__file__).parent
_CAUSES = 5
_FRAMES = 20
"""The most errors of a chain, and frames of each, that a record holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSetting:
    """The identity of an episode, and the seed of its thoughts."""

    settings: dict[str, Any]
    """Plain JSON values with which the record begins."""
    seed: int
    """The seed of all sampling in the episode."""
    transcripts: Transcripts = "full"


def play_episode(
    setting: EpisodeSetting,
    *,
    environment: Environment,
    interface: Interface,
    agent: Agent,
    clock: Clock,
    recorder: Recorder,
) -> bool:
    """Play an episode as `run_episode` does; True if it came to its end, False if it failed."""
    error = run_episode(
        setting,
        environment=environment,
        interface=interface,
        agent=agent,
        clock=clock,
        recorder=recorder,
    )
    return error is None


def run_episode(
    setting: EpisodeSetting,
    *,
    environment: Environment,
    interface: Interface,
    agent: Agent,
    clock: Clock,
    recorder: Recorder,
) -> Exception | None:
    """Play one episode to its end and write its record.

    The episode is over when its world is over; anything that still runs then ends as an orphan.
    An agent that returns early leaves the world to its defaults. An error of the model, the
    world, the sandbox or the agent ends the episode as failed, and the record names that
    boundary.

    Returns:
        The error that ended the episode; None if it came to its end.

    Raises:
        KernelError: The timeline has a bug or was misused; never part of a result.
    """
    began_ns, began_cpu = monotonic_ns(), cpu_seconds()
    recorder.write(EpisodeStarted(at=0, version=__version__, settings=setting.settings))
    kernel = Kernel(clock)
    session: Session | None = None
    end: EpisodeEnded | EpisodeFailed
    failure: Exception | None = None
    try:
        with kernel:
            connection = interface(kernel, environment, recorder)
            session = Session(
                kernel, connection, recorder, seed=setting.seed, transcripts=setting.transcripts
            )
            kernel.start(agent(session), name="agent")
            kernel.run_until(connection.world)
            session.guard.check_dropped()
        if outage := find_outage(recorder.events):
            raise ModelError(outage)
        end = EpisodeEnded(
            at=kernel.now, reason="world over", turns=connection.turn, score=connection.score
        )
    except Exception as error:
        if isinstance(error, KernelError) and not isinstance(error, AgentError):
            raise
        failure = _explain(error)
        end = EpisodeFailed(
            at=kernel.now,
            boundary=boundary_of(failure),
            error=f"{type(failure).__name__}: {failure}",
            trace=trace_of(failure),
        )
    recorder.write(end)
    recorder.write(
        Wall(
            at=kernel.now,
            real_s=(monotonic_ns() - began_ns) / 1e9,
            cpu_s=cpu_seconds() - began_cpu,
            retries=0 if session is None else session.retries,
            waited_s=0.0 if session is None else session.waited_s,
            behind_s=in_seconds(kernel.behind),
        )
    )
    return failure


def _explain(error: Exception) -> Exception:
    """The error, or a clearer one for a use of asyncio outside of its event loop."""
    if isinstance(error, RuntimeError) and "no running event loop" in str(error):
        explained = AgentError(f"{error}; {NO_ASYNCIO}")
        explained.__cause__ = error
        return explained
    return error


def trace_of(error: BaseException) -> tuple[str, ...]:
    """The places that an error passed, outermost first, and those of the errors that caused it.

    Files are named without their folders, so that a record does not depend on the machine; the
    frames of the timeline are left out.
    """
    lines: list[str] = []
    for _ in range(_CAUSES):
        for frame in extract_tb(error.__traceback__)[-_FRAMES:]:
            path = Path(frame.filename)
            if path.parent != _CORE and path != Path(__file__):
                lines.append(f"{path.name}:{frame.lineno} in {frame.name}")
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        error = cause
        lines.append(f"caused by {type(error).__name__}: {error}")
    return tuple(lines)


def boundary_of(error: Exception) -> Boundary:
    """The part of an episode that an error came from; an unexpected error is the agent's."""
    match error:
        case ModelError():
            return "model"
        case SandboxError():
            return "sandbox"
        case ProgramError():
            return "program"
        case WorldError():
            return "world"
    return "agent"
