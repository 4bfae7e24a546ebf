"""One episode: an agent, a world and an interface on a timeline, and the record of it."""

from dataclasses import dataclass
from typing import Any

from timeful.agents.connection import Interface
from timeful.agents.session import Agent, Session, Transcripts
from timeful.core.clock import Clock, cpu_seconds, monotonic_ns
from timeful.core.kernel import Kernel
from timeful.environments.environment import Environment
from timeful.errors import KernelError, ModelError, SandboxError, WorldError
from timeful.records.events import Boundary, EpisodeEnded, EpisodeFailed, EpisodeStarted, Wall
from timeful.records.recorder import Recorder
from timeful.version import __version__


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
        end = EpisodeEnded(
            at=kernel.now, reason="world over", turns=connection.turn, score=connection.score
        )
    except KernelError:
        raise
    except Exception as error:  # noqa: BLE001 - recorded at the boundary that it crossed
        failure = error
        end = EpisodeFailed(
            at=kernel.now, boundary=boundary_of(error), error=f"{type(error).__name__}: {error}"
        )
    recorder.write(end)
    recorder.write(
        Wall(
            at=kernel.now,
            real_s=(monotonic_ns() - began_ns) / 1e9,
            cpu_s=cpu_seconds() - began_cpu,
            retries=0 if session is None else session.retries,
            waited_s=0.0 if session is None else session.waited_s,
        )
    )
    return failure


def boundary_of(error: Exception) -> Boundary:
    """The part of an episode that an error came from; an unexpected error is the agent's."""
    match error:
        case ModelError():
            return "model"
        case SandboxError():
            return "sandbox"
        case WorldError():
            return "world"
    return "agent"
