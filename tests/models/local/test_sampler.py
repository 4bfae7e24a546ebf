"""Promises of the sampler: what transformers would say, and nobody's business but each row's."""

from dataclasses import replace
from math import exp, log

import pytest

from tests.models.local.tiny import EOS, KINDS, WORDS, checkpoint, model, torch, transformers
from timeful.errors import ModelError, SettingsError
from timeful.models.local import fast_decoder, fast_weights, sampler
from timeful.models.local.request import Request, Sampling
from timeful.models.local.sampler import Sampler
from timeful.models.local.sampling import GROUP, RowNoise, truncate
from timeful.seeding import child, child_seed


def prompts(*lengths: int, seed: int = 5) -> list[tuple[int, ...]]:
    rng = child(seed, "prompts")
    return [tuple(rng.integers(3, WORDS, size=length).tolist()) for length in lengths]


def asked(prompt_ids: tuple[int, ...], **how) -> Request:
    usual = {"max_tokens": 12, "seed": 0}
    return Request(prompt_ids=prompt_ids, sampling=Sampling(**{**usual, **how}))


LENGTHS = (7, 3, 12, 1, 7)


@pytest.fixture(params=["short way", "own forward pass"])
def way(request, monkeypatch):
    """Both ways to decode; models that have no short one go the other way twice."""
    if request.param == "own forward pass":
        monkeypatch.setattr(sampler, "extract_weights", lambda model: None)
    return request.param


@pytest.mark.parametrize("kind", KINDS)
def test_the_short_way_is_for_known_makes(kind):
    assert (fast_weights.extract_weights(model(kind)) is None) == (kind == "opt")


def test_numbers_of_less_precision_go_the_long_way():
    halved = transformers.AutoModelForCausalLM.from_config(model("llama").config)
    assert fast_weights.extract_weights(halved.to(torch.bfloat16)) is None


def test_a_layer_of_another_make_goes_the_long_way():
    changed = transformers.AutoModelForCausalLM.from_config(model("llama").config)
    changed.model.layers[0].mlp.down_proj = torch.nn.Bilinear(2, 2, 2)
    assert fast_weights.extract_weights(changed) is None


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_is_what_transformers_generates(kind, way):
    given = prompts(*LENGTHS)
    found = Sampler(checkpoint(kind)).generate([asked(one, temperature=0) for one in given])
    for prompt, one in zip(given, found, strict=True):
        with torch.inference_mode():
            reference = model(kind).generate(
                torch.tensor([prompt]),
                attention_mask=torch.ones(1, len(prompt), dtype=torch.int64),
                max_new_tokens=12,
                do_sample=False,
                eos_token_id=None,
                pad_token_id=0,
            )
        assert list(one.ids) == reference[0, len(prompt) :].tolist()


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0, 1.9])
@pytest.mark.parametrize("kind", KINDS)
def test_log_probabilities_are_those_of_a_full_forward_pass(kind, temperature, way):
    how = {"temperature": temperature, "top_p": 0.9, "top_k": 15}
    requests = [asked(one, seed=i, **how) for i, one in enumerate(prompts(*LENGTHS))]
    for request, one in zip(requests, Sampler(checkpoint(kind)).generate(requests), strict=True):
        text = torch.tensor([[*request.prompt_ids, *one.ids]])
        with torch.inference_mode():
            logits = model(kind)(input_ids=text).logits[0, len(request.prompt_ids) - 1 : -1]
        logprobs = (logits / (temperature or 1.0)).log_softmax(-1)
        expected = logprobs.gather(1, torch.tensor(one.ids)[:, None])[:, 0]
        assert one.logprobs == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "qwen3", "opt"])
