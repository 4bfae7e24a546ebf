"""The lanes of an episode: spans, marks, links and verdicts, by module and by kind of lane."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Any, get_args

from timeful.records.events import (
    Acted,
    CallEnded,
    CallStarted,
    Entry,
    EpisodeEnded,
    EpisodeFailed,
    Happened,
    Looked,
    Noted,
    Observed,
    Polled,
    Printed,
    ThoughtEnded,
    ThoughtPaused,
    ThoughtResumed,
    ThoughtStarted,
    Turned,
    Within,
)
from timeful.records.verdicts import Judgement, end_of, judge
from timeful.viewer.actions import read_changes, read_ranges
from timeful.viewer.columns import Strings, delta
from timeful.viewer.reading import RawRecord
from timeful.viewer.schema import (
    LONGEST_LABEL,
    Lane,
    LaneKind,
    LinkKind,
    Links,
    MarkKind,
    Marks,
    Spans,
    SpanState,
    Thoughts,
    Verdicts,
)

_KINDS: tuple[LaneKind, ...] = get_args(LaneKind)
_LONGEST = 2**53 - 1
_Kinds = frozenset[type]
_VISIBLE: _Kinds = frozenset({Turned, Happened, Observed, Looked})
_THOUGHTS: _Kinds = frozenset({ThoughtStarted, ThoughtPaused, ThoughtResumed, ThoughtEnded})
_TIED: _Kinds = frozenset({ThoughtEnded, Acted})
_CALLS: _Kinds = frozenset({CallStarted, CallEnded, Acted, Happened})
_MARKED: _Kinds = frozenset(
    {Turned, Happened, Polled, Acted, Noted, Printed, EpisodeEnded, EpisodeFailed}
)
_MOST_SLOTS = 40
"""Things with windows, as letters, that have lanes of their own."""

LaneKey = tuple[str, LaneKind, str, int]
"""Module, kind, name, and the number of a lane among those of its name."""


@dataclass(slots=True, kw_only=True)
class _Thought:
    """A thought on its way: `since` is when its state began; None after its end."""

    event: ThoughtStarted
    line: int
    lane: LaneKey
    since: int | None
    state: SpanState = "running"
    spans: list[tuple[int, int, SpanState]] = field(default_factory=list)
    end: int = -1
    tokens: int = 0
    cause: str = ""
    last: SpanState = "unended"
    is_late: bool = False

    def move(self, at: int, state: SpanState) -> None:
        if self.since is not None:
            self.spans.append((self.since, at - self.since, self.state))
            self.since, self.state = at, state


@dataclass(slots=True, kw_only=True)
class _Group:
    """The events of one module, and what is drawn of them; lanes are keys until the end."""

    module: str
    entries: list[Entry] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    thoughts: dict[int, _Thought] = field(default_factory=dict)
    every_thought: list[_Thought] = field(default_factory=list)
    spans: list[tuple[int, int, SpanState, int, str, LaneKey]] = field(default_factory=list)
    marks: list[list[Any]] = field(default_factory=list)
    links: list[tuple[int, int, LinkKind, LaneKey, LaneKey, int]] = field(default_factory=list)
    calls: dict[int, tuple[int, int, str, int]] = field(default_factory=dict)
    rows: dict[tuple[LaneKind, str], list[int]] = field(default_factory=dict)

    def of(self, kinds: _Kinds) -> list[tuple[int, Entry]]:
        """The events of some kinds, after their lines."""
        pairs = zip(self.lines, self.entries, strict=True)
        return [pair for pair in pairs if type(pair[1]) in kinds]

    def key(self, kind: LaneKind, name: str = "", row: int = 0) -> LaneKey:
        return (self.module, kind, name or kind, row)

    def row(self, kind: LaneKind, name: str, start: int, end: int) -> int:
        """The first lane of a name that is free from an instant to another."""
        ends = self.rows.setdefault((kind, name), [])
        for row, until in enumerate(ends):
            if until <= start:
                ends[row] = end
                return row
        ends.append(end)
        return len(ends) - 1

    def mark(self, kind: MarkKind, event: Entry, line: int, label: str, lane: LaneKey) -> list[Any]:
        mark = [event.at, kind, line, label, 0, lane]
        self.marks.append(mark)
        return mark


def split_modules(record: RawRecord) -> list[_Group]:
    """The events of the agent, then those of each module, in the order of their first event."""
    groups = {"": _Group(module="")}
    if Within not in set(map(type, record.entries)):
        groups[""].entries, groups[""].lines = record.entries, record.lines
        return list(groups.values())
    for line, event in zip(record.lines, record.entries, strict=True):
        module, inner = ("", event)
        if isinstance(event, Within):
            module, inner = event.module, event.what
            if inner.at != event.at:
                inner = _at(inner, event.at)
        group = groups.setdefault(module, _Group(module=module))
        group.entries.append(inner)
        group.lines.append(line)
    return list(groups.values())


def _at(event: Any, at: int) -> Any:
    """The event at another instant, that of the line around it."""
    return type(event)(
        **{name: getattr(event, name) for name in event.__struct_fields__ if name != "at"}, at=at
    )


def pack_groups(groups: Sequence[_Group], record: RawRecord, strings: Strings) -> dict[str, Any]:
    """The columns of `Lanes` that are drawn."""
    judgements = []
    end = record.last
    for group in groups:
        _read_worlds(group)
        _read_visibility(group)
        _read_thoughts(group, end)
        _read_calls(group, end)
        judgement = judge(group.entries)
        _read_slots(group, judgement)
        _read_actions(group)
        judgements.append(judgement)
    groups[0].marks += [
        [unknown.at, "unknown", line, unknown.name, 0, groups[0].key("notes")]
        for line, unknown in record.unknown
    ]
    keys = _order_lanes(groups, judgements)
    indices = {key: index for index, key in enumerate(keys)}
    thoughts = sorted(
        (thought for group in groups for thought in group.every_thought),
        key=lambda thought: (thought.event.at, thought.line),
    )
    numbers = {id(thought): index for index, thought in enumerate(thoughts)}
    return {
        "lanes": _lanes(keys),
        "verdicts": _verdicts(groups, judgements, indices, numbers, strings),
        "thoughts": _thought_columns(thoughts, indices, strings),
        "spans": _span_columns(groups, indices, numbers, strings),
        "marks": _mark_columns(groups, indices, strings),
        "links": _link_columns(groups, indices),
    }


# --- reading ---------------------------------------------------------------------------------


def _read_worlds(group: _Group) -> None:
    """Marks of what happened, was done and was noted."""
    world, actions, notes = group.key("world"), group.key("actions"), group.key("notes")
    for line, event in group.of(_MARKED):
        match event:
            case Turned():
                group.mark("turn", event, line, event.action, world)
            case Happened():
                group.mark("event", event, line, _happening(event), world)
            case Polled():
                group.mark("poll", event, line, f"{event.found} new", world)
            case Acted():
                group.mark("action", event, line, event.action, actions)
            case Noted():
                group.mark("note", event, line, f"{event.topic}: {event.text}", notes)
            case Printed():
                group.mark("note", event, line, f"{event.stream}: {event.text}", notes)
            case EpisodeEnded():
                group.mark("end", event, line, event.reason, world)
            case EpisodeFailed():
                group.mark("failure", event, line, f"{event.boundary}: {event.error}", world)


def _read_visibility(group: _Group) -> None:
    """When the agent could see what happened, and when it looked."""
    world = group.key("world")
    marks = {mark[2]: mark for mark in group.marks}
    hidden: dict[int, list[Any]] = {}
    unread: list[tuple[int, int]] = []
    for line, event in group.of(_VISIBLE):
        match event:
            case Turned() | Happened():
                number = event.turn if isinstance(event, Turned) else event.number
                hidden[number] = marks[line]
                marks[line][4] = -1
            case Observed():
                unread.append((event.turn, event.at))
                if (mark := hidden.pop(event.turn, None)) is not None:
                    mark[4] = max(event.at - mark[0], 0)
                    if mark[4]:
                        group.links.append((mark[0], mark[4], "seen", world, world, line))
            case Looked():
                for turn, at in unread:
                    if turn <= event.through and event.at > at:
                        group.links.append((at, event.at - at, "looked", world, world, line))
                unread = [item for item in unread if item[0] > event.through]


def _happening(event: Happened) -> str:
    """What happened, with the short values of its data."""
    values = [
        str(value)
        for value in list(event.data.values())[:3]
        if isinstance(value, str | int) and not isinstance(value, bool) and _is_short(value)
    ]
    return " ".join([event.what, *values])


def _is_short(value: str | int) -> bool:
    """Whether a value is a name or a count, and no instant or text."""
    return len(value) <= 24 if isinstance(value, str) else abs(value) < 1_000_000


def _read_thoughts(group: _Group, end: int) -> None:
    for line, event in group.of(_THOUGHTS):
        match event:
            case ThoughtStarted():
                lane = group.key("thoughts", _purpose(event))
                thought = _Thought(event=event, line=line, lane=lane, since=event.at)
                group.thoughts[event.thought] = thought
                group.every_thought.append(thought)
            case ThoughtPaused() if event.thought in group.thoughts:
                group.thoughts[event.thought].move(event.at, "paused")
                group.thoughts[event.thought].tokens = event.tokens
            case ThoughtResumed() if event.thought in group.thoughts:
                group.thoughts[event.thought].move(event.at, "running")
            case ThoughtEnded() if event.thought in group.thoughts:
                thought = group.thoughts[event.thought]
                thought.last = _span_state(event)
                thought.move(event.at, "running")
                thought.since, thought.end = None, event.at
                thought.tokens, thought.cause = event.tokens, event.cause or ""
    limits = group.key("deadlines")
    for thought in group.every_thought:
        thought.move(end, "running")
        thought.since = None
        start, until = thought.event.at, end if thought.end < 0 else thought.end
        name = thought.lane[2]
        thought.lane = (*thought.lane[:3], group.row("thoughts", name, start, max(until, start)))
        if thought.event.limit is not None:
            limit = min(thought.event.limit, _LONGEST)
            group.spans.append((start, limit, "limit", thought.line, "", limits))
    _link_actions(group)


def _link_actions(group: _Group) -> None:
    """Tie each action to the thought that ended at its instant, the last before it."""
    ended: _Thought | None = None
    actions = group.key("actions")
    for line, event in group.of(_TIED):
        if isinstance(event, ThoughtEnded):
            ended = group.thoughts.get(event.thought)
        elif ended is not None and ended.end == event.at:
            group.links.append((event.at, 0, "acted", ended.lane, actions, line))


def _purpose(event: ThoughtStarted) -> str:
    return event.purpose[:LONGEST_LABEL] or "thought"


def _span_state(event: ThoughtEnded | CallEnded) -> SpanState:
    match end_of(event):
        case "cut":
            return "cut"
        case "cancelled":
            return "cancelled"
        case "orphaned":
            return "orphaned"
        case "failed":
            return "failed"
    return "completed" if event.state == "completed" else "unended"


def _read_calls(group: _Group, end: int) -> None:
    """Calls of tools, and the tools of a world that answers with `reply`."""
    acted = -1
    for line, event in group.of(_CALLS):
        match event:
            case CallStarted():
                group.calls[event.call] = (event.at, line, event.tool, 0)
            case CallEnded() if event.call in group.calls:
                start, begun, tool, _ = group.calls.pop(event.call)
                _add_call(group, start, event.at, _span_state(event), begun, tool)
            case Acted() if event.legal:
                acted = event.at
            case Happened(what="reply") if acted >= 0:
                tool = str(event.data.get("tool", "tool"))
                _add_call(group, acted, event.at, "completed", line, tool)
    for start, begun, tool, _ in group.calls.values():
        _add_call(group, start, end, "unended", begun, tool)


def _add_call(group: _Group, start: int, end: int, state: SpanState, line: int, tool: str) -> None:
    row = group.row("tools", "tools", start, end)
    group.spans.append((start, end - start, state, line, tool, group.key("tools", row=row)))


def _read_slots(group: _Group, judgement: Judgement) -> None:
    """Windows in one lane; those that overlap, as of letters and dishes, in one for each name."""
    slots = [slot for slot in judgement.slots if slot.deadline is not None]
    names = {slot.name for slot in slots}
    ends = accumulate((slot.deadline or 0 for slot in slots), max)
    overlap = any(slot.opens < end for end, slot in zip(ends, slots[1:], strict=False))
    is_split = overlap and len(names) <= _MOST_SLOTS
    for slot in slots:
        start = min(max(slot.opens, 0), _LONGEST)
        end = min(max(slot.deadline or 0, start), _LONGEST)
        name = slot.name if is_split else "deadlines"
        key = group.key("deadlines", name, group.row("deadlines", name, start, end))
        line = group.lines[slot.event]
        group.spans.append((start, end - start, "window", line, slot.name, key))


def _read_actions(group: _Group) -> None:
    """The actions of a conversation: a lane each, with its ready ranges and changes of state."""
    for part in read_ranges(group.entries):
        line, key = group.lines[part.event], group.key("deadlines", part.name)
        group.spans.append((part.start, part.end - part.start, "window", line, "", key))
    for change in read_changes(group.entries):
        event, line = group.entries[change.event], group.lines[change.event]
        group.mark("note", event, line, change.status, group.key("deadlines", change.name))


# --- writing ---------------------------------------------------------------------------------


def _order_lanes(groups: Sequence[_Group], judgements: Sequence[Judgement]) -> list[LaneKey]:
    """All lanes that have something in them, from top to bottom."""
    keys: list[LaneKey] = []
    for group, judgement in zip(groups, judgements, strict=True):
        own = {span[-1] for span in group.spans} | {mark[-1] for mark in group.marks}
        own |= {thought.lane for thought in group.every_thought}
        own |= {key for link in group.links for key in link[3:5]}
        if judgement.verdicts:
            own.add(group.key("actions"))
        if {Turned, Happened} & set(map(type, group.entries)):
            own.add(group.key("score"))
        keys_of_items = [item[-1] for item in (*group.spans, *group.marks)]
        lanes = dict.fromkeys(key for key in keys_of_items if key[1] == "deadlines")
        first = {key: index for index, key in enumerate([*_thought_keys(group), *lanes])}
        keys += sorted(
            own, key=lambda key: (_KINDS.index(key[1]), first.get((*key[:3], 0), 0), key[3])
        )
    return keys


def _thought_keys(group: _Group) -> list[LaneKey]:
    """The first lane of each purpose, in the order in which they began."""
    return list(dict.fromkeys((*thought.lane[:3], 0) for thought in group.every_thought))


def _lanes(keys: Sequence[LaneKey]) -> list[Lane]:
    """The lanes; those of one name are numbered."""
    counts = Counter(key[:3] for key in keys)
    return [
        Lane(
            name=key[2] if counts[key[:3]] == 1 else f"{key[2]} {key[3] + 1}",
            kind=key[1],
            module=key[0],
        )
        for key in keys
    ]


def _thought_columns(
    thoughts: Sequence[_Thought], indices: dict[LaneKey, int], strings: Strings
) -> Thoughts:
    texts = [
        tuple(map(strings.label, (thought.cause, thought.event.model, thought.lane[2])))
        for thought in thoughts
    ]
    return Thoughts(
        number=[thought.event.thought for thought in thoughts],
        lane=[indices[thought.lane] for thought in thoughts],
        line=[thought.line for thought in thoughts],
        start=delta([thought.event.at for thought in thoughts]),
        length=[max(thought.end - thought.event.at, -1) for thought in thoughts],
        tokens=[thought.tokens for thought in thoughts],
        state=[thought.last for thought in thoughts],
        cause=[cause for cause, _, _ in texts],
        model=[model for _, model, _ in texts],
        purpose=[purpose for _, _, purpose in texts],
        is_late=[int(thought.is_late) for thought in thoughts],
    )


def _span_columns(
    groups: Sequence[_Group], indices: dict[LaneKey, int], numbers: dict[int, int], strings: Strings
) -> Spans:
    rows: list[tuple[int, int, SpanState, int, str, int, int]] = []
    for group in groups:
        rows += [(*span[:5], indices[span[5]], -1) for span in group.spans]
        for thought in group.every_thought:
            index, number = indices[thought.lane], numbers[id(thought)]
            label = f"#{thought.event.thought}"
            *stretches, (start, length, _) = thought.spans or [(thought.event.at, 0, "running")]
            if stretches:
                rows += [(*stretch, thought.line, label, index, number) for stretch in stretches]
            rows.append((start, length, thought.last, thought.line, label, index, number))
    rows.sort(key=itemgetter(0, 5, 3))
    return Spans(
        start=delta([row[0] for row in rows]),
        length=[row[1] for row in rows],
        state=[row[2] for row in rows],
        line=[row[3] for row in rows],
        label=[strings.label(row[4]) for row in rows],
        lane=[row[5] for row in rows],
        thought=[row[6] for row in rows],
    )


def _mark_columns(groups: Sequence[_Group], indices: dict[LaneKey, int], strings: Strings) -> Marks:
    marks = sorted((mark for group in groups for mark in group.marks), key=itemgetter(0, 2))
    return Marks(
        at=delta([mark[0] for mark in marks]),
        kind=[mark[1] for mark in marks],
        line=[mark[2] for mark in marks],
        label=[strings.label(mark[3]) for mark in marks],
        seen=[mark[4] for mark in marks],
        lane=[indices[mark[5]] for mark in marks],
    )


def _link_columns(groups: Sequence[_Group], indices: dict[LaneKey, int]) -> Links:
    links = sorted((link for group in groups for link in group.links), key=itemgetter(0, 5))
    return Links(
        at=delta([link[0] for link in links]),
        length=[link[1] for link in links],
        kind=[link[2] for link in links],
        source=[indices[link[3]] for link in links],
        target=[indices[link[4]] for link in links],
        line=[link[5] for link in links],
    )


def _bounded(span: int | None) -> int | None:
    return None if span is None else min(max(span, -_LONGEST), _LONGEST)


def _verdicts(
    groups: Sequence[_Group],
    judgements: Sequence[Judgement],
    indices: dict[LaneKey, int],
    numbers: dict[int, int],
    strings: Strings,
) -> Verdicts:
    rows = []
    for group, judgement in zip(groups, judgements, strict=True):
        actions = group.key("actions")
        for verdict in judgement.verdicts:
            thought = None if verdict.thought is None else group.thoughts.get(verdict.thought)
            key = actions
            if thought is not None:
                key = thought.lane
                thought.is_late |= verdict.kind == "too late"
            number = -1 if thought is None else numbers[id(thought)]
            rows.append((verdict.at, group.lines[verdict.event], indices[key], verdict, number))
    rows.sort(key=itemgetter(0, 1))
    return Verdicts(
        at=delta([row[0] for row in rows]),
        line=[row[1] for row in rows],
        lane=[row[2] for row in rows],
        kind=[row[3].kind for row in rows],
        slot=[strings.label(row[3].slot) for row in rows],
        slack=[_bounded(row[3].slack) for row in rows],
        reason=[strings.label(row[3].reason) for row in rows],
        thought=[row[4] for row in rows],
    )
