"""Promises of tokens as text: the pieces joined are the text of all of them."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.models.local.tiny import TEXT, byte_tokenizer, piece_tokenizer, word_tokenizer
from timeful.models.local.detokenizer import Detokenizer

TOKENIZERS = {"words": word_tokenizer, "bytes": byte_tokenizer, "pieces": piece_tokenizer}


def read(texts: Detokenizer, ids: list[int], *, special: bool) -> list[str]:
    reader = texts.reader(special=special)
    return [*(reader.feed(token) for token in ids), reader.flush()]


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("name", ["words", "bytes"])
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_pieces_joined_are_the_text(name, special, data):
    """Of any tokens at all, also of bytes that are no character."""
    tokenizer = TOKENIZERS[name]()
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=30))
    texts = Detokenizer(tokenizer)
    whole = texts.decode(ids, special=special)
    assert "".join(read(texts, ids, special=special)) == whole
    assert "".join(read(texts, ids, special=special)) == whole, "also when pairs are known"


@settings(deadline=None, max_examples=150)
@example(said="  ")
@example(said="ä\n")
@given(said=st.text("abcdefgh  ä日🍎\n", max_size=30))
def test_so_are_those_of_a_tokenizer_that_falls_back_to_bytes(said):
    """Of texts: where bytes are no character its decoder also takes back the valid ones before."""
    tokenizer = piece_tokenizer()
    ids = tokenizer(said, add_special_tokens=False)["input_ids"]
    texts = Detokenizer(tokenizer)
    assert "".join(read(texts, ids, special=False)) == texts.decode(ids)


@pytest.mark.parametrize("name", ["bytes", "pieces"])
def test_a_character_of_several_tokens_comes_with_its_last_one(name):
    tokenizer = TOKENIZERS[name]()
    ids = tokenizer("日", add_special_tokens=False)["input_ids"]
    assert len(ids) >= 3
    *before, last, rest = read(Detokenizer(tokenizer), ids, special=False)
    assert (set(before) - {" ", ""}, last.strip(), rest) == (set(), "日", "")


def test_a_text_read_token_by_token_is_itself():
    tokenizer = byte_tokenizer()
    ids = tokenizer(TEXT, add_special_tokens=False)["input_ids"]
    assert "".join(read(Detokenizer(tokenizer), ids, special=False)) == TEXT


def test_half_a_character_at_the_end_is_told_when_all_is_over():
    tokenizer = byte_tokenizer()
    ids = tokenizer("a日", add_special_tokens=False)["input_ids"][:-1]
    pieces = read(Detokenizer(tokenizer), ids, special=False)
    assert pieces[:-1] == ["a", *[""] * (len(ids) - 1)]
    assert pieces[-1] == tokenizer.decode(ids)[1:] != ""


def test_special_tokens_are_said_only_if_they_are_wanted():
    texts = Detokenizer(word_tokenizer())
    ids = [8, 2, 9]  # w0 <eos> w1
    assert read(texts, ids, special=False)[1] == ""
    assert "<eos>" in read(texts, ids, special=True)[1]
