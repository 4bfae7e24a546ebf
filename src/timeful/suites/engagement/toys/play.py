"""Playing one toy episode: its counts go into its record."""

import warnings

from timeful.errors import SlowPathWarning
from timeful.records.events import EpisodeEnded, EpisodeStarted, Happened
from timeful.records.recorder import Recorder
from timeful.suites.engagement.toys import deliberation, patrol
from timeful.suites.engagement.toys.episode import ToyEpisode
from timeful.suites.engagement.toys.rows import Evaluation
from timeful.version import __version__

POLICIES = {
    **{f"deliberation/{kind}": deliberation.policies(kind) for kind in deliberation.WORLDS},
    **{f"patrol/{level}": patrol.policies(level) for level in patrol.WORLDS},
}
"""The method and the learner of each policy, by experiment."""


def resolve(episode: ToyEpisode) -> ToyEpisode | None:
    """The episode, or None if its experiment has no such policy."""
    is_known = (episode.method, episode.learner) in POLICIES[episode.experiment]
    return episode if is_known else None


def evaluate(episode: ToyEpisode) -> Evaluation:
    """Train a policy, unless it is written by hand, and evaluate it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowPathWarning)  # a run says it once
        world, _, name = episode.experiment.partition("/")
        if world == "deliberation":
            return deliberation.play(episode, name)  # type: ignore[arg-type]
        return patrol.play(episode, name)  # type: ignore[arg-type]


def play(episode: ToyEpisode, recorder: Recorder) -> None:
    """Play an episode and write its record; it takes no time on the timeline."""
    recorder.write(
        EpisodeStarted(at=0, version=__version__, settings=recorder.settings or episode.settings())
    )
    evaluation = evaluate(episode)
    score = float(evaluation.counts["return"].mean())
    data = evaluation.encode()
    recorder.write(Happened(at=0, number=1, what="evaluated", data=data, reward=score, score=score))
    recorder.write(EpisodeEnded(at=0, reason="evaluated", turns=episode.evaluation, score=score))
