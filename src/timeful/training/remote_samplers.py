"""Who samples rollouts in place of this process: a server by token ids, or vLLM beside the trainer.

Text is never sent: a prompt goes out as its ids, and what was drawn comes back as ids with their
log-probabilities, by the names that vLLM has for them (`return_token_ids`). `timeful serve` has the
same ones. A server ends an answer at the model's own last token, and tells that token; where a text
ends it, the ids are those of all of it. The log-probabilities must be those of the tempered
distribution; vLLM gives them with `--logprobs-mode processed_logprobs`.
"""

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal

from timeful.errors import ModelError
from timeful.models.local.checkpoint import Checkpoint
from timeful.models.local.request import Completion, Request
from timeful.models.local.sampler import Sampler
from timeful.models.redaction import clean_key, find_secrets, redact
from timeful.training.folder import POLICY

_AT_ONCE = 64
"""Requests that are on their way at a time; the server has a queue of its own."""


class ServerSampler(Sampler):
    """Samples by an OpenAI-compatible server of the same tokenizer.

    Args:
        checkpoint: The model that learns: its tokenizer, its context and what ends its answers.
        base_url: Where the server's API begins.
        served: What it calls the model.
        api_key: Its key; most want none.

    Attributes:
        refresh: Called when there are new weights, with the number of their version; returns what
            the server calls the model from then on. None if it keeps the weights that it has.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        base_url: str,
        served: str,
        api_key: str = "",
    ) -> None:
        super().__init__(checkpoint)
        from openai import OpenAI  # noqa: PLC0415 - an extra, and slow to load

        key = clean_key(api_key) or "none"
        self._client = OpenAI(base_url=base_url, api_key=key, max_retries=4)
        self._secrets = find_secrets(base_url, key)
        self._served = served
        self.refresh: Callable[[int], str] | None = None
        self._held = 0

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Have requests answered, many at once.

        Raises:
            ModelError: If the server fails, or answers without token ids.
        """
        if self.refresh is not None and self.policy != self._held:
            self._served = self.refresh(self.policy)
            self._held = self.policy
        with ThreadPoolExecutor(min(_AT_ONCE, len(requests))) as pool:
            return list(pool.map(self._ask, requests))

    def close(self) -> None:
        """Hang up."""
        self._client.close()

    def load_adapter(self, name: str, folder: Path) -> None:
        """Have the server load an adapter, as vLLM does with VLLM_ALLOW_RUNTIME_LORA_UPDATING.

        Raises:
            ModelError: If it does not, and has none of this name either.
        """
        from openai import APIError, BadRequestError  # noqa: PLC0415 - as above

        body = {"lora_name": name, "lora_path": str(folder)}
        try:
            self._client.post("/load_lora_adapter", body=body, cast_to=str)
        except BadRequestError as error:
            if "already been loaded" not in str(error):
                raise self._failed(f"the server refuses the adapter {folder}", error) from None
        except APIError as error:
            raise self._failed(f"the server did not load the adapter {folder}", error) from None

    def drop_adapter(self, name: str) -> None:
        """Have the server forget an adapter; one that it does not know is none."""
        from openai import APIError  # noqa: PLC0415 - as above

        with suppress(APIError):
            self._client.post("/unload_lora_adapter", body={"lora_name": name}, cast_to=str)

    def _ask(self, request: Request) -> Completion:
        from openai import APIError  # noqa: PLC0415 - as above

        sampling = request.sampling
        try:
            answer = self._client.completions.create(
                model=self._served,
                prompt=list(request.prompt_ids),
                max_tokens=sampling.max_tokens,
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                seed=sampling.seed % 2**63,
                stop=list(sampling.stop) or None,
                logprobs=1,
                extra_body={
                    "top_k": sampling.top_k or -1,
                    "return_token_ids": True,
                },
            )
        except APIError as error:
            raise self._failed("the rollout server failed", error) from None
        return read(answer.to_dict(), self._held if self.refresh else 0)

    def _failed(self, problem: str, error: Exception) -> ModelError:
        """An error in the words of the server, which may quote the key; so may its cause."""
        return ModelError(f"{problem}: {redact(str(error), self._secrets)}")


class Pusher:
    """Gives a server the adapter of each version, through a folder that both see.

    An adapter is called by its version and its weights: a server keeps what it has by a name, and
    may have one of another training, or of this one before it was killed.

    Args:
        policy: What learns; a model of PEFT.
        server: Who samples.
        folder: Where adapters lie, for this process alone; the last one is kept.
    """

    def __init__(self, policy: Any, server: ServerSampler, folder: Path) -> None:
        self._policy = policy
        self._server = server
        self._folder = folder.absolute()
        self._last: tuple[str, Path] | None = None

    def __call__(self, version: int) -> str:
        """Have it load this version, and forget the one before.

        Returns:
            What the server calls it.

        Raises:
            ModelError: If it does not load it.
        """
        folder = self._folder / str(version)
        self._policy.save_pretrained(folder)
        with (folder / "adapter_model.safetensors").open("rb") as file:
            name = f"{POLICY}-{version}-{file_digest(file, 'sha256').hexdigest()[:8]}"
        self._server.load_adapter(name, folder)
        if self._last is not None:
            self._server.drop_adapter(self._last[0])
            shutil.rmtree(self._last[1], ignore_errors=True)
        self._last = name, folder
        return name


def read(answer: dict[str, Any], policy: int) -> Completion:
    """What a server answered.

    Raises:
        ModelError: If it lacks the ids or the log-probabilities of what was drawn.
    """
    choice = answer["choices"][0]
    ids = choice.get("token_ids")
    logprobs = (choice.get("logprobs") or {}).get("token_logprobs")
    if not ids or logprobs is None or len(logprobs) != len(ids):
        raise ModelError(
            "the rollout server gave no token_ids with their token_logprobs; it has to know "
            "return_token_ids, as vLLM and `timeful serve` do"
        )
    finish: Literal["stop", "length"] = "length" if choice["finish_reason"] == "length" else "stop"
    return Completion(ids=tuple(ids), logprobs=tuple(logprobs), finish=finish, policy=policy)


class VllmSampler(Sampler):
    """Samples by the vLLM that TRL runs beside its trainer. Not verified on a GPU.

    TRL gives it the weights of an update before it asks for rollouts. All requests share TRL's
    limit of tokens; one with less room is cut here, and then its last token is no end. They share
    its chance as well: the seed of a request means nothing to it.

    Args:
        checkpoint: The model that learns.
        engine: TRL's `vllm_generation`.
    """

    def __init__(self, checkpoint: Checkpoint, *, engine: Any) -> None:
        super().__init__(checkpoint)
        self._engine = engine

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests, all at once."""
        prompts = [list(request.prompt_ids) for request in requests]
        _, completions, logprobs, _ = self._engine.generate(
            prompts=prompts, images=None, num_generations=1
        )
        return [
            self._complete(request, ids, [best[0] for best in token_logprobs])
            for request, ids, token_logprobs in zip(requests, completions, logprobs, strict=True)
        ]

    def _complete(self, request: Request, ids: list[int], logprobs: list[float]) -> Completion:
        room = request.sampling.max_tokens
        ends = len(ids) <= room and (
            ids[-1] in request.sampling.stop_ids or self._says_stop(request, ids)
        )
        return Completion(
            ids=tuple(ids[:room]),
            logprobs=tuple(logprobs[:room]),
            finish="stop" if ends else "length",
            policy=self.policy,
        )

    def _says_stop(self, request: Request, ids: list[int]) -> bool:
        text = self.checkpoint.tokenizer.decode(ids)
        return any(stop in text for stop in request.sampling.stop)
