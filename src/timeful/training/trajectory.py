"""What an optimiser sees of an episode: the token ids that were sampled, and what stood between.

Ids and log-probabilities are read from the record, as the sampler drew them; text is never turned
into tokens again. A conversation that only grows is one row, in which what the world put in has
mask 0. Where it was rewritten, say since a message was left out, a row of its own begins.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from timeful.records.events import Event, Happened, Sampled, ThoughtStarted

WORLD = -1
"""The turn of a token that the world put in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One conversation, as token ids; the last four are as long as each other.

    Attributes:
        prompt_ids: What the model read first; at least one id.
        completion_ids: All that came after it, from the model and from the world.
        logprobs: The sampler's natural log-probability of each; 0 where the world spoke.
        mask: 1 where the model spoke, else 0.
        turns: Which thought of the episode a token is of, from 0; `WORLD` where the world spoke.
    """

    prompt_ids: tuple[int, ...]
    completion_ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    mask: tuple[int, ...]
    turns: tuple[int, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        """The conversation from its beginning."""
        return self.prompt_ids + self.completion_ids

    def then(self, said: Sampled, turn: int) -> "Row":
        """The same conversation, longer by what was put in since and by a further thought."""
        put_in = tuple(said.prompt_ids[len(self.ids) :])
        silence = (0,) * len(put_in)
        return Row(
            prompt_ids=self.prompt_ids,
            completion_ids=self.completion_ids + put_in + tuple(said.ids),
            logprobs=self.logprobs + (0.0,) * len(put_in) + tuple(said.logprobs),
            mask=self.mask + silence + (1,) * len(said.ids),
            turns=self.turns + (WORLD,) * len(put_in) + (turn,) * len(said.ids),
        )


def rows(events: Iterable[Event], *, model: str | None = None) -> tuple[Row, ...]:
    """The rows of an episode, each as long as its conversation went on; none if nobody sampled.

    Args:
        events: Its record.
        model: Only the thoughts of the model by this name; an agent may have several.
    """
    found: list[Row] = []
    for turn, said in _thoughts(events, model):
        if not said.ids:  # cut before its first token: nothing was chosen
            continue
        at = next((i for i in reversed(range(len(found))) if _goes_on(found[i], said)), None)
        if at is None:
            start = Row(
                prompt_ids=tuple(said.prompt_ids), completion_ids=(), logprobs=(), mask=(), turns=()
            )
            found.append(start.then(said, turn))
        else:
            found[at] = found[at].then(said, turn)
    return tuple(found)


def turn_rewards(events: Iterable[Event], *, model: str | None = None) -> tuple[float, ...]:
    """What the world gave after each thought began and before the next one did.

    What came before the first thought belongs to none and is left out.
    """
    given: list[float] = []
    for event in events:
        if isinstance(event, ThoughtStarted) and model in (None, event.model):
            given.append(0.0)
        elif isinstance(event, Happened) and given:
            given[-1] += event.reward
    return tuple(given)


def _thoughts(events: Iterable[Event], model: str | None) -> list[tuple[int, Sampled]]:
    """What was sampled, with the number of its thought among those of the model, from 0."""
    numbers: dict[int, int] = {}
    found: list[tuple[int, Sampled]] = []
    for event in events:
        if isinstance(event, ThoughtStarted) and model in (None, event.model):
            numbers[event.thought] = len(numbers)
        elif isinstance(event, Sampled) and event.thought in numbers:
            found.append((numbers[event.thought], event))
    return sorted(found, key=lambda one: one[0])


def _goes_on(row: Row, said: Sampled) -> bool:
    """Whether a thought's prompt begins with all of a conversation so far."""
    ids: Sequence[int] = row.ids
    return len(said.prompt_ids) >= len(ids) and tuple(said.prompt_ids[: len(ids)]) == ids