def test_what_a_row_draws_does_not_depend_on_its_companions(kind, way):
    """With these seeds; docs/local.md says how often the last bits could change a draw."""
    given = prompts(*LENGTHS, 12, 2, 9)
    requests = [
        asked(one, seed=100 + i, max_tokens=5 + 3 * (i % 4), temperature=1.3)
        for i, one in enumerate(given)
    ]
    draws = Sampler(checkpoint(kind))
    alone = [draws.generate([one])[0].ids for one in requests]
    together = [one.ids for one in draws.generate(requests)]
    backwards = [one.ids for one in draws.generate(requests[::-1])][::-1]
    in_small_batches = [one.ids for one in Sampler(checkpoint(kind), rows=3).generate(requests)]
    assert alone == together == backwards == in_small_batches


@pytest.mark.parametrize("kind", ["gpt2", "qwen3", "opt"])
def test_who_joins_a_batch_under_way_draws_what_it_would_alone(kind, way):
    """Also when the longest has left before, and beyond the first block of numbers."""
    lengths, limits = (30, 3, 12, 1, 7, 2), (4, 70, 9, 30, 20, 5)
    requests = [
        asked(one, seed=40 + i, max_tokens=limit, temperature=1.3)
        for i, (one, limit) in enumerate(zip(prompts(*lengths), limits, strict=True))
    ]
    coming = {0: (0, 1), 6: (2,), 7: (3,), 20: (4, 5)}
    draws = Sampler(checkpoint(kind))
    rows, ended = {}, {}
    with draws.batch() as batch:
        for step in range(70):
            if new := coming.get(step, ()):
                rows.update(
                    zip(batch.join([requests[i] for i in new], [None] * len(new)), new, strict=True)
                )
            ended.update((rows[row], step) for row in batch.step())
        assert not batch.is_alive
    assert ended == {0: 3, 1: 69, 2: 14, 3: 36, 4: 39, 5: 24}
    for row, i in rows.items():
        (alone,) = draws.generate([requests[i]])
        assert row.completion().ids == alone.ids
        assert row.completion().logprobs == pytest.approx(alone.logprobs, abs=1e-5)


def test_who_joins_comes_behind_those_that_go_on_also_where_one_that_is_done_has_not_left(way):
    """One of five may stay until the next one leaves, and who comes must not get its place."""
    given = prompts(*LENGTHS, 4)
    requests = [
        asked(one, seed=60 + i, max_tokens=2 if i == 1 else 9, temperature=1.3)
        for i, one in enumerate(given)
    ]
    draws = Sampler(checkpoint("qwen3"))
    with draws.batch() as batch:
        rows = batch.join(requests[:5], [None] * 5)
        for _ in range(3):
            batch.step()
        assert batch.free == draws.rows - 4
        rows += batch.join(requests[5:], [None])
        while batch.is_alive:
            batch.step()
    for row, request in zip(rows, requests, strict=True):
        assert row.completion().ids == draws.generate([request])[0].ids


def test_nobody_joins_a_model_that_forgets():
    """A sliding window keeps other tokens of each row: whoever comes waits for the end."""
    made = transformers.MistralForCausalLM(
        transformers.MistralConfig(
            vocab_size=WORDS,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=1,
            sliding_window=4,
            max_position_embeddings=64,
        )
    ).eval()
    of = checkpoint()
    draws = Sampler(type(of)(made, of.tokenizer, "x", (EOS,), 64, of.detokenizer))
    with draws.batch() as batch:
        assert batch.free == draws.rows
        batch.join([asked(prompts(6)[0], max_tokens=2)], [None])
        assert batch.free == 0
        batch.step()
        batch.step()
        assert batch.free == draws.rows


def test_what_was_drawn_names_the_weights_that_drew_it():
    draws = Sampler(checkpoint(), policy=5)
    first = draws.generate([asked((3, 4))])[0]
    draws.policy = 6
    assert (first.policy, draws.generate([asked((3, 4))])[0].policy) == (5, 6)


def test_the_same_batch_is_the_same_to_the_bit(way):
    requests = [asked(one, seed=i) for i, one in enumerate(prompts(*LENGTHS))]
    draws = Sampler(checkpoint("qwen3"))
    assert draws.generate(requests) == draws.generate(requests)


