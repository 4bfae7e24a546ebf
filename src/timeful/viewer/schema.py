"""What the page reads: the catalogue, the rows of a run, and an episode in three parts.

Each value is one JSON object; `pack.encode_part` cuts a long one into lines. Columns of one object
have equal length. Times are whole nanoseconds of simulated time; a column that is named `at` or
`start` is delta-coded: its first number is an instant, each other one the difference from the
number before. A number that refers to a line is a line of the record, from 1. A text that stands in
a list `strings` is referred to by its position; -1 is no text. The same record gives the same
bytes.
"""

from typing import Any, Literal

import msgspec

from timeful.reports.page import Section

PACK = 1
"""The version of this schema."""

LONGEST_LABEL = 80
"""The most characters of a text in lanes."""

LaneKind = Literal["world", "deadlines", "thoughts", "tools", "actions", "notes", "score"]
"""The kinds of lanes, from top to bottom."""

SpanState = Literal[
    "running",
    "paused",
    "completed",
    "cut",
    "cancelled",
    "failed",
    "orphaned",
    "unended",
    "window",
    "limit",
]
"""The state of a span; that of a thought's last span is how it ended.

Lanes of thoughts and tools have the first eight. `unended` is a thought without an end in the
record. The lane of deadlines has `window`, from the start of a slot to its deadline, and `limit`,
the time that a thought was given.
"""

MarkKind = Literal["turn", "event", "poll", "look", "action", "note", "end", "failure", "unknown"]
"""The kinds of marks; `unknown` is an event of a kind that this version does not know."""

LinkKind = Literal["seen", "looked", "acted"]
"""From what happened to its visibility, from there to the agent's look, and from the end of a
thought to its action."""


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """A row of the timeline; lanes of one module follow each other. No module is the agent."""

    name: str
    kind: LaneKind
    module: str = ""


class Thoughts(msgspec.Struct, kw_only=True):
    """The thoughts of an episode, in the order in which they began.

    `number` counts within its module; `length` is in ns, -1 for a thought that did not end. `model`
    and `purpose` are strings. `is_late` is 1 for a thought whose action came too late to matter.
    """

    number: list[int] = []
    lane: list[int] = []
    line: list[int] = []
    start: list[int] = []
    length: list[int] = []
    tokens: list[int] = []
    state: list[SpanState] = []
    cause: list[int] = []
    model: list[int] = []
    purpose: list[int] = []
    is_late: list[int] = []


class Spans(msgspec.Struct, kw_only=True):
    """Stretches of time: a state of a thought or tool, or the window of a deadline.

    `thought` is a position in `Thoughts`, -1 elsewhere.
    """

    lane: list[int] = []
    start: list[int] = []
    length: list[int] = []
    state: list[SpanState] = []
    line: list[int] = []
    label: list[int] = []
    thought: list[int] = []


class Marks(msgspec.Struct, kw_only=True):
    """Instants. `seen` is the delay, in ns, until the agent could see it: 0 at once, -1 never."""

    lane: list[int] = []
    at: list[int] = []
    kind: list[MarkKind] = []
    line: list[int] = []
    label: list[int] = []
    seen: list[int] = []


class Links(msgspec.Struct, kw_only=True):
    """Lines between lanes, from an instant to a later or equal one (`length` ns after it)."""

    kind: list[LinkKind] = []
    length: list[int] = []
    source: list[int] = []
    target: list[int] = []
    line: list[int] = []
    at: list[int] = []


class Verdicts(msgspec.Struct, kw_only=True):
    """What became of actions, slots, thoughts and calls; see `timeful.records.verdicts`.

    `line` is that of the action, or of what closed the slot. `slack` is the deadline minus the
    instant, negative if late, null without a deadline. `slot` and `reason` are strings.
    `thought` is a position in `Thoughts`, -1 for a verdict that is not on a thought.
    """

    at: list[int] = []
    lane: list[int] = []
    kind: list[str] = []
    line: list[int] = []
    slot: list[int] = []
    slack: list[int | None] = []
    reason: list[int] = []
    thought: list[int] = []


class Scores(msgspec.Struct, kw_only=True):
    """The score as steps; it has each value from its instant on."""

    at: list[int] = []
    score: list[float] = []


class Lanes(msgspec.Struct, kw_only=True):
    """The first part: all that is drawn over time, without texts above 80 characters.

    Attributes:
        pack: The version of the schema.
        title: A name of the episode for people.
        about: What identifies it, as pairs of a name and a value; then its outcome.
        status: "ok", "failed", or "open" for a record without an end.
        error: The boundary and the error of a failed episode.
        score: The last score.
        stand_in: Whether no language model was run; null if the record does not say.
        clock: "token" (a second is 1,000 tokens), "virtual" or "wall".
        end: The last instant, in ns.
        lines: The number of lines of the record.
        has_texts: Whether the record has prompts and chunks ("full" transcripts).
        counts: The number of verdicts of each kind.
        notices: What is wrong with the record, a sentence each.
        strings: The texts of this part.
    """

    pack: int = PACK
    title: str
    about: list[tuple[str, str]]
    status: Literal["ok", "failed", "open"]
    error: str | None
    score: float | None
    stand_in: bool | None
    clock: Literal["token", "virtual", "wall"]
    end: int
    lines: int
    has_texts: bool
    counts: dict[str, int]
    notices: list[str]
    lanes: list[Lane]
    thoughts: Thoughts
    spans: Spans
    marks: Marks
    links: Links
    verdicts: Verdicts
    scores: Scores
    strings: list[str]


