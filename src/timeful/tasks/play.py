"""Playing one task episode."""

from functools import partial

from timeful.agents.tool_user import tool_user
from timeful.core.clock import Clock, VirtualClock, WallClock
from timeful.environments.timed.world import TimedTask
from timeful.errors import KernelError, TimefulError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.kinds import ApiKey
from timeful.models.model import Model
from timeful.models.pace import TOKEN_TIME
from timeful.models.rules import RuleModel
from timeful.records.events import EpisodeFailed, EpisodeStarted
from timeful.records.recorder import Recorder
from timeful.runs.episode import EpisodeSetting, boundary_of, play_episode
from timeful.seeding import child_seed
from timeful.tasks.episode import TaskEpisode
from timeful.tasks.families import FAMILY_SPECS, OpenTask
from timeful.tasks.library import process_library
from timeful.tasks.redaction import RedactingRecorder
from timeful.version import __version__


def play(
    episode: TaskEpisode,
    recorder: Recorder,
    *,
    api_key: ApiKey = "",
    model: Model | None = None,
    sampling: int | None = None,
) -> bool:
    """Play an episode and write its record; True if it came to its end.

    A case that cannot be opened, for example without a sandbox, is a failed episode.

    Args:
        episode: The episode.
        recorder: Writes the record.
        api_key: For an endpoint.
        model: The player, if the role of the episode is a supplied model.
        sampling: The seed of the model's samples, so that several samples meet the same world;
            None is the episode's own.
    """
    if episode.shared.source.is_private:
        recorder = RedactingRecorder(recorder)
    try:
        case = process_library().open(episode)
    except KernelError:
        raise
    except TimefulError as error:
        recorder.write(
            EpisodeStarted(
                at=0, version=__version__, settings=recorder.settings or episode.settings()
            )
        )
        recorder.write(EpisodeFailed(at=0, boundary=boundary_of(error), error=str(error)))
        return False
    try:
        player = model or _player(episode, case, api_key=api_key)
        return _play(episode, case, recorder, model=player, sampling=sampling)
    finally:
        case.close()


def _player(episode: TaskEpisode, case: OpenTask, *, api_key: ApiKey) -> Model:
    pace = episode.shared.pace

    def stand_in() -> RuleModel:
        players = FAMILY_SPECS[episode.family].players
        # In a dry run, a player of the family is in place of a model that has no stand-in here.
        player = players.get(episode.role.stand_in) or next(iter(players.values()))
        return RuleModel(case.rule(player), name=player.name, pace=pace or player.pace)

    return episode.role.make(
        stand_in, pace=pace or TOKEN_TIME, scope=episode.scope, api_key=api_key
    )


def _play(
    episode: TaskEpisode,
    case: OpenTask,
    recorder: Recorder,
    *,
    model: Model,
    sampling: int | None,
) -> bool:
    shared = episode.shared
    # The same seed under every budget and latency, and for every player: the same world.
    seed = child_seed(shared.seed, "timely", episode.family, episode.case, episode.run)
    clock: Clock = WallClock() if shared.clock == "wall" else VirtualClock()
    return play_episode(
        EpisodeSetting(
            settings=recorder.settings or episode.settings(),
            seed=seed if sampling is None else sampling,
            transcripts=shared.transcripts,
        ),
        environment=TimedTask(case.task, episode.time, seed=child_seed(seed, "time")),
        interface=partial(EventDriven, full=shared.transcripts == "full"),
        agent=partial(
            tool_user,
            model=model,
            briefing=FAMILY_SPECS[episode.family].briefing,
            calls=shared.calls,
            most_tokens=shared.most_tokens,
            most_rounds=episode.most_rounds,
        ),
        clock=clock,
        recorder=recorder,
    )