def test_rows_leave_a_batch_that_takes_no_chances(way):
    """Nothing of chance was asked for before the first of them left."""
    requests = [
        asked(one, temperature=0, max_tokens=1 + 4 * i) for i, one in enumerate(prompts(*LENGTHS))
    ]
    draws = Sampler(checkpoint("qwen3"))
    found = draws.generate(requests)
    assert [len(one.ids) for one in found] == [1, 5, 9, 13, 17]
    assert [one.ids for one in found] == [draws.generate([one])[0].ids for one in requests]


def test_equal_prompts_draw_by_their_own_seeds(way):
    (prompt,) = prompts(6)
    found = Sampler(checkpoint()).generate([asked(prompt, seed=i) for i in (1, 2, 1)])
    assert found[0].ids == found[2].ids != found[1].ids


def test_a_longer_answer_begins_with_the_shorter_one(way):
    """Also beyond the first block of numbers."""
    (prompt,) = prompts(4)
    short, long = Sampler(checkpoint()).generate(
        [asked(prompt, seed=3, max_tokens=n) for n in (20, 90)]
    )
    assert long.ids[:20] == short.ids
    assert len(long.ids) == 90


# --- what ends an answer -------------------------------------------------------------------------


def test_a_stop_token_is_the_last_one_and_others_go_on(way):
    given = prompts(*LENGTHS)
    draws = Sampler(checkpoint())
    free = draws.generate([asked(one, seed=i) for i, one in enumerate(given)])
    stops = [one.ids[4] for one in free]
    found = draws.generate(
        [
            asked(one, seed=i, stop_ids=(stop,) if i % 2 else ())
            for i, (one, stop) in enumerate(zip(given, stops, strict=True))
        ]
    )
    for i, (one, whole, stop) in enumerate(zip(found, free, stops, strict=True)):
        if i % 2:
            assert one.ids == whole.ids[: whole.ids.index(stop) + 1]
            assert one.finish == "stop"
        else:
            assert (one.ids, one.finish) == (whole.ids, "length")


def test_rows_that_are_done_leave_the_batch(monkeypatch):
    sizes: list[int] = []
    step = fast_decoder.FastDecoder.step

    def counted(self, ids):
        sizes.append(len(ids))
        return step(self, ids)

    monkeypatch.setattr(fast_decoder.FastDecoder, "step", counted)
    requests = [asked(one, max_tokens=3 * (i + 1)) for i, one in enumerate(prompts(4, 4, 4, 4))]
    found = Sampler(checkpoint()).generate(requests)
    assert [len(one.ids) for one in found] == [3, 6, 9, 12]
    assert sizes == [4, 4, 3, 3, 3, 2, 2, 2, 1, 1, 1]


@pytest.mark.parametrize("kind", ["gpt2", "opt"])
def test_a_text_ends_an_answer_also_across_tokens(kind):
    (prompt,) = prompts(5)
    draws = Sampler(checkpoint(kind))
    (free,) = draws.generate([asked(prompt, seed=9, max_tokens=30)])
    words = checkpoint(kind).detokenizer.decode(list(free.ids), special=True).split()
    stop = f"{words[6][1:]} {words[7][:2]}"  # the end of one word and the beginning of the next
    (found,) = draws.generate([asked(prompt, seed=9, max_tokens=30, stop=(stop, "~", "never"))])
    said = checkpoint(kind).detokenizer.decode(list(found.ids), special=True)
    assert found.finish == "stop"
    assert stop in said
    assert stop not in said.rpartition(" ")[0]
    assert free.ids[: len(found.ids)] == found.ids


def test_the_context_ends_an_answer(way):
    (prompt,) = prompts(90)
    (found,) = Sampler(checkpoint()).generate([asked(prompt, max_tokens=50)])
    assert (len(found.ids), found.finish) == (6, "length")


