"""Chat completions through the official client."""

import asyncio
import json

import pytest

from tests.models.local.tiny import byte_tokenizer, checkpoint, torch
from tests.serving.here import Here, parrot
from timeful.models.local import fast_decoder

TOOL = {"type": "function", "function": {"name": "forecast", "parameters": {"type": "object"}}}


def asked(text: str = "Über 日本語", **how):
    return {
        "messages": [{"role": "user", "content": text}],
        "max_tokens": 24,
        "seed": 3,
        **how,
    }


def ask(here: Here, text: str = "Über 日本語", **how):
    with here.client() as client:
        return client.chat.completions.create(model=here.name, **asked(text, **how))


def streamed(here: Here, text: str = "Über 日本語", **how):
    with here.client() as client:
        made = client.chat.completions.create(model=here.name, stream=True, **asked(text, **how))
        return list(made)


def text_of(chunks, index: int = 0) -> str:
    deltas = [one.delta for chunk in chunks for one in chunk.choices if one.index == index]
    return "".join(delta.content or "" for delta in deltas)


def test_the_model_is_listed(served):
    with served.client() as client:
        (model,) = client.models.list().data
        assert model.id == served.name
        assert client.models.retrieve(served.name) == model
        assert model.model_extra["max_model_len"] == 96


@pytest.mark.parametrize("how", [{}, {"temperature": 0}, {"n": 3}, {"top_p": 0.4}, {"stop": "e"}])
def test_a_stream_says_what_the_whole_answer_says(served, how):
    whole = ask(served, **how)
    chunks = streamed(served, stream_options={"include_usage": True}, **how)
    for choice in whole.choices:
        assert text_of(chunks, choice.index) == choice.message.content
        ends = [c.choices[0].finish_reason for c in chunks if c.choices]
        assert choice.finish_reason in ends
    assert chunks[-1].usage == whole.usage
    assert chunks[-1].choices == []
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert len({chunk.id for chunk in chunks}) == 1


def test_usage_counts_the_prompt_once_and_all_that_was_drawn(served):
    whole = ask(served, n=3, extra_body={"return_token_ids": True})
    given, usage = whole.model_extra["prompt_token_ids"], whole.usage
    drawn = [len(one.model_extra["token_ids"]) for one in whole.choices]
    assert (usage.prompt_tokens, usage.completion_tokens) == (len(given), sum(drawn))
    assert usage.total_tokens == len(given) + sum(drawn)


