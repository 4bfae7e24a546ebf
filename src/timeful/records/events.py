"""The entries of a record: one JSON object a line, with its type in the field `event`.

`at` is the simulated instant in nanoseconds. Real time, CPU time and retries stand only in
`Wall` events, and the output of programs in `Printed` events. The hash of a record leaves both
out: all else is the same for the same seed.
"""

from typing import Any, Literal

import msgspec

from timeful.records.usage import Usage

Boundary = Literal["model", "world", "sandbox", "agent", "program", "process"]
"""What an episode can break at; the process is that which played it."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened at an instant."""

    at: int


class EpisodeStarted(Entry, frozen=True, kw_only=True, tag="episode-started"):
    """The first event: which episode this is, and under which settings."""

    schema: int = 2
    version: str
    settings: dict[str, Any]


class Happened(Entry, frozen=True, kw_only=True, tag="happened"):
    """Something happened in a world of events, whether anybody could see it or not.

    `number` counts what happened, from 1; `what` is the world's own word for it.
    """

    number: int
    what: str
    data: dict[str, Any]
    reward: float
    score: float


class Observed(Entry, frozen=True, kw_only=True, tag="observed"):
    """The agent could see, from now on, what happened in the world at `happened_at`.

    `turn` is its number. `state` is left out of short records: the world can be played again
    from its actions.
    """

    happened_at: int
    turn: int
    state: dict[str, Any] | None


class ThoughtStarted(Entry, frozen=True, kw_only=True, tag="thought-started"):
    """A thought began; `limit` is the span after which it is cut, in nanoseconds."""

    thought: int
    model: str
    purpose: str
    turn: int
    limit: int | None
    max_tokens: int | None
    seed: int
    messages: list[tuple[str, str]] | None


class ThoughtChunk(Entry, frozen=True, kw_only=True, tag="thought-chunk"):
    """A chunk of a thought, at the instant of its last token."""

    thought: int
    channel: str
    tokens: int
    text: str


class ThoughtPaused(Entry, frozen=True, kw_only=True, tag="thought-paused"):
    """A thought was interrupted; it may be resumed. `undelivered` is what was known already."""

    thought: int
    cause: str
    tokens: int
    undelivered: str


class ThoughtResumed(Entry, frozen=True, kw_only=True, tag="thought-resumed"):
    """An interrupted thought went on."""

    thought: int


class ThoughtEnded(Entry, frozen=True, kw_only=True, tag="thought-ended"):
    """A thought ended: completed, cancelled, failed or orphaned. Each ends exactly once.

    `text_sha256` is of all its text on both channels; `answer` is the text of the answer. `usage`
    is left out where no server counts tokens. `failure` is the error of the last attempt of a
    request, where attempts failed under a wall clock and no part of an answer came.
    """

    thought: int
    state: str
    cause: str | None
    tokens: int
    finish: str | None
    text_sha256: str
    answer: str
    usage: Usage | msgspec.UnsetType = msgspec.UNSET
    failure: str | msgspec.UnsetType = msgspec.UNSET


class Sampled(Entry, frozen=True, kw_only=True, tag="sampled"):
    """The tokens of a thought that just ended, where its model can tell them.

    `ids` are those that were delivered: a thought that was cut has no more. `logprobs` belong to
    them, one each. `kept` counts the tokens of the prompt that came over from earlier thoughts
    of the same conversation; 0 says that it began anew.
    """

    thought: int
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    policy: int
    kept: int


class CallStarted(Entry, frozen=True, kw_only=True, tag="call-started"):
    """A tool call began."""

    call: int
    tool: str


class CallEnded(Entry, frozen=True, kw_only=True, tag="call-ended"):
    """A tool call ended: completed, cancelled or orphaned. Each ends exactly once."""

    call: int
    state: str
    cause: str | None
    error: str | None


class Acted(Entry, frozen=True, kw_only=True, tag="acted"):
    """The agent intervened. An illegal action is reported and has no effect.

    `by` is "reflex" where the interface reacted in its place.
    """

    turn: int
    action: str
    legal: bool
    error: str | None
    by: Literal["agent", "reflex"] = "agent"


class Polled(Entry, frozen=True, kw_only=True, tag="polled"):
    """The interface looked at the world; `found` counts what it saw that was new."""

    found: int


class Looked(Entry, frozen=True, kw_only=True, tag="looked"):
    """The agent took what it could see; `through` is the number of the latest of it."""

    through: int


class Noted(Entry, frozen=True, kw_only=True, tag="noted"):
    """The agent left a remark, such as what became of an answer that it could not use."""

    topic: str
    text: str


class Printed(Entry, frozen=True, kw_only=True, tag="printed"):
    """The output of a program that is an agent: the end of its `stdout` or `stderr`.

    As it may hold real times and addresses, the hash of a record leaves it out.
    """

    stream: str
    text: str


class Turned(Entry, frozen=True, kw_only=True, tag="turned"):
    """The world moved one turn, with the agent's action or, when none had come, its default."""

    turn: int
    action: str
    late: bool
    reward: float
    score: float


class EpisodeEnded(Entry, frozen=True, kw_only=True, tag="episode-ended"):
    """The last event of an episode that ran to its end."""

    reason: str
    turns: int
    score: float


class EpisodeFailed(Entry, frozen=True, kw_only=True, omit_defaults=True, tag="episode-failed"):
    """The last event of an episode that broke; `boundary` names what it broke at.

    `trace` is the places that the error passed, as `file.py:LINE in function`, outermost first.
    """

    boundary: Boundary
    error: str
    trace: tuple[str, ...] = ()


class Wall(Entry, frozen=True, kw_only=True, tag="wall"):
    """What the machine spent: real and CPU seconds, and attempts beyond the first.

    `waited_s` are the seconds that requests waited because of limits of their endpoint.
    `behind_s` is the greatest delay of the timeline, in seconds, after the wall clock; agents
    that compute for long cause it.
    """

    real_s: float
    cpu_s: float
    retries: int
    waited_s: float = 0.0
    behind_s: float = 0.0


Inner = (
    EpisodeStarted
    | Happened
    | Observed
    | Looked
    | ThoughtStarted
    | ThoughtChunk
    | ThoughtPaused
    | ThoughtResumed
    | ThoughtEnded
    | Sampled
    | CallStarted
    | CallEnded
    | Acted
    | Polled
    | Noted
    | Printed
    | Turned
    | EpisodeEnded
    | EpisodeFailed
    | Wall
)
"""What a record says of one agent."""


class Within(Entry, frozen=True, kw_only=True, tag="within"):
    """Something that happened to a module of the agent; its name, and that of any around it."""

    module: str
    what: Inner


AnyEntry = Inner | Within
