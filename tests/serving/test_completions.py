"""Text completions through the official client."""

import openai
import pytest

from tests.models.local.tiny import byte_tokenizer, checkpoint, tokenizers
from tests.serving.here import Here

TEXT = "Über 日本語"


def complete(here: Here, prompt=TEXT, **how):
    how = {"max_tokens": 12, "seed": 3, **how}
    with here.client() as client:
        return client.completions.create(model=here.name, prompt=prompt, **how)


def ids_of(text: str) -> list[int]:
    return byte_tokenizer()(text)["input_ids"]


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
    [{}, {"logprobs": 2}, {"stop": "e", "n": 2}, {"logprobs": 0}],
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


def test_offsets_are_places_in_the_text(said):
    (choice,) = complete(said, "round", logprobs=0).choices
    assert len(set(choice.logprobs.text_offset)) == 12
    for token, start in zip(choice.logprobs.tokens, choice.logprobs.text_offset, strict=True):
        assert choice.text[start:].lstrip().startswith(token.strip())


def test_an_echo_is_refused_not_ignored(served):
    with pytest.raises(openai.BadRequestError) as refused:
        complete(served, echo=True)
    assert refused.value.param == "echo"


def test_nothing_is_drawn_if_nothing_is_wanted(served):
    whole = complete(served, max_tokens=0)
    assert (whole.choices[0].text, whole.usage.completion_tokens) == ("", 0)


def test_tokens_are_told_as_numbers(served):
    whole = complete(served, extra_body={"return_token_ids": True})
    (choice,) = whole.choices
    assert choice.model_extra["prompt_token_ids"] == ids_of(TEXT)
    assert len(choice.model_extra["token_ids"]) == whole.usage.completion_tokens


def test_each_choice_tells_the_prompt_it_answers(served):
    both = complete(served, [TEXT, "naïve"], n=2, extra_body={"return_token_ids": True})
    for choice, prompt in zip(both.choices, (TEXT, TEXT, "naïve", "naïve"), strict=True):
        assert choice.model_extra["prompt_token_ids"] == ids_of(prompt)


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
    """Not where a chat template writes them."""
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
        (choice,) = complete(here, "ab", max_tokens=0, extra_body=tell).choices
        assert choice.model_extra["prompt_token_ids"] == [1, *ids_of("ab")]
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
# The bodies of lm-eval 0.4's local-completions and local-chat-completions.


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
