"""Tokens that nobody sees take their time: counts of servers, and what they make of an answer."""

import json
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.asking import ask, read
from tests.servers.fake import (
    Body,
    Call,
    Die,
    FakeServer,
    Finish,
    Hang,
    Raw,
    Say,
    Status,
    Step,
    Think,
    Usage,
    Wait,
)
from timeful.agents.prompt_kit import prompt_kit
from timeful.agents.reactive import reactive
from timeful.agents.session import Session
from timeful.core.clock import WallClock
from timeful.core.source import Channel, Chunk, End
from timeful.core.units import NO_TIME, Duration, milliseconds
from timeful.errors import CassetteMissError, ModelError, SettingsError
from timeful.models import counting
from timeful.models.chat import OpenAIModel
from timeful.models.counting import MeteredSource, Report, apportion, settle
from timeful.models.model import Model, Pricing, price_prompt
from timeful.models.pace import TOKEN, Pace, tokens
from timeful.models.recording import RecordingModel
from timeful.models.replay import ReplayModel
from timeful.models.request import Timeouts
from timeful.models.sse import decode_chunk
from timeful.records import usage as records_usage
from timeful.records.events import Noted, ThoughtChunk, ThoughtEnded
from timeful.records.recorder import record_hash
from timeful.runs.play import Episode, play

Script = list[Step] | Callable[[Body], list[Step]]
Connect = Callable[..., OpenAIModel]
UP = r"\boxed{U}"
HIDDEN: list[Step] = [Say(UP), Usage(3000, reasoning=2988, cached=5)]
"""3,000 tokens, of which 12 are visible."""


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:
    models: list[OpenAIModel] = []
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")

    def connect(server: FakeServer, **settings: Any) -> OpenAIModel:
        settings = {"timeouts": Timeouts(backoff_s=0.001)} | settings
        models.append(OpenAIModel(model="fake", base_url=server.base_url, **settings))
        return models[-1]

    yield connect
    for model in models:
        model.close()


def priced(model: Model, *, room: int | None = None, max_tokens: int | None = None) -> Any:
    """The chunks, the end and the usage of an answer in simulated time."""
    prompt = price_prompt(ask(), Pricing(room=room))
    source = model.open(prompt, max_tokens=max_tokens, seed=1)
    assert isinstance(source, MeteredSource)
    return *read(source), source.usage


def usage(completion: int, counted: records_usage.Counted, **counts: int) -> records_usage.Usage:
    return records_usage.Usage(completion=completion, counted=counted, **{"prompt": 7} | counts)


def event(**fields: object) -> Raw:
    """A line of a stream."""
    return Raw(b"data: " + json.dumps(fields).encode() + b"\n\n")


def delta(finish: str | None = None, **fields: str) -> dict[str, object]:
    return {"index": 0, "delta": fields, "finish_reason": finish}


# --- sharing ---------------------------------------------------------------------------------


@given(st.integers(0, 10**12), st.lists(st.integers(0, 10**6)))
def test_shares_are_whole_exact_and_within_one_of_the_quota(total: int, weights: list[int]) -> None:
    shares = apportion(total, weights)
    weight = sum(weights)
    assert sum(shares) == (total if weight else 0)
    for share, part in zip(shares, weights, strict=True):
        assert not weight or abs(share * weight - total * part) < weight


CHUNKS = st.lists(
    st.builds(
        Chunk,
        st.text(max_size=9),
        st.integers(0, 9),
        st.sampled_from(["answer", "reasoning"]),
    )
)


@given(CHUNKS, st.integers(0, 10**6), st.none() | st.integers(0, 10**6))
def test_settled_tokens_are_the_total_and_settling_again_changes_nothing(
    chunks: list[Chunk], total: int, reasoning: int | None
) -> None:
    counts = records_usage.Usage(completion=total, reasoning=reasoning, counted="settled")
    timed = [(chunk, Duration(n)) for n, chunk in enumerate(chunks)]
    settled = settle(timed, counts)
    after = [chunk for chunk, _ in settled]
    assert [(c.text, c.channel) for c in after if c.text] == [
        (c.text, c.channel) for c in chunks if c.text
    ]
    count = sum(chunk.tokens for chunk in after)
    assert count <= total
    if any(chunk.text and chunk.channel == "answer" for chunk in chunks):
        assert count == total
    assert [arrival for _, arrival in settled] == sorted(arrival for _, arrival in settled)
    assert settle(settled, counts) == settled


