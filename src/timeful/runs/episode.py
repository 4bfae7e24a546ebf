"""One episode: an agent, a world and an interface on a timeline, and the record of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from timeful.agents.connection import Connection
from timeful.agents.session import Agent, Session, Transcripts
from timeful.core.clock import Clock, cpu_seconds, monotonic_ns
from timeful.core.kernel import Kernel
from timeful.environments.environment import Environment
from timeful.errors import KernelError, ModelError, SandboxError, WorldError
from timeful.records.events import Boundary, EpisodeEnded, EpisodeFailed, EpisodeStarted, Wall
from timeful.records.recorder import Recorder
from timeful.version import __version__

Interface = Callable[[Kernel, Environment, Recorder], Connection]
"""Connects an agent to a world, from now on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeSetting:
    """What an episode needs beside its parts.

    `settings` identifies it in its record, as plain JSON values; `seed` is its sampling seed.
    """

    settings: dict[str, Any]
    seed: int
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
    """Play one episode to its end and write its record.

    The episode is over when its world is; whatever still runs then ends as an orphan. An agent
    that returns early leaves the world to its defaults. An error of the model, the world, the
    sandbox or the agent ends the episode as failed, and the record names that boundary.

    Returns:
        Whether it came to its end; False if it failed.

    Raises:
        KernelError: A bug of the timeline or its misuse: loud, and never part of a result.
    """
    began_ns, began_cpu = monotonic_ns(), cpu_seconds()
    recorder.write(EpisodeStarted(at=0, version=__version__, settings=setting.settings))
    kernel = Kernel(clock)
    session: Session | None = None
    end: EpisodeEnded | EpisodeFailed
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
        )
    )
    return isinstance(end, EpisodeEnded)


def boundary_of(error: Exception) -> Boundary:
    """Which part of an episode an error came from; what nobody raised on purpose is the agent's."""
    match error:
        case ModelError():
            return "model"
        case SandboxError():
            return "sandbox"
        case WorldError():
            return "world"
    return "agent"
