"""Promises of conversations as tokens: what was drawn stays as it was drawn."""

import pytest

from tests.models.local.scripted import ids_of, scripted
from timeful.core.source import Chunk
from timeful.models.local.prefix_cache import _quotes
from timeful.models.model import Message, Prompt
from timeful.tools import Parameter, ToolCall, ToolSpec

SYSTEM = Message("system", "w0 w1")
QUESTION = Message("user", "w2")
TIMER = ToolSpec(name="w5", description="w6", parameters=())


def ask(model, *messages, tools=(), max_tokens=20, pulls=None):
    """Ask, and pull so many pieces, or all; the source, and what it said."""
    prompt = Prompt(label="work", render=lambda: messages, tools=tools)
    source = model.open(prompt, max_tokens=max_tokens, seed=0)
    said = ""
    while pulls is None or pulls > 0:
        piece = source.pull()
        if not isinstance(piece, Chunk):
            break
        if piece.channel == "answer":
            said += piece.text
        pulls = None if pulls is None else pulls - 1
    return source, said


def test_a_prompt_that_goes_on_is_what_was_drawn_and_what_was_added():
    model, sampler, batcher = scripted("w7 w8 <eos>", "w9 <eos>", "w10 <eos>")
    with batcher:
        first, said = ask(model, SYSTEM, QUESTION)
        talk = [SYSTEM, QUESTION, Message("assistant", said), Message("user", "w3")]
        second, more = ask(model, *talk)
        third, _ = ask(model, *talk, Message("assistant", more), Message("user", "w4"))
    assert said == "w7 w8"
    one, two, three = sampler.asked
    assert one == ids_of("<bos> w0 w1 ? w2")
    assert two == one + ids_of("w7 w8 <eos>") + ids_of("? w3")
    assert three == two + ids_of("w9 <eos>") + ids_of("? w4")
    assert [source.sampled.kept for source in (first, second, third)] == [
        0,
        len(one) + 3,
        len(two) + 2,
    ]


def test_two_conversations_in_turns_are_each_gone_on_with():
    model, sampler, batcher = scripted("w7 <pad> <eos>", "w8 <eos>", "w9 <eos>")
    with batcher:
        _, said = ask(model, QUESTION)
        ask(model, Message("user", "w4"))
        ask(model, QUESTION, Message("assistant", said), Message("user", "w3"))
    assert sampler.asked[2] == sampler.asked[0] + ids_of("w7 <pad> <eos> ? w3")


def test_tokens_that_no_text_would_give_again_are_kept():
    """The drawn <pad> has no text: tokenised again, the answer would be without it."""
    model, sampler, batcher = scripted("w7 <pad> w8 <eos>", "w9 <eos>")
    with batcher:
        _, said = ask(model, QUESTION)
        ask(model, QUESTION, Message("assistant", said), Message("user", "w3"))
    assert said == "w7 w8"
    assert sampler.asked[1] == sampler.asked[0] + ids_of("w7 <pad> w8 <eos> ? w3")
    assert sampler.asked[1] != ids_of("? w2 w7 w8 <eos> ? w3")


def test_an_answer_that_was_cut_is_gone_on_with_from_its_last_token():
    model, sampler, batcher = scripted("w7 w8 w9 w10 <eos>", "w9 <eos>")
    with batcher:
        source, said = ask(model, QUESTION, pulls=3)
        source.close()  # the third was known, and had not come
        cut = "w7 w8"
        ask(model, QUESTION, Message("assistant", cut), Message("user", "w3"))
    assert said == "w7 w8 w9"
    assert sampler.asked[1] == sampler.asked[0] + ids_of("w7 w8") + ids_of("<eos> ? w3")


def test_thoughts_that_a_text_leaves_out_stay_in_the_prompt():
    model, sampler, batcher = scripted("<think> w7 </think> w8 <eos>", "w9 <eos>")
    with batcher:
        _, said = ask(model, QUESTION)
        ask(model, QUESTION, Message("assistant", said), Message("user", "w3"))
    assert said.strip() == "w8"
    assert sampler.asked[1] == sampler.asked[0] + ids_of("<think> w7 </think> w8 <eos> ? w3")


@pytest.mark.parametrize(
    "rewritten",
    [
        [Message("user", "w4"), Message("assistant", "w7 w8"), Message("user", "w3")],
        [QUESTION, Message("assistant", "w7 w9"), Message("user", "w3")],
        [QUESTION, Message("assistant", "..."), Message("user", "w3")],
        [Message("user", "w3")],
    ],
)
def test_a_conversation_that_was_rewritten_begins_anew_and_says_so(rewritten):
    model, sampler, batcher = scripted("w7 <pad> w8 <eos>", "w9 <eos>")
    with batcher:
        ask(model, QUESTION)
        source, _ = ask(model, *rewritten)
    assert source.sampled.kept == 0
    told = [{"role": one.role, "content": one.content} for one in rewritten]
    text = sampler.checkpoint.tokenizer.apply_chat_template(told, tokenize=False)
    assert sampler.asked[1] == ids_of(text)


def test_calls_of_the_api_are_recognised_in_what_was_said():
    said = '<tool_call>{"name": "w5", "arguments": {"b": 1, "a": 2}}</tool_call>'

    def message(content="", **arguments):
        call = ToolCall(name="w5", arguments=arguments, id="call-1")
        return Message("assistant", content, (call,))

    assert _quotes(message(a=2, b=1), said)
    assert _quotes(message("so", a=2, b=1), f"so {said}")
    assert not _quotes(message(a=2, b=3), said)
    assert not _quotes(message("so", a=2, b=1), said)
    assert not _quotes(Message("assistant", ""), said)


def test_other_tools_are_another_conversation():
    model, _, batcher = scripted("w7 <eos>", "w8 <eos>")
    other = ToolSpec(
        name="w5",
        description="w6",
        parameters=(Parameter(name="w1", kind="string", description="w2"),),
    )
    with batcher:
        ask(model, QUESTION, tools=(TIMER,))
        source, _ = ask(
            model, QUESTION, Message("assistant", "w7"), Message("user", "w3"), tools=(other,)
        )
    assert source.sampled.kept == 0


def test_a_text_that_stopped_an_answer_is_followed_by_what_the_template_writes():
    model, sampler, batcher = scripted("w7 </tool_call>", "w8 <eos>")
    with batcher:
        _, said = ask(model, QUESTION)
        ask(model, QUESTION, Message("assistant", said), Message("user", "w3"))
    assert sampler.asked[1] == sampler.asked[0] + ids_of("w7 </tool_call> <eos> ? w3")


def test_two_models_of_one_batcher_share_no_conversation():
    model, sampler, batcher = scripted("w7 <pad> <eos>", "w8 <eos>")
    with batcher:
        _, said = ask(model, QUESTION)
        stranger = type(model)(sampler.checkpoint, model._slot)
        source, _ = ask(stranger, QUESTION, Message("assistant", said), Message("user", "w3"))
    assert source.sampled.kept == 0