def test_reasoning_is_what_an_estimate_of_the_answer_leaves_if_it_is_not_reported() -> None:
    chunks = [(Chunk("abcdefgh", 1), NO_TIME), (Chunk("ijkl", 1), NO_TIME)]
    settled = settle(chunks, records_usage.Usage(completion=100, counted="settled"))
    assert [(chunk.tokens, chunk.channel) for chunk, _ in settled] == [
        (97, "reasoning"),
        (2, "answer"),
        (1, "answer"),
    ]


def test_a_pace_says_how_many_tokens_fit() -> None:
    pace = Pace(first=milliseconds(50), per_token=milliseconds(20))
    spans = [0, 49, 50, 69, 70, 1050]
    assert [pace.most_tokens(milliseconds(span)) for span in spans] == [0, 0, 0, 0, 1, 50]
    free = Pace(first=milliseconds(50), per_token=NO_TIME)
    assert [free.most_tokens(milliseconds(span)) for span in (49, 50)] == [0, None]


# --- dialects --------------------------------------------------------------------------------

Golden = tuple[list[tuple[int, str, Channel]], records_usage.Usage]

CHAT: tuple[list[Step], Golden] = (
    [Say("go "), Say("north"), Usage(40, reasoning=30, cached=4, total=47)],
    (
        [(30, "", "reasoning"), (4, "go ", "answer"), (6, "north", "answer")],
        usage(40, "settled", cached=4, reasoning=30),
    ),
)
"""Chat Completions: the last event counts, hidden reasoning apart."""

ADDITIVE: tuple[list[Step], Golden] = (
    [Say("go "), Say("north"), Usage(10, reasoning=30, total=47)],
    (CHAT[1][0], usage(40, "settled", reasoning=30)),
)
"""xAI: `completion_tokens` leaves the reasoning out, and the total has it."""

CONTINUOUS: tuple[list[Step], Golden] = (
    [
        event(choices=[delta(role="assistant", content="")], usage={"prompt_tokens": 7}),
        Think("hm ", tokens=2),
        Think("so ", ("reasoning",), tokens=5),
        Say("go ", 6),
        Say("north", 9),
        Usage(9),
    ],
    (
        [
            (2, "hm ", "reasoning"),
            (3, "so ", "reasoning"),
            (1, "go ", "answer"),
            (3, "north", "answer"),
        ],
        usage(9, "running", reasoning=5),
    ),
)
"""vLLM and SGLang with `continuous_usage_stats`: each event counts, reasoning is streamed."""

TIMINGS = {"cache_n": 3, "prompt_n": 4, "prompt_ms": 3.5, "predicted_n": 20, "predicted_ms": 61.7}

LLAMA_CPP: tuple[list[Step], Golden] = (
    [
        Think("hmm, "),
        Say("go "),
        Say("north"),
        event(choices=[delta("stop")], timings=TIMINGS),
        Finish(None),
        Usage(None),
    ],
    (
        [(18, "hmm, ", "reasoning"), (1, "go ", "answer"), (1, "north", "answer")],
        usage(20, "settled", cached=3),
    ),
)
"""llama.cpp: `timings` in the last event, reasoning is streamed."""

LLAMA_CPP_RUNNING: tuple[list[Step], Golden] = (
    [
        event(choices=[delta(reasoning_content="hmm, ")], timings={**TIMINGS, "predicted_n": 3}),
        event(choices=[delta(content="go")], timings={**TIMINGS, "predicted_n": 4}),
        event(choices=[delta("stop")], timings={**TIMINGS, "predicted_n": 5}),
        Finish(None),
        Usage(None),
    ],
    (
        [(3, "hmm, ", "reasoning"), (1, "go", "answer")],
        usage(5, "running", cached=3, reasoning=3),
    ),
)
"""llama.cpp with `timings_per_token`."""

OLLAMA: tuple[list[Step], Golden] = (
    [Think("hmm, ", ("reasoning",)), Say("go "), Say("north"), Usage(20, total=27)],
    (LLAMA_CPP[1][0], usage(20, "settled")),
)
"""Ollama's OpenAI route: the last event counts, reasoning is streamed under another name."""