class Chunks(msgspec.Struct, kw_only=True):
    """The chunks of a thought: `length` counts UTF-16 units of the thought's `text`."""

    at: list[int] = []
    tokens: list[int] = []
    length: list[int] = []
    channel: list[int] = []


class ThoughtText(msgspec.Struct, kw_only=True):
    """The words of a thought, at the same position as in `Thoughts`.

    `messages` are pairs of a role and a string of the part; null if they were not kept. `text` is
    all chunks joined; the text at t is the part of the chunks whose `at` is t or before.
    `answer` is known at the end. `undelivered` are pairs of the instant of a pause and what was
    known already. `limit` is in ns. `usage` is what a server counted.
    """

    limit: int | None
    max_tokens: int | None
    messages: list[tuple[str, int]] | None
    chunks: Chunks
    text: str
    answer: str
    undelivered: list[tuple[int, str]]
    usage: dict[str, Any] | None = None


class EventTable(msgspec.Struct, kw_only=True):
    """The events that have the same fields: their lines, and a column for each field by its name.

    The kind of a column says how its values are written: "same" has one value for all events;
    "delta" has integers, delta-coded; "value" has JSON values; "json" has JSON texts, where a
    number is beyond what a page can hold.
    """

    lines: list[int]
    kinds: dict[str, Literal["same", "delta", "value", "json"]]
    columns: dict[str, list[Any]]


class Texts(msgspec.Struct, kw_only=True):
    """The second part: words.

    `events` has every event that is no chunk, without what is elsewhere in the pack (messages,
    answers, tokens of thoughts, undelivered text, states) and without hashes. The store of the page
    makes pairs of a line and an event as JSON text of it.
    """

    pack: int = PACK
    thoughts: list[ThoughtText]
    events: list[EventTable]
    strings: list[str]
    channels: list[str]


Operation = tuple[str | float, ...]
"""A drawing in a box of 100 by 100, y downwards: see `timeful.environments.picture`.

    ["rect", role, x, y, width, height]         filled
    ["box", role, x, y, width, height]          outlined
    ["circle", role, x, y, radius]
    ["line", role, x1, y1, x2, y2]
    ["text", role, x, y, size, text]            left end of the base line; size in units of the box

Roles are "ink", "quiet", "good", "bad", "own", "other" and "paper"."""


class Frames(msgspec.Struct, kw_only=True):
    """The third part: pictures of the world.

    Frame i is visible from `at[i]` on, and shows the world as it was at `happened[i]`. "As the
    agent sees it" at t is the last frame with `at` <= t; "as it is" the last with `happened` <= t.

    `pictures[i]` is [head, tail, n, n, ...]: the operations of frame i are the first `head` numbers
    of the frame before, then the numbers n, then its last `tail` numbers; each is a position in
    `operations`. A frame without a picture has [0, 0]. `text[i]` is the string of what the world
    says of itself, shown in a fixed width; a frame has a picture, a text, or both.

    `reason` says why there are no frames, or that some were left out; else it is empty.
    """

    pack: int = PACK
    at: list[int] = []
    happened: list[int] = []
    turn: list[int] = []
    line: list[int] = []
    pictures: list[list[int]] = []
    text: list[int] = []
    operations: list[Operation] = []
    strings: list[str] = []
    reason: str = ""


class RunEntry(msgspec.Struct, kw_only=True):
    """A run, a training, or single records, as the first page shows them.

    `number` is its name in addresses and calls. `changed` is in seconds since 1970, null in an
    export. `state` is "running" while a process holds the folder.
    """

    number: int
    name: str
    path: str
    kind: Literal["run", "training", "records", "example"]
    suite: str
    state: Literal["done", "running", "stopped", "unreadable"]
    episodes: int
    failed: int
    stand_in: bool | None
    changed: float | None = None
    problem: str = ""
    about: list[tuple[str, str]] = []


class Catalogue(msgspec.Struct, kw_only=True):
    """All runs, newest first. `hint` is shown where there is no run but the examples."""

    pack: int = PACK
    version: str
    runs: list[RunEntry]
    hint: str = ""
    left_out: list[str] = []
    """The parts that an export does not have: "prompts", "texts", "states"."""


class Column(msgspec.Struct, kw_only=True):
    """A column of the episodes: one value each; null is unknown.

    `levels` are the values of a column that has at most 20, in order, for a filter.
    """

    name: str
    kind: Literal["number", "text", "flag"]
    values: list[str | float | int | bool | None]
    levels: list[str | float | int | bool | None] = []


class Curve(msgspec.Struct, kw_only=True):
    """A series of a training, over its updates."""

    name: str
    x: list[float]
    y: list[float | None]


class Rows(msgspec.Struct, kw_only=True):
    """The table of a run. Episode M is the M-th, from 0; `keys` are the names of their files.

    `lead` names the columns to show first. `pending` counts the episodes whose numbers are still
    being read; their values are null. `sections` are those of the report, then all numbers.
    """

    pack: int = PACK
    run: int
    keys: list[str]
    columns: list[Column]
    lead: list[str]
    sections: list[Section] = []
    curves: list[Curve] = []
    pending: int = 0
    notices: list[str] = []
