"""Tokens as they are shown: bytes, texts, and what stands where."""

import pytest

from tests.models.local.tiny import TEXT, byte_tokenizer, checkpoint, piece_tokenizer
from timeful.serving.tokens import Columns, Tokens, offsets


@pytest.mark.parametrize("speaks", [byte_tokenizer, piece_tokenizer])
def test_bytes_joined_are_the_text(speaks):
    of = checkpoint("gpt2", tokenizer=speaks())
    text = TEXT if speaks is byte_tokenizer else "ab cde é日 ab"
    ids = of.tokenizer(text, add_special_tokens=False)["input_ids"]
    data = b"".join(Tokens(of).shown(token)[1] for token in ids)
    assert data.decode().lstrip(" ") == text.lstrip(" ")


def test_every_token_of_a_byte_level_tokenizer_has_bytes():
    of = checkpoint("gpt2", tokenizer=byte_tokenizer())
    tokens = Tokens(of)
    singles = {tokens.shown(i)[1] for i in range(len(of.tokenizer))}
    assert {bytes([byte]) for byte in range(256)} <= singles


def test_half_a_character_is_spelled():
    of = checkpoint("gpt2", tokenizer=byte_tokenizer())
    token = of.tokenizer.convert_tokens_to_ids("ð")
    assert Tokens(of).shown(token) == ("bytes:\\xf0", b"\xf0")


def test_of_alternatives_that_look_alike_the_more_probable_counts():
    columns = Columns()
    tokens = Tokens(checkpoint())
    columns.add(tokens, 9, -3.0, ((8, -1.0), (9, -3.0)), at=4)
    columns.add(tokens, 8, -float("inf"), ((9, -1.0),), at=4)
    assert columns.top_logprobs[0] == {tokens.shown(8)[0]: -1.0, tokens.shown(9)[0]: -3.0}
    assert columns.token_logprobs == [-3.0, -9999.0]


def test_what_json_cannot_say_is_the_least_number():
    columns, tokens = Columns(), Tokens(checkpoint())
    impossible = -float("inf")
    columns.add(tokens, 9, -1.0, ((9, -1.0), (8, impossible)), at=0)
    assert columns.top_logprobs[0][tokens.shown(8)[0]] == -9999.0
    entry = tokens.entry(9, impossible, ((8, impossible),))
    assert (entry["logprob"], entry["top_logprobs"][0]["logprob"]) == (-9999.0, -9999.0)


def test_offsets_count_characters():
    of = checkpoint("gpt2", tokenizer=byte_tokenizer())
    ids = of.tokenizer("aé🍎b", add_special_tokens=False)["input_ids"]
    places = offsets(of, ids, special=True)
    assert places[0] == 0
    assert places == sorted(places)
    assert places[-1] == 3
