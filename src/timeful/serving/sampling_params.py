"""From a client's request to requests to the sampler."""

import secrets
from collections.abc import Sequence
from dataclasses import replace

from timeful.errors import ModelError
from timeful.models.local.request import Request
from timeful.seeding import child_seed
from timeful.serving.engine import Engine
from timeful.serving.errors import RequestError
from timeful.serving.requests import Body

_MIN_TEMPERATURE = 1e-5
"""A lower temperature is taken as 0: logits divided by it overflow."""

_MAX_TOP_K = 1 << 31


def plan_requests(
    engine: Engine,
    body: Body,
    prompts: Sequence[tuple[int, ...]],
    *,
    max_tokens: int | None,
    top: int,
    stop: tuple[str, ...] = (),
) -> list[Request]:
    """One request for each choice, the choices of a prompt next to each other.

    The n-th choice of a prompt depends on the seed and n alone, so a prompt is answered the same
    alone and in a list. Without a seed in the request, each prompt gets a random one.

    Args:
        engine: Draws the tokens.
        body: The client's request.
        prompts: Its prompts as tokens.
        max_tokens: The most tokens of an answer; None for the whole context, 0 for no request.
        top: The number of alternatives to report for each token.
        stop: Texts that end an answer, in addition to the client's.

    Raises:
        RequestError: If a prompt cannot be answered.
    """
    count = body.n or 1
    usual = engine.checkpoint.generation
    temperature = usual.temperature if body.temperature is None else body.temperature
    generation = replace(
        usual,
        temperature=temperature if temperature >= _MIN_TEMPERATURE else 0.0,
        top_p=usual.top_p if body.top_p is None else body.top_p,
        top_k=usual.top_k if body.top_k is None else min(max(body.top_k, 0), _MAX_TOP_K),
        stop=(*body.stops, *stop),
    )
    requests = []
    for ids in prompts:
        room = _check_room(engine, ids, 1 if max_tokens != 0 else 0)
        if max_tokens == 0:
            continue
        seed = secrets.randbits(63) if body.seed is None else body.seed
        for choice in range(count):
            sampling = generation.sampling(
                max_tokens=min(room, max_tokens or room),
                seed=child_seed(seed, "choice", choice) if choice else seed,
                stop_ids=engine.checkpoint.stop_ids,
            )
            requests.append(Request(prompt_ids=ids, sampling=sampling, top=top))
    return requests


def _check_room(engine: Engine, ids: Sequence[int], minimum: int) -> int:
    try:
        return engine.checkpoint.check_room(len(ids), minimum)
    except ModelError as error:
        code = "context_length_exceeded" if ids else "empty_prompt"
        raise RequestError(str(error), code=code) from None
