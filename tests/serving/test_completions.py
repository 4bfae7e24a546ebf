"""Plain completions through the official client, and how probable given texts are."""

import pytest

from tests.models.local.tiny import byte_tokenizer, checkpoint, tokenizers, torch
from tests.serving.here import Here

TEXT = "Über 日本語"


def complete(here: Here, prompt=TEXT, **how):
    how = {"max_tokens": 12, "seed": 3, **how}
    with here.client() as client:
        return client.completions.create(model=here.name, prompt=prompt, **how)


def ids_of(text: str) -> list[int]:
    return byte_tokenizer()(text)["input_ids"]


def expected(ids: list[int]) -> torch.Tensor:
    """How probable each token is after those before it, by the model's own forward pass."""
    with torch.inference_mode():
        logits = checkpoint("llama", tokenizer=byte_tokenizer()).model(torch.tensor([ids])).logits
    return logits[0].log_softmax(-1)


def test_a_prompt_is_a_text_or_its_tokens_alone_or_in_a_list(served):
    (alone,) = complete(served).choices
    for prompt in (ids_of(TEXT), [TEXT], [ids_of(TEXT)]):
        (one,) = complete(served, prompt).choices
        assert one.text == alone.text
    both = complete(served, [TEXT, "naïve"], n=2)
    assert [one.index for one in both.choices] == [0, 1, 2, 3]
    assert both.choices[0].text == alone.text
    assert both.choices[2].text == complete(served, "naïve").choices[0].text
    assert both.usage.prompt_tokens == len(ids_of(TEXT)) + len(ids_of("naïve"))


@pytest.mark.parametrize(
    "how",
    [{}, {"echo": True}, {"logprobs": 2, "echo": True}, {"stop": "e", "n": 2}, {"logprobs": 0}],
)
def test_a_stream_says_what_the_whole_answer_says(served, how):
    whole = complete(served, **how)
    with served.client() as client:
        chunks = list(
            client.completions.create(
                model=served.name, prompt=TEXT, max_tokens=12, seed=3, stream=True, **how
            )
        )
    for choice in whole.choices:
        parts = [one for c in chunks for one in c.choices if one.index == choice.index]
        assert "".join(one.text for one in parts) == choice.text
        assert parts[-1].finish_reason == choice.finish_reason
        if choice.logprobs:
            for name in ("tokens", "token_logprobs", "top_logprobs", "text_offset"):
                told = [one for part in parts for one in getattr(part.logprobs, name)]
                assert told == getattr(choice.logprobs, name)


def test_without_a_limit_sixteen_tokens_are_drawn(said):
    (choice,) = complete(said, "round", max_tokens=None).choices
    assert (choice.text.split(), choice.finish_reason) == (["round"] * 16, "length")


def test_an_echo_begins_with_the_prompt(served):
    (choice,) = complete(served, echo=True).choices
    assert choice.text == TEXT + complete(served).choices[0].text


@pytest.mark.parametrize("limit", [0, 1])
def test_echoed_log_probabilities_are_those_of_a_full_forward_pass(served, limit):
    """Also of a text of which tokens are halves of characters."""
    ids = ids_of(TEXT)
    whole = complete(served, ids, echo=True, max_tokens=limit, logprobs=2, temperature=0)
    (choice,) = whole.choices
    found, rows = choice.logprobs, expected(ids)
    assert choice.finish_reason == "length"
    assert whole.usage.completion_tokens == limit
    assert [len(column) for column in (found.tokens, found.text_offset)] == [len(ids) + limit] * 2
    assert (found.token_logprobs[0], found.top_logprobs[0]) == (None, None)
    given = [rows[i, token].item() for i, token in enumerate(ids[1:])]
    assert found.token_logprobs[1 : len(ids)] == pytest.approx(given, abs=1e-5)
    assert max(map(len, found.top_logprobs[1:])) == 3, "two alternatives, and the token itself"
    for row, top in zip(rows, found.top_logprobs[1:], strict=False):
        assert max(top.values()) == pytest.approx(row.max().item(), abs=1e-5)


def test_offsets_are_places_in_the_text(served):
    (choice,) = complete(served, "ab é🍎 cd", echo=True, logprobs=1, max_tokens=0).choices
    for token, at in zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True):
        if not token.startswith(("bytes:", "<")):
            assert choice.text[at : at + len(token)] == token


def test_nothing_is_drawn_if_nothing_is_wanted(served):
    whole = complete(served, max_tokens=0)
    assert (whole.choices[0].text, whole.usage.completion_tokens) == ("", 0)


def test_tokens_are_told_as_numbers(served):
    whole = complete(served, extra_body={"return_token_ids": True})
    (choice,) = whole.choices
    assert choice.model_extra["prompt_token_ids"] == ids_of(TEXT)
    assert len(choice.model_extra["token_ids"]) == whole.usage.completion_tokens


def test_each_choice_echoes_the_prompt_it_answers(served):
    both = complete(served, [TEXT, "naïve"], n=2, echo=True, extra_body={"return_token_ids": True})
    for i, prompt in enumerate((TEXT, TEXT, "naïve", "naïve")):
        assert both.choices[i].text.startswith(prompt)
        assert both.choices[i].model_extra["prompt_token_ids"] == ids_of(prompt)


