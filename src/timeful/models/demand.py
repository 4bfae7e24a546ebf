"""What a run would ask of endpoints: its models answer as stand-ins, and nothing is sent."""

from collections.abc import Callable
from dataclasses import dataclass, field

from timeful.core.source import Chunk, End, Source
from timeful.models.model import Model, Prompt, limit_tokens
from timeful.models.request import MOST_TOKENS, estimate_prompt
from timeful.models.scripted import ListSource


@dataclass(slots=True)
class Demand:
    """What is asked of one model in one role.

    Attributes:
        requests: The number of requests.
        prompt: The tokens of their prompts, estimated from bytes.
        completion: The tokens that the stand-in generated.
        most: The most tokens that an endpoint may generate, by the limits of its thoughts.
    """

    requests: float = 0
    prompt: float = 0
    completion: float = 0
    most: float = 0

    def scale(self, factor: float) -> "Demand":
        """A multiple of it."""
        return Demand(
            requests=self.requests * factor,
            prompt=self.prompt * factor,
            completion=self.completion * factor,
            most=self.most * factor,
        )

    def add(self, other: "Demand") -> None:
        """Add another one."""
        self.requests += other.requests
        self.prompt += other.prompt
        self.completion += other.completion
        self.most += other.most


@dataclass(slots=True)
class DemandLog:
    """Demands by model, endpoint and role.

    Attributes:
        is_idle: Whether models answer with nothing, in place of their stand-ins: an agent that
            never acts well may ask more often.
        demands: The demands.
    """

    is_idle: bool = False
    demands: dict[tuple[str, str, str], Demand] = field(default_factory=dict)

    def find(self, model: str, endpoint: str, role: str) -> Demand:
        """The demand of a model in a role."""
        return self.demands.setdefault((model, endpoint, role), Demand())


class DryModel:
    """A stand-in in place of an endpoint, under the endpoint's name.

    Args:
        inner: The stand-in.
        name: The name of the model at the endpoint.
        endpoint: The address of the endpoint.
        log: Counts what would be asked.
    """

    live = False

    def __init__(self, inner: Model, *, name: str, endpoint: str, log: DemandLog) -> None:
        self.name, self.pace = name, inner.pace
        self._inner, self._endpoint, self._log = inner, endpoint, log

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> Source:
        """Start answering; see `Model`."""
        demand = self._log.find(self.name, self._endpoint, prompt.label)
        demand.requests += 1
        demand.prompt += estimate_prompt(prompt.messages)
        limit = limit_tokens(prompt, max_tokens)
        demand.most += MOST_TOKENS if limit is None else limit
        if self._log.is_idle:
            return ListSource([Chunk(" ", 1)])
        return _DrySource(self._inner.open(prompt, max_tokens=max_tokens, seed=seed), demand)


class _DrySource:
    """Counts the tokens of a stand-in as they are pulled."""

    def __init__(self, inner: Source, demand: Demand) -> None:
        self._inner, self._demand = inner, demand

    def pull(self) -> Chunk | End:
        piece = self._inner.pull()
        if isinstance(piece, Chunk):
            self._demand.completion += piece.tokens
        return piece

    def when_ready(self, notify: Callable[[], None]) -> None:
        self._inner.when_ready(notify)

    def close(self) -> None:
        self._inner.close()