OLLAMA_OWN: tuple[list[Step], Golden] = (
    [
        *OLLAMA[0][:-1],
        event(choices=[delta("stop")], prompt_eval_count=7, eval_count=20, eval_duration=61700),
        Finish(None),
        Usage(None),
    ],
    OLLAMA[1],
)
"""Ollama's own fields, in the last event."""

UNCOUNTED: tuple[list[Step], Golden] = (
    [Say("go "), Say("north"), Usage(None)],
    (
        [(1, "go ", "answer"), (1, "north", "answer")],
        records_usage.Usage(completion=2, counted="estimated"),
    ),
)
"""A server that counts nothing."""

DIALECTS = {
    "chat": CHAT,
    "additive": ADDITIVE,
    "continuous": CONTINUOUS,
    "llama.cpp": LLAMA_CPP,
    "llama.cpp running": LLAMA_CPP_RUNNING,
    "ollama": OLLAMA,
    "ollama own": OLLAMA_OWN,
    "uncounted": UNCOUNTED,
}


@pytest.mark.parametrize(("script", "golden"), DIALECTS.values(), ids=DIALECTS)
def test_each_dialect_gives_its_golden_chunks(
    connect: Connect, script: list[Step], golden: Golden
) -> None:
    with FakeServer(script) as server:
        chunks, end, counts = priced(connect(server))
    assert ([(c.tokens, c.text, c.channel) for c in chunks], counts) == golden
    known = golden[1].completion if golden[1].counted != "estimated" else None
    assert end == End("stop", tokens=known, prompt_tokens=golden[1].prompt)


def test_cached_tokens_are_not_taken_for_hidden_ones() -> None:
    counts = {"prompt_tokens": 7, "completion_tokens": 10, "total_tokens": 21}
    for name, value in (
        ("prompt_tokens_details", {"cached_tokens": 4}),
        ("prompt_cache_hit_tokens", 4),
    ):
        chunk = decode_chunk(json.dumps({"usage": {**counts, name: value}}).encode())
        assert chunk.report == Report(prompt=7, cached=4, completion=10)


def test_a_call_is_known_at_its_last_token(connect: Connect) -> None:
    fragments = [Call("step", '{"a":'), Call(None, " 1}")]
    with FakeServer([Say("Now. "), *fragments, Usage(100, reasoning=60)]) as server:
        chunks, _, _ = priced(connect(server))
    assert [chunk.tokens for chunk in chunks] == [60, 3, 37]
    assert "<tool_call>" in chunks[-1].text


# --- running, settled, or as it comes --------------------------------------------------------


def test_a_server_can_be_priced_as_it_comes_whatever_it_counts(connect: Connect) -> None:
    with FakeServer(HIDDEN) as server:
        chunks, end, counts = priced(connect(server, counting="running"))
    assert chunks == [Chunk(UP, 3)]
    assert end.tokens == 3000
    assert counts == usage(3000, "estimated", reasoning=2988, cached=5)


def test_running_totals_can_be_settled_all_the_same(connect: Connect) -> None:
    with FakeServer([Say("ab", 9), Say("cd", 10), Usage(10, reasoning=6)]) as server:
        chunks, _, counts = priced(connect(server, counting="settled"))
    assert [chunk.tokens for chunk in chunks] == [6, 2, 2]
    assert counts == usage(10, "settled", reasoning=6)


def test_an_answer_that_is_not_priced_comes_as_it_comes(connect: Connect) -> None:
    with FakeServer(HIDDEN) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        chunks, end = read(source)
    assert (chunks, end.tokens) == ([Chunk(UP, 3)], 3000)
    assert source.usage == usage(3000, "settled", reasoning=2988, cached=5)


def test_a_wrong_way_to_count_is_refused() -> None:
    with pytest.raises(SettingsError, match="settled"):
        OpenAIModel(model="m", base_url="http://localhost/v1", counting="setled")  # type: ignore[arg-type]


def test_an_answer_without_an_end_is_given_up(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "LONGEST_SETTLED", 50)
    with FakeServer([Say("hm ") for _ in range(500)]) as server, pytest.raises(ModelError):
        priced(connect(server))


