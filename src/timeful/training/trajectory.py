"""Training sequences: the token ids of an episode, as sampled, with a mask of the world's tokens.

Ids and log-probabilities are read from the record; text is never tokenized again. A conversation
that only grows is one sequence, in which the world's tokens have mask 0. Where a conversation was
rewritten, say because a message was left out, another sequence begins.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from timeful.records.events import Entry, Happened, Sampled, ThoughtStarted

WORLD = -1
"""The turn of the world's tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSequence:
    """One conversation as token ids; the last four have the same length.

    Attributes:
        prompt_ids: The first prompt; at least one id.
        completion_ids: All that followed, from the model and from the world.
        logprobs: The sampler's natural log-probability of each; 0 for the world's tokens.
        mask: 1 for the model's tokens, else 0.
        turns: The thought of the episode that a token is of, from 0; `WORLD` for the world's.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()
    mask: tuple[int, ...] = ()
    turns: tuple[int, ...] = ()

    @property
    def ids(self) -> tuple[int, ...]:
        """The conversation from its beginning."""
        return self.prompt_ids + self.completion_ids

    def extend(self, sample: Sampled, turn: int) -> "TrainingSequence":
        """The same conversation with what the world put in since, and a further thought."""
        world = tuple(sample.prompt_ids[len(self.ids) :])
        zeros = (0,) * len(world)
        return TrainingSequence(
            prompt_ids=self.prompt_ids,
            completion_ids=self.completion_ids + world + tuple(sample.ids),
            logprobs=self.logprobs + (0.0,) * len(world) + tuple(sample.logprobs),
            mask=self.mask + zeros + (1,) * len(sample.ids),
            turns=self.turns + (WORLD,) * len(world) + (turn,) * len(sample.ids),
        )

    def is_continued_by(self, sample: Sampled) -> bool:
        """Whether a thought's prompt begins with all of the conversation so far."""
        return tuple(sample.prompt_ids[: len(self.ids)]) == self.ids


def read_sequences(
    events: Iterable[Entry], *, model: str | None = None
) -> tuple[TrainingSequence, ...]:
    """The sequences of an episode, one for each conversation; none if nothing was sampled.

    Args:
        events: Its record.
        model: Only the thoughts of the model by this name; an agent may have several.
    """
    sequences: list[TrainingSequence] = []
    for turn, sample in _read_samples(events, model):
        if not sample.ids:  # cut before its first token: nothing was chosen
            continue
        for i in reversed(range(len(sequences))):
            if sequences[i].is_continued_by(sample):
                sequences[i] = sequences[i].extend(sample, turn)
                break
        else:
            begin = TrainingSequence(prompt_ids=tuple(sample.prompt_ids))
            sequences.append(begin.extend(sample, turn))
    return tuple(sequences)


def turn_rewards(events: Iterable[Entry], *, model: str | None = None) -> tuple[float, ...]:
    """The world's rewards after each thought began and before the next one did.

    Rewards before the first thought belong to none and are left out.
    """
    rewards: list[float] = []
    for event in events:
        if isinstance(event, ThoughtStarted) and model in (None, event.model):
            rewards.append(0.0)
        elif isinstance(event, Happened) and rewards:
            rewards[-1] += event.reward
    return tuple(rewards)


def _read_samples(events: Iterable[Entry], model: str | None) -> list[tuple[int, Sampled]]:
    turns: dict[int, int] = {}
    samples: list[tuple[int, Sampled]] = []
    for event in events:
        if isinstance(event, ThoughtStarted) and model in (None, event.model):
            turns[event.thought] = len(turns)
        elif isinstance(event, Sampled) and event.thought in turns:
            samples.append((turns[event.thought], event))
    return sorted(samples, key=lambda sample: sample[0])