@pytest.mark.parametrize(
    ("prompt", "says"),
    [
        ((), "empty prompt"),
        ((3,) * 96, "no room"),
        ((3, WORDS), "tokens 0 to"),
        ((-1, 3), "tokens"),
    ],
)
def test_a_prompt_that_cannot_be_answered_is_refused(prompt, says):
    with pytest.raises(ModelError, match=says):
        Sampler(checkpoint()).generate([asked(prompt)])


@pytest.mark.parametrize(
    "how",
    [
        {"temperature": -1.0},
        {"temperature": float("nan")},
        {"top_p": 0.0},
        {"top_p": 1.1},
        {"top_k": -1},
        {"max_tokens": 0},
        {"stop": ("",)},
    ],
)
def test_settings_out_of_range_are_refused(how):
    with pytest.raises(SettingsError):
        asked((3,), **how)


# --- how tokens are drawn ------------------------------------------------------------------------


@pytest.mark.parametrize(("top_k", "top_p"), [(0, 1.0), (5, 1.0), (0, 0.8), (10, 0.6), (1, 0.01)])
def test_cuts_are_those_of_transformers(top_k, top_p):
    generator = torch.Generator().manual_seed(1)
    logits = 3 * torch.randn(20, 50, generator=generator)
    expected = logits
    if top_k:
        expected = transformers.TopKLogitsWarper(top_k)(None, expected)
    if top_p < 1:
        expected = transformers.TopPLogitsWarper(top_p)(None, expected)
    found = truncate(
        logits.log_softmax(-1),
        torch.full((20, 1), top_k) if top_k else None,
        torch.full((20, 1), top_p) if top_p < 1 else None,
    )
    assert torch.equal(found.isfinite(), expected.isfinite())
    assert torch.allclose(found.softmax(-1), expected.softmax(-1), atol=1e-6)


def test_rows_of_one_batch_are_cut_each_by_its_own_settings():
    logits = torch.randn(3, 30, generator=torch.Generator().manual_seed(2)).log_softmax(-1)
    ks, ps = torch.tensor([[4], [0], [0]]), torch.tensor([[1.0], [1.0], [0.5]])
    left = truncate(logits, ks, ps).isfinite().sum(-1).tolist()
    assert left[:2] == [4, 30]
    assert 1 <= left[2] < 30


def test_tokens_come_as_often_as_they_are_probable():
    """One prompt with 4000 seeds, against the model's own probabilities, by chi-square."""
    (prompt,) = prompts(5)
    found = Sampler(checkpoint(), rows=4000).generate(
        [asked(prompt, seed=seed, max_tokens=1) for seed in range(4000)]
    )
    with torch.inference_mode():
        expected = 4000 * model("gpt2")(torch.tensor([prompt])).logits[0, -1].softmax(-1)
    counts = torch.bincount(torch.tensor([one.ids[0] for one in found]), minlength=WORDS)
    common = expected >= 5
    chi = ((counts - expected)[common] ** 2 / expected[common]).sum()
    freedom = int(common.sum()) - 1
    # Beyond this lies a chance of about 1e-5 (normal approximation, 4.3 standard deviations).
    assert chi < freedom + 4.3 * (2 * freedom) ** 0.5


def split_mix(key: int, number: int) -> int:
    """Element `number` of the published SplitMix64 sequence, with Python's integers."""
    mask = 2**64 - 1
    state = (key + (number + 1) * 0x9E3779B97F4A7C15) & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def test_split_mix_is_the_published_one():
    assert split_mix(1234567, 0) == 6457827717110365317