def test_an_answer_is_read_whole_while_nobody_pulls_it(connect: Connect) -> None:
    many = counting.READ_AHEAD * 4
    is_sent = threading.Event()

    def script(_: Body) -> Iterator[Step]:
        yield from (Say("hm ") for _ in range(many))
        is_sent.set()

    with FakeServer(script) as server:
        source = connect(server).open(price_prompt(ask(), Pricing()), max_tokens=None, seed=1)
        assert is_sent.wait(5)
        assert len(read(source)[0]) == many


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["auto", "running", "settled"])
def test_the_time_that_is_left_limits_what_is_asked_for(connect: Connect, way: str) -> None:
    model_of = partial(connect, counting=way, pace=Pace(per_token=milliseconds(2)))
    with FakeServer([Say("L")]) as server:
        model = model_of(server)

        async def agent(session: Session) -> None:
            await session.think(model, "?", limit=milliseconds(101))
            await session.think(model, "?", limit=milliseconds(101), max_tokens=20)
            await session.think(model, "?", max_tokens=20)
            await session.think(model, "?", limit=milliseconds(1))

        play(agent, "freeway")
        assert [request.body["max_tokens"] for request in server.requests] == [50, 20, 20]


@pytest.mark.parametrize(
    "words",
    [
        "max_tokens is too large: 5000. This model supports at most 4096 completion tokens",
        "'max_tokens' or 'max_completion_tokens' is too large: the maximum context length is 4096",
    ],
)
def test_a_server_that_finds_the_time_too_long_is_asked_without_a_limit(
    connect: Connect, words: str
) -> None:
    names = {"max_tokens", "max_completion_tokens"}

    def script(body: Body) -> list[Step]:
        limit = max((body.get(name, 0) for name in names), default=0)
        return [Status(400, words)] if limit > 4096 else [Say("go"), Usage(9, reasoning=8)]

    with FakeServer(script) as server:
        model = connect(server)
        for _ in range(2):
            chunks, end, _ = priced(model, room=5000)
            assert (len(chunks), end.tokens) == (2, 9)
        count = len(server.requests)
        assert names.isdisjoint(server.requests[-1].body)
        assert not names.isdisjoint(server.requests[0].body)
        priced(model, room=100)
        assert len(server.requests) == count + 1
        assert not names.isdisjoint(server.requests[-1].body)
        with pytest.raises(ModelError):
            priced(model, max_tokens=5000)


def test_a_wall_clock_asks_for_no_fewer_tokens(connect: Connect) -> None:
    with FakeServer([Say("L")]) as server:
        model = connect(server)
        model.warm_up()

        async def agent(session: Session) -> None:
            await session.think(model, "?", limit=milliseconds(500))

        play(agent, "freeway", clock=WallClock(), step=milliseconds(2))
        assert "max_tokens" not in server.requests[0].body


def obeying(total: int) -> Callable[[Body], list[Step]]:
    """A server that stops at the limit of the request, all of which may be hidden."""

    def script(body: Body) -> list[Step]:
        limit = body.get("max_tokens", total)
        if limit >= total:
            return [Say(UP), Usage(total, reasoning=total - 12)]
        return [Finish("length"), Usage(limit, reasoning=limit)]

    return script


def test_a_thought_that_its_limit_stops_at_the_server_lasts_to_its_limit(connect: Connect) -> None:
    limit = milliseconds(1000) + Duration(1)
    with FakeServer(obeying(3000)) as server:
        model = connect(server)

        async def agent(session: Session) -> None:
            await session.think(model, "?", limit=limit)
            assert session.now == limit

        episode = play(agent, "freeway")
    (ended,) = thoughts(episode)
    assert (ended.state, ended.cause, ended.tokens, ended.finish) == (
        "cancelled",
        "limit",
        1000,
        None,
    )
    assert ended.usage == usage(1000, "settled", reasoning=1000)


# --- an episode ------------------------------------------------------------------------------


def thoughts(episode: Episode) -> list[ThoughtEnded]:
    return [entry for entry in episode.events if isinstance(entry, ThoughtEnded)]


