"""What is asked of the sampler for what a client said, and for what it did not say."""

from types import SimpleNamespace
from typing import Any

from tests.serving.here import Here  # noqa: F401 - skips all of it where serving is not there
from timeful.models.local.request import GenerationConfig, Sampling
from timeful.seeding import child_seed
from timeful.serving.requests import CompletionBody
from timeful.serving.sampling_params import plan_requests

GENERATION = GenerationConfig(temperature=0.6, top_p=0.95, top_k=20)
ENGINE: Any = SimpleNamespace(
    checkpoint=SimpleNamespace(
        generation=GENERATION, stop_ids=(2,), check_room=lambda length, wanted: 50
    )
)


def planned(*prompts: tuple[int, ...], max_tokens: int | None = None, **said) -> list[Sampling]:
    body = CompletionBody(model="tiny", prompt="", **said)
    requests = plan_requests(
        ENGINE, body, prompts, max_tokens=max_tokens, top=0, stop=("</tool_call>",)
    )
    assert [one.prompt_ids for one in requests] == [p for p in prompts for _ in range(body.n or 1)]
    return [one.sampling for one in requests]


def test_what_nobody_says_is_as_the_checkpoint_has_it():
    (found,) = planned((1,), seed=3)
    assert found == Sampling(
        temperature=0.6,
        top_p=0.95,
        top_k=20,
        max_tokens=50,
        seed=3,
        stop_ids=(2,),
        stop=("</tool_call>",),
    )


def test_what_is_said_holds_and_zero_is_said():
    (found,) = planned((1,), max_tokens=7, temperature=0, top_p=0.5, top_k=0, seed=0, stop="a")
    assert (found.temperature, found.top_p, found.top_k) == (0.0, 0.5, 0)
    assert (found.max_tokens, found.seed, found.stop) == (7, 0, ("a", "</tool_call>"))
    (all_tokens,) = planned((1,), top_k=-1)
    assert all_tokens.top_k == 0


def test_the_nth_choice_of_a_prompt_is_the_same_alone_and_in_a_list():
    both = planned((1,), (3, 4), n=3, seed=8)
    assert both[:3] == both[3:] == planned((1,), n=3, seed=8)
    seeds = [8, child_seed(8, "choice", 1), child_seed(8, "choice", 2)]
    assert [one.seed for one in both[:3]] == seeds
