"""Playing one episode of Timely-Eval."""

from functools import partial

from timeful.agents.tool_user import tool_user
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.environments.timed.world import TimedTask
from timeful.errors import KernelError, TimefulError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME
from timeful.models.rules import RuleModel
from timeful.records.events import EpisodeFailed, EpisodeStarted
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, boundary_of, play_episode
from timeful.seeding import child_seed
from timeful.suites.timely.discreet import DiscreetRecorder
from timeful.suites.timely.families import PARTS, Opened
from timeful.suites.timely.spec import TimelySpec
from timeful.version import __version__


def play(
    spec: TimelySpec,
    recorder: Recorder,
    *,
    api_key: str = "",
    model: Model | None = None,
    sampling: int | None = None,
) -> bool:
    """Play an episode and write its record; True if it came to its end.

    A case that cannot be opened, such as for want of a sandbox, is an episode that failed.

    Args:
        spec: The episode.
        recorder: Where its record is written.
        api_key: For an endpoint.
        model: Who works, in place of the one that the spec names: a model that is learning.
        sampling: The seed of what it samples, so that several samples meet the same luck; None
            is the episode's own.
    """
    if spec.rig.source.is_private:
        recorder = DiscreetRecorder(recorder)
    try:
        case = PARTS[spec.family].open(spec)
    except KernelError:
        raise
    except TimefulError as error:
        recorder.write(EpisodeStarted(at=0, version=__version__, settings=spec.settings()))
        recorder.write(EpisodeFailed(at=0, boundary=boundary_of(error), error=str(error)))
        return False
    try:
        worker = model or _worker(spec, case, api_key=api_key)
        return _play(spec, case, recorder, model=worker, sampling=sampling)
    finally:
        case.close()


def _worker(spec: TimelySpec, case: Opened, *, api_key: str) -> Model:
    """Who works on a case: a stand-in, or a language model."""
    rig, part = spec.rig, PARTS[spec.family]

    def stand_in() -> RuleModel:
        player = part.players[spec.voice.stand_in]
        return RuleModel(case.rule(player), name=player.name, pace=rig.pace or player.pace)

    return spec.voice.make(stand_in, pace=rig.pace or TOKEN_TIME, scope=spec.scope, api_key=api_key)


def _play(
    spec: TimelySpec, case: Opened, recorder: Recorder, *, model: Model, sampling: int | None
) -> bool:
    rig = spec.rig
    # The same luck under every budget and latency, and for everybody: a case is the same case.
    seed = child_seed(rig.seed, "timely", spec.family, spec.case, spec.run)
    clock: Clock = WallClock() if rig.clock == "wall" else VirtualClock()
    return play_episode(
        EpisodeSetting(
            settings=spec.settings(),
            seed=seed if sampling is None else sampling,
            transcripts=rig.transcripts,
        ),
        environment=TimedTask(case.task, spec.time, seed=child_seed(seed, "time")),
        interface=partial(EventDriven, full=rig.transcripts == "full"),
        agent=partial(
            tool_user,
            model=model,
            briefing=PARTS[spec.family].briefing,
            calls=rig.calls,
            most_tokens=rig.most_tokens,
            most_rounds=spec.most_rounds,
        ),
        clock=clock,
        recorder=recorder,
    )