def freeway(model: Model, step: int, **settings: Any) -> Episode:
    """100 turns of Freeway with one thought a turn."""
    kit = prompt_kit("freeway")
    agent = partial(reactive, model=model, prompts=kit, budget=tokens(step))
    return play(agent, "freeway", step=tokens(step), **settings)


@pytest.mark.parametrize("script", [HIDDEN, obeying(3000)], ids=["ignores limits", "obeys"])
def test_hidden_tokens_make_an_agent_late(connect: Connect, script: Script) -> None:
    stay = r"\boxed{S}"

    def staying(body: Body) -> list[Step]:
        steps = script(body) if callable(script) else script
        return [Say(stay) if isinstance(step, Say) else step for step in steps]

    with FakeServer(staying) as server:
        model = connect(server)
        slow, quick = freeway(model, 2048), freeway(model, 4096)
        assert (slow.late, quick.late) == (100, 0)
        assert record_hash(freeway(model, 4096).events) == record_hash(quick.events)
        assert record_hash(freeway(model, 2048).events) == record_hash(slow.events)
    texts = [e for e in quick.events if isinstance(e, ThoughtChunk) and e.text]
    assert [entry.at for entry in texts] == [(4096 * n + 3000) * TOKEN for n in range(100)]
    assert {ended.tokens for ended in thoughts(quick)} == {3000}
    assert {ended.usage.completion for ended in thoughts(quick)} == {3000}  # type: ignore[union-attr]
    assert {ended.state for ended in thoughts(slow)} == {"cancelled"}


def test_a_total_below_the_running_count_is_noted_and_the_greater_one_counts(
    connect: Connect,
) -> None:
    with FakeServer([Say("ab", 9), Say("cd", 12), Usage(5)]) as server:
        model = connect(server)

        async def agent(session: Session) -> None:
            await session.think(model, "?")

        episode = play(agent, "freeway")
    (ended,) = thoughts(episode)
    assert ended.tokens == 12
    assert ended.usage == usage(12, "running", reported=5)
    assert [entry.topic for entry in episode.events if isinstance(entry, Noted)] == ["usage"]


def test_a_thought_that_is_cut_has_the_counts_of_what_was_pulled(connect: Connect) -> None:
    running = [Say("a ", 10), Say("b ", 20), Say("c ", 30), Say("d ", 40), Usage(40)]
    for script, counts in (
        (running, usage(30, "running")),
        (HIDDEN, usage(3000, "settled", reasoning=2988, cached=5)),
    ):
        with FakeServer(script) as server:
            model = connect(server)

            async def agent(session: Session, model: Model = model) -> None:
                thought = session.think(model, "?")
                await session.sleep(milliseconds(25))
                thought.cancel("enough")

            (ended,) = thoughts(play(agent, "freeway"))
        assert (ended.state, ended.usage) == ("cancelled", counts)


# --- cassettes -------------------------------------------------------------------------------