def test_a_stream_counts_its_tokens_and_ends_also_where_none_is_drawn(said):
    def streamed(**how):
        options = {"include_usage": True, "continuous_usage_stats": True}
        body = {"model": said.name, "prompt": "round", "stream_options": options, **how}
        with said.client() as client:
            return list(client.completions.create(stream=True, **body))

    counts = [chunk.usage.completion_tokens for chunk in streamed(max_tokens=3)]
    assert counts == [1, 2, 3, 3]
    *_, stopped, _ = streamed(prompt="count")
    assert (stopped.choices[0].text, stopped.choices[0].finish_reason) == ("", "stop")
    ended, last = streamed(max_tokens=0)
    assert (ended.choices[0].text, ended.choices[0].finish_reason) == ("", "length")
    assert (last.choices, last.usage.completion_tokens) == ([], 0)


def test_a_tokenizer_s_own_tokens_are_put_in_where_they_are_wanted():
    """Not where a chat template writes them, and they have no place in an echoed text."""
    core = byte_tokenizer().backend_tokenizer
    speaks = byte_tokenizer().__class__(
        tokenizer_object=tokenizers.Tokenizer.from_str(core.to_str()),
        bos_token="<bos>",
        eos_token="<eos>",
        chat_template=byte_tokenizer().chat_template,
    )
    speaks.backend_tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="<bos> $A", special_tokens=[("<bos>", 1)]
    )
    tell = {"return_token_ids": True}
    with Here(checkpoint("llama", tokenizer=speaks)) as here, here.client() as client:
        with_it = complete(here, "ab", echo=True, logprobs=1, max_tokens=0, extra_body=tell)
        (choice,) = with_it.choices
        assert choice.model_extra["prompt_token_ids"] == [1, *ids_of("ab")]
        assert choice.logprobs.text_offset[:2] == [0, 0]
        without = complete(here, "ab", extra_body={**tell, "add_special_tokens": False})
        assert without.choices[0].model_extra["prompt_token_ids"] == ids_of("ab")
        chat = client.chat.completions.create(
            model=here.name,
            messages=[{"role": "user", "content": "ab"}],
            max_tokens=1,
            extra_body=tell,
        )
        assert chat.model_extra["prompt_token_ids"] == ids_of(" ? ab")


# --- what lm-eval sends --------------------------------------------------------------------------
# The bodies of lm-eval 0.4's local-completions and local-chat-completions, field by field.


def sent_for_a_score(here: Here, prompt) -> dict:
    return {
        "model": here.name,
        "prompt": prompt,
        "temperature": 0,
        "max_tokens": 1,
        "logprobs": 1,
        "seed": 1234,
        "echo": True,
    }


@pytest.mark.parametrize("way", ["tokens", "texts", "a text"])
def test_lm_eval_scores_continuations(served, way):
    """What it reads: the sum over the continuation, and whether each token is the best one."""
    contexts, wanted = ["Über 9", "naïve Café"], [" Äpfel", "-Gäste"]
    texts = [a + b for a, b in zip(contexts, wanted, strict=True)]
    ids = [ids_of(text) for text in texts]
    prompts = {"tokens": ids, "texts": texts, "a text": texts[0]}[way]
    answered = post(served, "completions", sent_for_a_score(served, prompts))
    for i, choice in enumerate(sorted(answered["choices"], key=lambda one: one["index"])):
        cut = len(ids_of(contexts[i]))
        said = choice["logprobs"]["token_logprobs"][cut:-1]
        best = [max(top.values()) for top in choice["logprobs"]["top_logprobs"][cut:-1]]
        rows = expected(ids[i])[cut - 1 : -1]
        own = rows.gather(1, torch.tensor(ids[i][cut:])[:, None])[:, 0]
        assert sum(said) == pytest.approx(own.sum().item(), abs=1e-4)
        greedy = (rows.argmax(-1) == torch.tensor(ids[i][cut:])).tolist()
        assert [a == b for a, b in zip(said, best, strict=True)] == greedy


def test_lm_eval_generates(served):
    prompts = [ids_of("Über 9"), ids_of("naïve"), ids_of("sagt"), ids_of("日本語 wie")]
    body = {
        "prompt": prompts,
        "model": served.name,
        "max_tokens": 12,
        "temperature": 0,
        "stop": ["\n", "e", "<eos>"],
        "seed": 1234,
    }
    answered = post(served, "completions", body)
    alone = [post(served, "completions", {**body, "prompt": [one]}) for one in prompts]
    assert [one["text"] for one in answered["choices"]] == [
        one["choices"][0]["text"] for one in alone
    ]


def test_lm_eval_chats(served):
    body = {
        "messages": [{"role": "user", "content": "Über 9", "type": "text"}],
        "model": served.name,
        "max_tokens": 12,
        "temperature": 0,
        "stop": ["\n", "e"],
        "seed": 1234,
    }
    answered = post(served, "chat/completions", body)
    assert isinstance(answered["choices"][0]["message"]["content"], str)


def post(here: Here, path: str, body: dict) -> dict:
    with here.client() as client:
        return client.post(f"/{path}", cast_to=object, body=body)
