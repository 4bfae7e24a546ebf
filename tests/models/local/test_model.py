"""Promises of the local model to agents and records: a token a chunk, and which tokens."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest

from tests.models.local.scripted import ids_of, scripted
from tests.models.local.tiny import TEXT, byte_tokenizer, checkpoint, saved
from timeful.agents.tool_user import tool_user
from timeful.core.clock import VirtualClock, WallClock
from timeful.core.kernel import Kernel
from timeful.core.source import Chunk, End, TokenSource
from timeful.core.units import milliseconds
from timeful.environments.reasoning.checking import Checker
from timeful.environments.reasoning.problems import load as load_problems
from timeful.environments.reasoning.task import ReasoningTask
from timeful.environments.timed.world import TimedTask, TimeSettings
from timeful.errors import ModelError
from timeful.interfaces.event_driven import EventDriven
from timeful.models.local import fast_decoder
from timeful.models.local.batching import Batcher
from timeful.models.local.model import LocalModel
from timeful.models.local.request import GenerationConfig
from timeful.models.local.sampler import Sampler
from timeful.models.model import Message, Prompt
from timeful.models.model_spec import ModelSpec
from timeful.models.pace import TOKEN_TIME, Pace
from timeful.models.scripted import ScriptedModel
from timeful.records.events import Sampled, ThoughtEnded
from timeful.records.recorder import Recorder, read_record
from timeful.runs.episode import EpisodeSetting, play_episode

QUESTION = Prompt(label="work", render=lambda: "w2 w3")


def pieces(source) -> tuple[list[Chunk], End]:
    found = []
    while isinstance(piece := source.pull(), Chunk):
        found.append(piece)
    return found, piece


@pytest.mark.parametrize("policy", ["together", "at once"])
def test_chunks_are_a_token_each_and_joined_they_are_the_text(policy):
    of = checkpoint(tokenizer=byte_tokenizer())
    generation = GenerationConfig(stop=())
    prompt = Prompt(label="work", render=lambda: TEXT[:30])
    with Batcher(Sampler(of), policy=policy) as batcher:
        model = LocalModel(of, batcher.slots(1)[0], generation=generation)
        for seed in range(5):
            source = model.open(prompt, max_tokens=30, seed=seed)
            chunks, end = pieces(source)
            assert isinstance(source, TokenSource)
            assert [chunk.tokens for chunk in chunks] == [1] * len(source.sampled.ids)
            assert "".join(chunk.text for chunk in chunks) == of.detokenizer.decode(
                source.sampled.ids
            )
            assert end.tokens == len(chunks)
            assert end.finish == ("stop" if source.sampled.ids[-1] == 2 else "length")


def test_thinking_has_a_channel_of_its_own_and_costs_its_tokens():
    model, _, batcher = scripted("<think> w4 w5 </think> w6 <eos>")
    with batcher:
        chunks, _ = pieces(model.open(QUESTION, max_tokens=None, seed=0))
    said = {
        channel: "".join(chunk.text for chunk in chunks if chunk.channel == channel).split()
        for channel in ("reasoning", "answer")
    }
    assert said == {"reasoning": ["w4", "w5"], "answer": ["w6"]}
    assert sum(chunk.tokens for chunk in chunks) == 6


def test_an_answer_ends_after_a_call():
    of = checkpoint()
    with Batcher(Sampler(of)) as batcher:
        model = LocalModel(of, batcher.slots(1)[0])
        for seed in range(20):
            source = model.open(QUESTION, max_tokens=80, seed=seed)
            chunks, end = pieces(source)
            text = "".join(chunk.text for chunk in chunks)
            assert text.count("</tool_call>") <= 1
            if "</tool_call>" in text:
                assert (source.sampled.ids[-1], end.finish) == (4, "stop")
                break
        else:
            pytest.fail("no answer held a call")


def test_no_tokens_at_all_is_an_end_at_once():
    model, sampler, batcher = scripted()
    with batcher:
        assert model.open(QUESTION, max_tokens=0, seed=0).pull().finish == "length"
    assert sampler.asked == []


def test_a_prompt_beyond_the_context_is_an_error_of_the_model():
    of = checkpoint()
    long = Prompt(label="work", render=lambda: "w1 " * 96)
    with (
        Batcher(Sampler(of)) as batcher,
        pytest.raises(ModelError, match="no room in the context of tiny-gpt2, which is 96"),
    ):
        LocalModel(of, batcher.slots(1)[0]).open(long, max_tokens=5, seed=0)


def test_a_closed_source_says_so_and_a_closed_sampler_fails_it():
    model, _, batcher = scripted("w1 <eos>", "w2 <eos>")
    source = model.open(QUESTION, max_tokens=5, seed=0)
    source.close()
    source.close()
    assert source.pull() == End("closed")
    other = model.open(QUESTION, max_tokens=5, seed=0)
    batcher.close()
    with pytest.raises(ModelError, match="closed"):
        other.pull()


@pytest.mark.parametrize("policy", ["together", "at once"])
def test_under_a_wall_clock_tokens_come_when_they_come(policy):
    of = checkpoint()
    with Batcher(Sampler(of), policy=policy) as batcher, Kernel(WallClock()) as kernel:
        model = LocalModel(of, batcher.slots(1)[0], pace=None)
        source = model.open(QUESTION, max_tokens=20, seed=1)
        stream = kernel.stream(source, pacing=None)
        kernel.run_until(stream)
        assert stream.state == "completed"
        assert stream.tokens == len(source.sampled.ids)


# --- what stands in a record ---------------------------------------------------------------------

CALL = "<tool_call> w5 </tool_call>"
"""No call of any tool, and so answered with what is wrong."""


def played(model, *, budget_ms=10_000, path: Path | None = None, clock=None) -> Recorder:
    """A problem, solved by the ordinary agent."""
    (problem,) = load_problems("sums:2", size=1, seed=0)
    recorder = Recorder(path)
    with Checker() as check:
        assert play_episode(
            EpisodeSetting(settings={"case": "tiny"}, seed=3),
            environment=TimedTask(
                ReasoningTask(problem, check),
                TimeSettings(budget=milliseconds(budget_ms)),
                seed=1,
            ),
            interface=partial(EventDriven, full=True),
            agent=partial(tool_user, model=model, briefing=_short, calls="text", most_tokens=12),
            clock=clock or VirtualClock(),
            recorder=recorder,
        )
    recorder.close()
    return recorder


def _short(view, calls):
    return [Message("system", "w0"), Message("user", "w1")]


def test_tokens_stand_right_after_the_end_of_their_thought(tmp_path):
    model, sampler, batcher = scripted(f"w7 {CALL}", "w8 <eos>")
    with batcher:
        recorder = played(model, path=tmp_path / "record.jsonl")
    followed = [b for a, b in pairwise(recorder.events) if isinstance(a, ThoughtEnded)]
    first, second = [one for one in followed if isinstance(one, Sampled)]
    assert (first.thought, second.thought) == (1, 2)
    assert first.prompt_ids == sampler.asked[0]
    assert first.ids == ids_of(f"w7 {CALL}")
    assert first.logprobs == (-0.5, -0.625, -0.75, -0.875)
    assert first.policy == 7
    assert second.prompt_ids[: second.kept] == first.prompt_ids + first.ids
    assert (first.kept, second.kept) == (0, len(first.prompt_ids) + 4)
    assert list(read_record(tmp_path / "record.jsonl")) == recorder.events


def test_a_thought_that_the_deadline_cut_has_the_tokens_that_came_in_time():
    model, _, batcher = scripted("w7 w8 w9 w10 w11 <eos>")
    model.pace = Pace(per_token=milliseconds(10))
    with batcher:
        recorder = played(model, budget_ms=35)
    (sampled,) = [one for one in recorder.events if isinstance(one, Sampled)]
    (ended,) = [one for one in recorder.events if isinstance(one, ThoughtEnded)]
    assert sampled.ids == ids_of("w7 w8 w9")
    assert len(sampled.logprobs) == ended.tokens == 3


def test_records_of_other_models_have_no_tokens():
    recorder = played(ScriptedModel(["<answer>1</answer>"]))
    assert not [one for one in recorder.events if isinstance(one, Sampled)]


# --- the same bytes ------------------------------------------------------------------------------


def digest(folder: Path) -> str:
    choice = ModelSpec(spec=f"local:{folder}", temperature=0.8)
    model = choice.make("planner", pace=TOKEN_TIME, scope="", api_key="")
    model.name = "tiny"
    return played(model).sha256


def leave(folder: str) -> None:
    """Tell the digest, and end while thoughts are drawn."""
    print(digest(Path(folder)), flush=True)
    model = ModelSpec(spec=f"local:{folder}").make("planner", pace=None, scope="", api_key="")
    prompt = Prompt(label="main", render=lambda: "w1 w2")
    first, *_ = [model.open(prompt, max_tokens=None, seed=i) for i in range(400)]
    first.pull()


def test_the_same_seed_gives_the_same_bytes_also_in_another_process_which_may_end_early(tmp_path):
    folder = saved(tmp_path / "tiny")
    first = digest(folder)
    assert digest(folder) == first
    program = "import sys; from tests.models.local.test_model import leave; leave(sys.argv[1])"
    other = subprocess.run(
        [sys.executable, "-c", program, str(folder)], capture_output=True, text=True, check=True
    )
    assert other.stdout.strip() == first


def test_episodes_in_threads_of_their_own_give_the_same_bytes_each_time():
    """Real batches of a real sampler, whatever thread comes first."""

    def play_all() -> tuple[list[str], list[int]]:
        of, batches = checkpoint("qwen3"), []

        class Counted(Sampler):
            def generate(self, requests):
                batches.append(len(requests))
                return super().generate(requests)

        with (
            Batcher(Counted(of), policy="together") as batcher,
            ThreadPoolExecutor(12) as pool,
        ):

            def play(i, slot):
                with slot:
                    model = LocalModel(
                        of, slot, generation=GenerationConfig(temperature=1.2 + i / 10)
                    )
                    return played(model, budget_ms=6 + 3 * i).sha256

            slots = batcher.slots(12)
            digests = [pool.submit(play, i, slot) for i, slot in enumerate(slots)]
            return [one.result(60) for one in digests], batches

    first = play_all()
    assert [play_all() for _ in range(3)] == [first] * 3
    digests, batches = first
    assert len(set(digests)) == 12
    assert batches[0] == 12
    assert sorted(batches, reverse=True) == batches, "whoever is over is waited for no more"


def test_a_choice_is_a_plain_value_and_its_checkpoint_is_loaded_once(tmp_path):
    folder = saved(tmp_path / "tiny")
    choice = ModelSpec(spec=f"local:{folder}")
    assert pickle.loads(pickle.dumps(choice)) == choice
    one, other = (choice.make("planner", pace=TOKEN_TIME, scope="", api_key="") for _ in range(2))
    assert one is not other
    assert one._checkpoint is other._checkpoint


def test_two_thoughts_at_once_are_drawn_each_alone_unless_a_wall_clock_tells(tmp_path, monkeypatch):
    """Else the last bits of a record would be up to the machine."""
    choice = ModelSpec(spec=f"local:{saved(tmp_path / 'tiny')}")
    prompt = Prompt(label="main", render=lambda: "w1 w2")
    sizes, step = [], fast_decoder.FastDecoder.step
    monkeypatch.setattr(
        fast_decoder.FastDecoder, "step", lambda of, ids: sizes.append(len(ids)) or step(of, ids)
    )

    def thoughts(pace) -> tuple[list, Sampler]:
        both = [choice.make("planner", pace=pace, scope="", api_key="") for _ in range(2)]
        sources = [one.open(prompt, max_tokens=30, seed=i) for i, one in enumerate(both)]
        for one in sources:
            while not isinstance(one.pull(), End):
                pass
        (sampler,) = {one._slot._batcher.sampler for one in both}
        return [one.sampled for one in sources], sampler

    first, sampler = thoughts(TOKEN_TIME)
    assert set(sizes) == {1}
    assert sampler.rows == 1
    assert thoughts(TOKEN_TIME)[0] == first
    assert thoughts(None)[1].rows > 1


def test_a_checkpoint_says_how_it_is_sampled_unless_the_command_does(tmp_path):
    folder = saved(tmp_path / "tiny")
    said = {"do_sample": True, "temperature": 0.6, "top_p": 0.95, "top_k": 20}
    (folder / "generation_config.json").write_text(json.dumps(said))
    usual, hot = (
        ModelSpec(spec=f"local:{folder}", temperature=t).make(
            "planner", pace=TOKEN_TIME, scope="", api_key=""
        )
        for t in (None, 1.5)
    )
    assert usual._generation == GenerationConfig(temperature=0.6, top_p=0.95, top_k=20)
    assert hot._generation == GenerationConfig(temperature=1.5, top_p=0.95, top_k=20)