@pytest.mark.parametrize(("script", "_"), DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("step", [25, 4096])
def test_a_replay_is_exact(
    connect: Connect, tmp_path: Path, script: list[Step], _: Golden, step: int
) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(script) as server:
        recorded = freeway(RecordingModel(connect(server), tape), step)
    assert thoughts(recorded)[0].usage
    replayed = freeway(ReplayModel(tape), step)
    assert record_hash(replayed.events) == record_hash(recorded.events)


def test_hidden_tokens_of_a_wall_recording_take_their_time_in_a_replay(
    connect: Connect, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(HIDDEN) as server:
        read(RecordingModel(connect(server), tape).open(ask(), max_tokens=None, seed=1))
    chunks, _, counts = priced(ReplayModel(tape))
    assert [(chunk.tokens, chunk.text) for chunk in chunks] == [(2988, ""), (12, UP)]
    assert counts == usage(3000, "settled", reasoning=2988, cached=5)


def test_a_recording_that_was_stopped_for_time_does_not_say_what_came_after(
    connect: Connect, tmp_path: Path
) -> None:
    tape = tmp_path / "tape.jsonl"
    with FakeServer(obeying(3000)) as server:
        first = priced(RecordingModel(connect(server), tape), room=1000)
        assert server.requests[0].body["max_tokens"] == 1000
    assert first[1] == End("length", tokens=1001, prompt_tokens=7)
    for room in (1000, 500):
        assert priced(ReplayModel(tape), room=room) == first
    for more in (1001, None):
        with pytest.raises(CassetteMissError):
            priced(ReplayModel(tape), room=more)


# --- answers that begin again ----------------------------------------------------------------

WORDS = ["one ", "two ", "three ", "four ", "five"]
SETTLED: list[Step] = [Say(word) for word in WORDS]
RUNNING: list[Step] = [Say(word, tokens=2 * n) for n, word in enumerate(WORDS, 1)]
BREAKS: list[list[Step]] = [[Die()], [Die(politely=True)], [Hang()]]


def each(*scripts: list[Step]) -> Callable[[Body], list[Step]]:
    """One script for each request, in order."""
    left = iter(scripts)
    return lambda _: next(left)


@pytest.mark.parametrize("script", [SETTLED, RUNNING])
@pytest.mark.parametrize("break_", BREAKS)
@pytest.mark.parametrize("count", [1, 3])
def test_a_stream_that_breaks_in_simulated_time_is_asked_again(
    connect: Connect, script: list[Step], break_: list[Step], count: int
) -> None:
    """The answer and its tokens are those of an answer that does not break."""
    times = Timeouts(backoff_s=0.001, idle_s=0.05)
    with FakeServer(script) as server:
        expected, expected_end, _ = priced(connect(server))
    with FakeServer(each([*script[:count], *break_], script)) as server:
        chunks, end, _ = priced(connect(server, timeouts=times))
    assert "".join(chunk.text for chunk in chunks) == "one two three four five"
    assert sum(chunk.tokens for chunk in chunks) == sum(chunk.tokens for chunk in expected)
    assert (end.tokens, end.finish) == (expected_end.tokens, "stop")
    assert end.attempts == 2


THOUGHTS: list[list[Step]] = [
    [*(Think(f"{n} ") for n in range(40)), Say(UP)],
    [*(Say(f"{n} ", tokens=n + 1) for n in range(40)), Say(UP, tokens=41)],
]


@pytest.mark.parametrize("script", THOUGHTS)
@pytest.mark.parametrize("step", [30, 60])
def test_an_episode_does_not_see_that_a_stream_broke(
    connect: Connect, script: list[Step], step: int
) -> None:
    seeds: set[int] = set()

    def breaks(body: Body) -> list[Step]:
        is_first = body["seed"] not in seeds
        seeds.add(body["seed"])
        is_broken = is_first and len(seeds) % 3 == 0
        return [*script[: len(seeds) % 28], Die()] if is_broken else script

    def played(answers: Script) -> str:
        with FakeServer(answers) as server:
            kit = prompt_kit("freeway")
            agent = partial(reactive, model=connect(server), prompts=kit, budget=tokens(step))
            return record_hash(play(agent, "freeway", step=tokens(step), seed=3).events)

    assert played(breaks) == played(script)


def test_another_answer_after_a_break_goes_on_at_the_same_token(connect: Connect) -> None:
    other: list[Step] = [Say(f"word{n} ", tokens=2 * n) for n in range(1, 8)]
    with FakeServer(each([*RUNNING[:3], Wait(300), Die()], other)) as server:
        source = connect(server).open(price_prompt(ask(), Pricing()), max_tokens=None, seed=1)
        passed = [source.pull() for _ in range(3)]
        rest, end = read(source)
    assert [chunk.text for chunk in passed] == WORDS[:3]
    assert [chunk.text for chunk in rest] == ["word4 ", "word5 ", "word6 ", "word7 "]
    assert [chunk.tokens for chunk in rest] == [2, 2, 2, 2]
    assert end.tokens == 14


def test_a_stream_that_always_breaks_is_an_error_in_the_end(connect: Connect) -> None:
    with FakeServer([*SETTLED[:2], Die()]) as server:
        with pytest.raises(ModelError, match="attempt 3"):
            priced(connect(server, retries=2))
        assert len(server.requests) == 3


def test_under_a_wall_clock_a_stream_that_breaks_is_an_error(connect: Connect) -> None:
    with FakeServer([*SETTLED[:2], Die()]) as server:
        source = connect(server).open(ask(), max_tokens=None, seed=1)
        with pytest.raises(ModelError):
            read(source)
        assert len(server.requests) == 1
