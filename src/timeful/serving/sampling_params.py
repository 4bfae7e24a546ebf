"""What is asked of the sampler for one request of a client."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from timeful.errors import ModelError
from timeful.models.local.request import Request, Sampling
from timeful.seeding import child_seed
from timeful.serving.engine import Engine
from timeful.serving.errors import RequestError
from timeful.serving.requests import MOST_ANSWERS, Body

_COLD = 1e-5
"""A temperature below this is 0: logits divided by it are no numbers any more."""

_MOST_TOP_K = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerLimits:
    """What is to be drawn for each prompt.

    Attributes:
        max_tokens: The most tokens of an answer; None for what the context holds.
        top: How many alternatives are told of each token.
        stop: Texts that end it, beside those that the client names.
    """

    max_tokens: int | None
    top: int
    stop: tuple[str, ...] = ()


def plan_requests(
    engine: Engine, body: Body, prompts: Sequence[tuple[int, ...]], wanted: AnswerLimits
) -> list[Request]:
    """One request for each choice, all choices of a prompt side by side.

    The n-th choice of a prompt depends on the seed and n alone, so that a prompt is answered the
    same alone and in a list. Without a seed, each is given one.

    Raises:
        RequestError: If one cannot be answered.
    """
    count = body.n or 1
    if len(prompts) * count > MOST_ANSWERS:
        raise RequestError(f"one request may ask for {MOST_ANSWERS} answers at most", param="n")
    style = engine.checkpoint.style
    heat = style.temperature if body.temperature is None else body.temperature
    top_p = style.top_p if body.top_p is None else body.top_p
    top_k = style.top_k if body.top_k is None else min(max(body.top_k, 0), _MOST_TOP_K)
    requests = []
    for ids in prompts:
        room = check_room(engine, ids, 1)
        seed = secrets.randbits(63) if body.seed is None else body.seed
        for choice in range(count):
            sampling = Sampling(
                temperature=heat if heat >= _COLD else 0.0,
                top_p=top_p,
                top_k=top_k,
                max_tokens=min(room, wanted.max_tokens or room),
                seed=child_seed(seed, "choice", choice) if choice else seed,
                stop_ids=engine.checkpoint.stop_ids,
                stop=(*body.stops, *wanted.stop),
            )
            requests.append(Request(prompt_ids=ids, sampling=sampling, top=wanted.top))
    return requests


def check_room(engine: Engine, ids: Sequence[int], wanted: int) -> int:
    """How many tokens may follow a prompt.

    Raises:
        RequestError: If it is empty, or leaves less room than wanted.
    """
    try:
        return engine.checkpoint.check_room(len(ids), wanted)
    except ModelError as error:
        code = "context_length_exceeded" if ids else "empty_prompt"
        raise RequestError(str(error), code=code) from None