@pytest.mark.parametrize("words", [40, GROUP, GROUP + 1, 3 * GROUP])
def test_noise_depends_on_seed_draw_and_token_only(words):
    def reference(scores: list[float], seed: int, draw: int) -> int:
        def noise(number: int) -> float:
            bits = split_mix(split_mix(child_seed(seed, "tokens"), draw), number)
            return -log(-log(((bits >> 12) + 0.5) * 2.0**-52))

        first = range(0, len(scores), GROUP)
        sums = [log(sum(map(exp, scores[at : at + GROUP]))) for at in first]
        at = GROUP * max(range(len(sums)), key=lambda group: sums[group] + noise(-1 - group))
        tokens = range(at, min(at + GROUP, len(scores)))
        return max(tokens, key=lambda token: scores[token] + noise(token))

    before = torch.random.get_rng_state()
    scores = torch.randn(3, words, generator=torch.Generator().manual_seed(3))
    rows = RowNoise([7, 8], [0, 30], torch.device("cpu"))
    seen = [rows.draw(scores[:2]).tolist() for _ in range(20)]
    rows.keep([1])
    rows.join(RowNoise([9], [0], torch.device("cpu")))
    seen += [rows.draw(scores[1:]).tolist() for _ in range(20)]
    first, second, third = scores.tolist()
    assert [drawn[0] for drawn in seen[:20]] == [reference(first, 7, n) for n in range(20)]
    assert [drawn[1] for drawn in seen[:20]] == [reference(second, 8, 30 + n) for n in range(20)]
    assert [drawn[0] for drawn in seen[20:]] == [reference(second, 8, 50 + n) for n in range(20)]
    assert [drawn[1] for drawn in seen[20:]] == [reference(third, 9, n) for n in range(20)]
    assert torch.equal(torch.random.get_rng_state(), before)


def excess(counts, expected) -> float:
    """Standard deviations of chi-square above its mean; rare values count as one."""
    is_rare = expected < 5
    counts = torch.cat([counts[~is_rare], counts[is_rare].sum(0, keepdim=True)]).double()
    expected = torch.cat([expected[~is_rare], expected[is_rare].sum(0, keepdim=True)]).double()
    counts, expected = counts[expected > 0], expected[expected > 0]
    freedom = len(expected) - 1
    return float((((counts - expected) ** 2 / expected).sum() - freedom) / (2 * freedom) ** 0.5)


