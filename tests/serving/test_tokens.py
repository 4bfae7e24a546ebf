"""Tokens as they are shown: bytes, texts, and what stands where."""

import pytest

from tests.models.local.tiny import TEXT, byte_tokenizer, checkpoint, piece_tokenizer
from timeful.models.local.request import TokenSample
from timeful.serving.answers import Step
from timeful.serving.tokens import Tokens


@pytest.mark.parametrize("speaks", [byte_tokenizer, piece_tokenizer])
def test_bytes_joined_are_the_text(speaks):
    of = checkpoint("gpt2", tokenizer=speaks())
    text = TEXT if speaks is byte_tokenizer else "ab cde é日 ab"
    ids = of.tokenizer(text, add_special_tokens=False)["input_ids"]
    data = b"".join(Tokens(of).spell(token)[1] for token in ids)
    assert data.decode().lstrip(" ") == text.lstrip(" ")


def test_every_token_of_a_byte_level_tokenizer_has_bytes():
    of = checkpoint("gpt2", tokenizer=byte_tokenizer())
    tokens = Tokens(of)
    singles = {tokens.spell(i)[1] for i in range(len(of.tokenizer))}
    assert {bytes([byte]) for byte in range(256)} <= singles


def test_half_a_character_is_spelled():
    of = checkpoint("gpt2", tokenizer=byte_tokenizer())
    token = of.tokenizer.convert_tokens_to_ids("ð")
    assert Tokens(of).spell(token) == ("bytes:\\xf0", b"\xf0")


def step(token: int, logprob: float, *top: tuple[int, float]) -> Step:
    return Step(0, TokenSample(token, logprob, None, top), "", (), None)


def test_of_alternatives_that_look_alike_the_more_probable_counts():
    tokens = Tokens(checkpoint())
    steps = [step(9, -3.0, (8, -1.0), (9, -3.0)), step(8, -float("inf"), (9, -1.0))]
    columns = tokens.columns(steps, start=4)
    assert columns["top_logprobs"][0] == {tokens.spell(8)[0]: -1.0, tokens.spell(9)[0]: -3.0}
    assert columns["token_logprobs"] == [-3.0, -9999.0]
    assert columns["text_offset"] == [4, 4]


def test_what_json_cannot_say_is_the_least_number():
    tokens, impossible = Tokens(checkpoint()), -float("inf")
    columns = tokens.columns([step(9, -1.0, (9, -1.0), (8, impossible))])
    assert columns["top_logprobs"][0][tokens.spell(8)[0]] == -9999.0
    entry = tokens.entry(TokenSample(9, impossible, None, ((8, impossible),)))
    assert (entry["logprob"], entry["top_logprobs"][0]["logprob"]) == (-9999.0, -9999.0)
