"""Lessons: what is learnt of them, and what is the world's."""

import pytest

pytest.importorskip("transformers", reason="a decoder needs the extra `local`")

import torch

from timeful.environments.reasoning.levels import draw
from timeful.seeding import child
from timeful.training.quick.recipe import find_recipe
from timeful.training.tiny import pretrain
from timeful.training.tiny.language import EIGHTHS, TIMER_CALL, eighths, ids
from timeful.training.tiny.pretrain import make_decoder

TIMER_SMOKE = find_recipe("smoke", timer=True)
LANGUAGE = TIMER_SMOKE.language


def lessons(asks: float) -> list[tuple[list[int], list[int]]]:
    phase = type(TIMER_SMOKE.phases[0])(
        steps=1, batch=1, rate=1e-2, floor=1.0, mix=(1, 1, 1), asks=asks
    )
    rng = child(0, "lessons")
    courses = [draw(rng, LANGUAGE.events) for _ in range(200)]
    return pretrain._examples(LANGUAGE, phase, courses, rng)


@pytest.mark.filterwarnings("ignore")  # of libraries, about each other
def test_what_the_timer_says_is_read_and_not_learnt_to_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    targets: list[int] = []
    real = pretrain.F.cross_entropy

    def spy(scores: torch.Tensor, wanted: torch.Tensor, **others: str) -> torch.Tensor:
        targets.extend(wanted.tolist())
        return real(scores, wanted, **others)

    monkeypatch.setattr(pretrain.F, "cross_entropy", spy)
    some = lessons(asks=1.0)
    model = make_decoder(TIMER_SMOKE.shape, LANGUAGE.tokenizer(), seed=0)
    pretrain._loss(model, LANGUAGE, some)
    world = set(ids([eighths(k) for k in range(EIGHTHS + 1)], LANGUAGE))
    said = [token for _, solution in some for token in solution if token not in world]
    assert sorted(targets) == sorted(said)
    assert sum(len(solution) for _, solution in some) == len(said) + len(some)


def test_the_timer_is_asked_in_the_share_that_is_named() -> None:
    (call,) = ids([TIMER_CALL], LANGUAGE)
    shares = [sum(call in said for _, said in lessons(asks)) / 200 for asks in (0.0, 0.5, 1.0)]
    assert shares[0] == 0
    assert shares[1] == pytest.approx(0.5, abs=0.1)
    assert shares[2] == 1