@pytest.mark.parametrize(
    ("words", "rows", "draws"),
    [
        (32, 500, 40),
        (4096, 500, 60),
        pytest.param(32, 20_000, 50, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("top_k", [0, 9])
def test_draws_have_the_distribution_of_the_scores(words, rows, draws, top_k):
    scores = 2 * torch.randn(1, words, generator=torch.Generator().manual_seed(0))
    scores = truncate(scores, torch.tensor([[top_k]]) if top_k else None, None)
    noise = RowNoise(range(rows), [0] * rows, torch.device("cpu"))
    counts = torch.zeros(words, dtype=torch.int64)
    for _ in range(draws):
        counts += torch.bincount(noise.draw(scores.expand(rows, -1)), minlength=words)
    # Beyond this lies a chance of about 1e-5 (normal approximation, 4.3 standard deviations).
    assert abs(excess(counts, rows * draws * scores[0].double().softmax(-1))) < 4.3
    assert int((counts > 0).sum()) <= (top_k or words)


def test_draws_of_one_seed_and_of_neighbours_are_independent():
    words, rows = 8, 2000
    noise = RowNoise(range(rows), [0] * rows, torch.device("cpu"))
    first, second = (noise.draw(torch.zeros(rows, words)) for _ in range(2))
    for one, other in ((first, second), (first[:-1], first[1:]), (first[:-1], second[1:])):
        counts = torch.bincount(words * one + other, minlength=words**2)
        assert abs(excess(counts, torch.full((words**2,), len(one) / words**2))) < 4.3


def test_a_rounding_error_changes_no_draw():
    generator = torch.Generator().manual_seed(4)
    scores = torch.randn(64, 4096, generator=generator)
    other = scores + 1e-6 * torch.randn(64, 4096, generator=generator)
    one, two = (RowNoise(range(64), [0] * 64, torch.device("cpu")) for _ in range(2))
    assert all(torch.equal(one.draw(scores), two.draw(other)) for _ in range(3))


@pytest.mark.parametrize("kind", ["gpt2", "qwen3", "opt"])
def test_an_answer_that_was_cut_is_continued(kind, way):
    draws = Sampler(checkpoint(kind))
    how = {"temperature": 1.2, "top_k": 20, "max_tokens": 16}
    requests = [asked(one, seed=i, **how) for i, one in enumerate(prompts(*LENGTHS))]
    whole = [one.ids for one in draws.generate(requests)]
    rest = [
        Request(
            prompt_ids=(*request.prompt_ids, *ids[:cut]),
            sampling=replace(request.sampling, max_tokens=16 - cut),
            draws=cut,
        )
        for request, ids in zip(requests, whole, strict=True)
        for cut in (1, 5, 15)
    ]
    expected = [ids[cut:] for ids in whole for cut in (1, 5, 15)]
    assert [one.ids for one in draws.generate(rest)] == expected
    assert [one.ids for one in Sampler(checkpoint(kind), rows=2).generate(rest)] == expected


def test_a_stop_text_may_begin_before_the_cut():
    (prompt,) = prompts(5)
    draws = Sampler(checkpoint())
    (free,) = draws.generate([asked(prompt, seed=9, max_tokens=30)])
    words = checkpoint().detokenizer.decode(list(free.ids), special=True).split()
    how = asked(prompt, seed=9, max_tokens=30, stop=(f"{words[6]} {words[7]}",))
    (whole,) = draws.generate([how])
    cut = len(whole.ids) - 1
    rest = replace(how, prompt_ids=(*prompt, *whole.ids[:cut]), draws=cut)
    (found,) = draws.generate([rest])
    assert (found.ids, found.finish) == (whole.ids[cut:], "stop")


@pytest.mark.parametrize("count", [-1, 4])
def test_more_draws_than_the_prompt_has_tokens_are_refused(count):
    with pytest.raises(ModelError, match="draws"):
        Sampler(checkpoint()).check(replace(asked((3, 4, 5)), draws=count))


# --- listening, alternatives ---------------------------------------------------------------------


def test_a_listener_hears_each_token_and_may_want_no_more():
    heard: list = []

    def listen(drawn) -> bool:
        heard.append(drawn)
        return len(heard) < 4

    requests = [asked(one, seed=i) for i, one in enumerate(prompts(4, 4))]
    free = Sampler(checkpoint()).generate(requests)
    with Sampler(checkpoint()).batch() as batch:
        rows = batch.join(requests, [listen, None])
        while batch.is_alive:
            batch.step()
    found = [row.completion() for row in rows]
    assert found[0].ids == free[0].ids[:4] == tuple(one.token for one in heard)
    assert found[0].logprobs == tuple(one.logprob for one in heard)
    assert found[1].ids == free[1].ids


def test_alternatives_are_the_most_probable_tokens():
    (prompt,) = prompts(4)
    request = Request(
        prompt_ids=prompt, sampling=Sampling(max_tokens=3, seed=0, temperature=0), top=2
    )
    (found,) = Sampler(checkpoint()).generate([request])
    for token, logprob, best in zip(found.ids, found.logprobs, found.top, strict=True):
        assert best[0] == (token, logprob)
        assert best[1][1] <= logprob


def test_a_model_in_training_is_sampled_without_dropout_and_trains_on():
    made = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=WORDS, n_positions=64, n_embd=16, n_layer=1, n_head=2, eos_token_id=EOS
        )
    ).train()
    of = checkpoint()
    draws = Sampler(type(of)(made, of.tokenizer, "x", (EOS,), 64, of.detokenizer))
    request = asked(prompts(5)[0])
    assert draws.generate([request]) == draws.generate([request])
    assert made.training
    before = draws.generate([request])
    with torch.no_grad():
        made.lm_head.weight.mul_(-1)
    assert draws.generate([request]) != before, "weights are taken anew for each batch"
