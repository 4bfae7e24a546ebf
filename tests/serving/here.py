"""Servers in this process, and models that are known to say a certain thing."""

import asyncio
import socket
import threading
from functools import lru_cache
from itertools import pairwise

import openai
import pytest

from tests.models.local.tiny import CHAT, checkpoint, tokenizers, torch, transformers

pytest.importorskip("uvicorn", reason="serving needs timeful[serve]")

from timeful.models.local.checkpoint import Checkpoint, hold
from timeful.serving.app import App
from timeful.serving.server import Server

CHAINS = (
    'weather Let me see <tool_call> {"name": "forecast", "arguments": {"city": "Ulm"}} '
    "</tool_call> <eos>",
    'twice <tool_call>{"name":"a"}</tool_call> and <tool_call>{"name":"b"}</tool_call> <eos>',
    "broken Hm <tool_call>oops</tool_call> <eos>",
    "count one two three four five six seven eight nine ten <eos>",
    "round round",
)
"""What the parrot says after the first word of each."""


class Here:
    """A server over a checkpoint, in a thread of this process; a context manager."""

    def __init__(self, of: Checkpoint, *, api_key: str = "") -> None:
        self.app = App(of, created=1, api_key=api_key)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self.base_url = f"{self.address}/v1"
        self.name = of.name
        self._server = Server(self.app)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server.serve(sockets=[self._socket]))
        )

    def __enter__(self) -> "Here":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._thread.join()

    def stop(self) -> None:
        """As Ctrl-C would; returns at once."""
        self._server.should_exit = True

    def client(self, **how) -> openai.OpenAI:
        return openai.OpenAI(**self._settings(how))

    def async_client(self, **how) -> openai.AsyncOpenAI:
        return openai.AsyncOpenAI(**self._settings(how))

    def _settings(self, how):
        return {"base_url": self.base_url, "api_key": "none", "max_retries": 0, **how}


@lru_cache(maxsize=2)
def parrot(*, context: int = 512) -> Checkpoint:
    """A model that says a word after each word, whatever stood before: no layer does anything."""
    words = ["<pad>", "<bos>", "<eos>", "?"]
    words = list(dict.fromkeys([*words, *" ".join(CHAINS).split()]))
    place = {word: i for i, word in enumerate(words)}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(place, unk_token="<pad>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    speaks = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<bos>",
        eos_token="<eos>",
        pad_token="<pad>",
        chat_template=CHAT,
    )
    config = transformers.GPT2Config(
        vocab_size=len(words),
        n_positions=context,
        n_embd=64,
        n_layer=1,
        n_head=1,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=0,
        tie_word_embeddings=False,
    )
    made = transformers.GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if "ln_" not in name:
                weight.zero_()
        made.transformer.wte.weight.copy_(torch.eye(64)[: len(words)])
        for chain in CHAINS:
            said = chain.split()
            for before, after in pairwise(said):
                made.lm_head.weight[place[after], place[before]] = 30
    return hold(made, speaks, name="parrot")


__all__ = ["Here", "checkpoint", "parrot"]