def test_the_same_seed_is_the_same_answer_and_another_one_is_not(served):
    texts = [ask(served, seed=seed).choices[0].message.content for seed in (5, 5, 6, -7)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


def test_choices_differ_and_the_first_is_that_of_a_single_one(served):
    choices = ask(served, n=4).choices
    texts = [one.message.content for one in choices]
    assert [one.index for one in choices] == [0, 1, 2, 3]
    assert len(set(texts)) == 4
    assert texts[0] == ask(served).choices[0].message.content


def test_without_a_seed_answers_differ(served):
    texts = {ask(served, seed=None).choices[0].message.content for _ in range(3)}
    assert len(texts) == 3


def test_top_k_of_one_is_the_most_probable_text(served):
    greedy = ask(served, temperature=0).choices[0].message.content
    assert ask(served, extra_body={"top_k": 1}).choices[0].message.content == greedy
    assert ask(served, extra_body={"top_k": -1}) != greedy


def test_log_probabilities_are_those_of_a_full_forward_pass(served):
    whole = ask(
        served,
        temperature=1,
        logprobs=True,
        top_logprobs=3,
        extra_body={"return_token_ids": True},
    )
    (choice,) = whole.choices
    ids, given = choice.model_extra["token_ids"], whole.model_extra["prompt_token_ids"]
    of = checkpoint("llama", tokenizer=byte_tokenizer())
    with torch.inference_mode():
        logits = of.model(torch.tensor([[*given, *ids]])).logits[0, len(given) - 1 : -1]
    expected = logits.log_softmax(-1)
    entries = choice.logprobs.content
    assert len(entries) == len(ids)
    for entry, token, row in zip(entries, ids, expected, strict=True):
        assert entry.logprob == pytest.approx(row[token].item(), abs=1e-5)
        best = row.topk(3).values.tolist()
        assert [one.logprob for one in entry.top_logprobs] == pytest.approx(best, abs=1e-5)


def test_the_bytes_of_the_tokens_are_those_of_the_answer(served):
    """A token may be a part of a character; together they are the text."""
    (choice,) = ask(served, logprobs=True, temperature=0).choices
    data = b"".join(bytes(one.bytes) for one in choice.logprobs.content)
    assert data.decode(errors="replace").replace("<bos>", "") == choice.message.content


def test_streamed_log_probabilities_and_tokens_are_those_of_the_whole_answer(served):
    how = {"logprobs": True, "top_logprobs": 2, "extra_body": {"return_token_ids": True}}
    whole = ask(served, **how)
    chunks = streamed(served, **how)
    parts = [chunk.choices[0] for chunk in chunks]
    entries = [entry for one in parts if one.logprobs for entry in one.logprobs.content]
    ids = [token for one in parts for token in one.model_extra.get("token_ids", [])]
    assert entries == whole.choices[0].logprobs.content
    assert ids == whole.choices[0].model_extra["token_ids"]
    assert chunks[0].model_extra["prompt_token_ids"] == whole.model_extra["prompt_token_ids"]


@pytest.mark.parametrize("how", [{"logprobs": True}, {"extra_body": {"return_token_ids": True}}])
def test_each_token_is_told_if_it_is_asked_for_also_one_without_a_text(served, how):
    chunks = streamed(served, stream_options={"include_usage": True}, **how)
    deltas = [chunk.choices[0].delta for chunk in chunks[1:-1]]
    assert len(deltas) == chunks[-1].usage.completion_tokens
    assert any(not one.content for one in deltas)


def test_each_choice_of_a_stream_begins_with_its_role(said):
    chunks = streamed(said, "count", n=2)
    begun = [one.choices[0] for one in chunks[:2]]
    assert [(one.index, one.delta.role) for one in begun] == [(0, "assistant"), (1, "assistant")]


def test_every_part_counts_if_that_is_wanted(said):
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = streamed(said, "count", stream_options=options)
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts == [0, *range(1, 12), 11]


# --- what ends an answer -------------------------------------------------------------------------


def test_the_end_of_a_text_is_a_stop_and_is_not_said(said):
    (choice,) = ask(said, "count").choices
    assert choice.message.content == "one two three four five six seven eight nine ten"
    assert choice.finish_reason == "stop"


def test_the_limit_is_a_length_by_either_name(said):
    for how in ({"max_tokens": 3}, {"max_completion_tokens": 3, "max_tokens": 9}):
        (choice,) = ask(said, "count", **how).choices
        assert (choice.message.content, choice.finish_reason) == ("one two three", "length")


def test_without_a_limit_the_context_ends_an_answer(said):
    whole = ask(said, "round", max_tokens=None)
    assert whole.choices[0].finish_reason == "length"
    assert whole.usage.total_tokens == 512


@pytest.mark.parametrize(
    ("stop", "text"),
    [
        ("five", "one two three four "),
        ("ur fi", "one two three fo"),
        (["nine", "ven"], "one two three four five six se"),
        ([], "one two three four five six seven eight nine ten"),
        (["twofold", "tens"], "one two three four five six seven eight nine ten"),
    ],
)
def test_a_text_stops_an_answer_and_is_not_said(said, stop, text):
    whole = ask(said, "count", stop=stop).choices[0]
    assert (whole.message.content, whole.finish_reason) == (text, "stop")
    chunks = streamed(said, "count", stop=stop)
    assert text_of(chunks) == text
    assert chunks[-1].choices[0].finish_reason == "stop"


# --- tools ---------------------------------------------------------------------------------------


def test_a_call_becomes_a_call(said):
    (choice,) = ask(said, "weather", tools=[TOOL]).choices
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert choice.message.content == "Let me see"
    assert call.function.name == "forecast"
    assert json.loads(call.function.arguments) == {"city": "Ulm"}
    assert call.id.startswith("call_")


def test_a_streamed_call_comes_whole(said):
    chunks = streamed(said, "weather", tools=[TOOL])
    calls = [call for c in chunks for call in c.choices[0].delta.tool_calls or []]
    assert [(one.index, one.function.name) for one in calls] == [(0, "forecast")]
    assert text_of(chunks).strip() == "Let me see"
    assert chunks[-1].choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("how", [{}, {"tools": [TOOL], "tool_choice": "none"}, {"tools": []}])
def test_without_tools_a_call_is_text(said, how):
    (choice,) = ask(said, "weather", **how).choices
    assert choice.message.tool_calls is None
    assert choice.message.content.endswith("</tool_call>")
    assert choice.finish_reason == "stop"


def test_what_is_no_call_stays_text(said):
    (choice,) = ask(said, "broken", tools=[TOOL]).choices
    assert choice.message.content == "Hm <tool_call>oops</tool_call>"
    assert choice.finish_reason == "stop"


@pytest.mark.parametrize("way", [ask, streamed])
def test_an_answer_ends_with_its_first_call_unless_more_are_wanted(said, way):
    """As models in this process do, and are trained to."""
    for how, names in (({}, ["a"]), ({"parallel_tool_calls": True}, ["a", "b"])):
        told = way(said, "twice", tools=[TOOL], **how)
        parts = [one.choices[0].delta for one in told] if way is streamed else None
        messages = parts or [told.choices[0].message]
        calls = [call for one in messages for call in one.tool_calls or []]
        assert [call.function.name for call in calls] == names
        assert len({call.id for call in calls}) == len(names)
        end = told[-1] if way is streamed else told
        assert end.choices[0].finish_reason == "tool_calls"


@pytest.mark.parametrize("way", [ask, streamed])
def test_calls_of_all_choices_have_names_of_their_own(said, way):
    told = way(said, "twice", tools=[TOOL], parallel_tool_calls=True, n=2)
    choices = [one for chunk in told for one in chunk.choices] if way is streamed else told.choices
    said_by = [one.delta if way is streamed else one.message for one in choices]
    assert len({call.id for one in said_by for call in one.tool_calls or []}) == 4


def test_a_call_without_words_has_no_content(said):
    (choice,) = ask(said, "twice", tools=[TOOL]).choices
    assert choice.message.content is None


def test_an_answer_cut_behind_a_call_is_a_length_all_the_same(said):
    how = {"tools": [TOOL], "parallel_tool_calls": True, "max_tokens": 2}
    (choice,) = ask(said, "twice", **how).choices
    assert (len(choice.message.tool_calls), choice.finish_reason) == (1, "length")


def test_an_answer_that_is_begun_is_gone_on_with(said):
    begun = [{"role": "user", "content": "b"}, {"role": "assistant", "content": "count one two"}]
    options = {"continue_final_message": True}
    (choice,) = ask(said, messages=begun, max_tokens=2, extra_body=options).choices
    assert choice.message.content == "three four"


def test_parts_of_a_content_are_one_text(said):
    parts = [{"type": "text", "text": "co"}, {"type": "text", "text": "unt"}]
    (choice,) = ask(said, messages=[{"role": "user", "content": parts}], max_tokens=2).choices
    assert choice.message.content == "one two"


def test_tools_calls_and_their_replies_reach_the_template(monkeypatch, said):
    seen = []
    real = parrot().tokenizer.apply_chat_template

    def apply(messages, **how):
        seen.append((messages, how["tools"], how.get("enable_thinking")))
        return real(messages, **how)

    monkeypatch.setattr(parrot().tokenizer, "apply_chat_template", apply, raising=False)
    call = {"name": "forecast", "arguments": '{"city": "Ulm"}'}
    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}]},
        {"role": "user", "content": "b"},
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "1", "content": "count"},
    ]
    options = {"chat_template_kwargs": {"enable_thinking": False}}
    ask(said, messages=messages, tools=[TOOL], extra_body=options)
    ((told, tools, thinking),) = seen
    assert (tools, thinking) == ([TOOL], False)
    assert told[0] == {"role": "system", "content": "a"}
    assert told[2]["content"] == ""
    assert told[2]["tool_calls"][0]["function"]["arguments"] == {"city": "Ulm"}
    assert told[3] == messages[3]


# --- many at once --------------------------------------------------------------------------------


def test_thirty_two_clients_at_once_are_answered_as_each_alone(served, monkeypatch):
    """With these seeds; docs/local.md says how often the last bits could change a draw."""
    bodies = [asked(f"Nr {i}: 日本語", seed=i, max_tokens=8 + i % 9) for i in range(32)]
    alone = [ask(served, **body, text="").choices[0].message.content for body in bodies]

    async def one(client, body, is_stream):
        if not is_stream:
            made = await client.chat.completions.create(model=served.name, **body)
            return made.choices[0].message.content
        chunks = await client.chat.completions.create(model=served.name, stream=True, **body)
        return text_of([chunk async for chunk in chunks])

    async def everybody():
        async with served.async_client() as client:
            jobs = [one(client, body, i % 2) for i, body in enumerate(bodies)]
            return await asyncio.gather(*jobs)

    sizes, step = [], fast_decoder.FastDecoder.step
    monkeypatch.setattr(
        fast_decoder.FastDecoder, "step", lambda of, ids: sizes.append(len(ids)) or step(of, ids)
    )
    assert asyncio.run(everybody()) == alone
    assert max(sizes) > 4, "some were answered together"
