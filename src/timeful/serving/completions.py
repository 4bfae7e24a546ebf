"""Text completions: prompts of text or tokens, without a chat template."""

from collections.abc import Sequence

from timeful.serving.answers import Step
from timeful.serving.engine import Engine
from timeful.serving.handler import Choice, CompletionHandler, Json
from timeful.serving.prompts import write_text
from timeful.serving.requests import CompletionBody
from timeful.serving.sampling_params import plan_requests
from timeful.serving.tokens import Tokens

DEFAULT_MAX_TOKENS = 16
"""As the API has it."""


class TextCompletion(CompletionHandler):
    """A request for text completions.

    Args:
        engine: Draws the tokens.
        tokens: Writes tokens as text and bytes.
        body: The client's request.

    Raises:
        RequestError: If it cannot be answered.
    """

    prefix = "cmpl"
    kind = chunk_kind = "text_completion"

    def __init__(self, engine: Engine, tokens: Tokens, body: CompletionBody) -> None:
        self._body = body
        special = body.add_special_tokens is not False
        prompts = [
            write_text(engine.checkpoint, prompt, special=special) for prompt in body.prompts
        ]
        limit = DEFAULT_MAX_TOKENS if body.max_tokens is None else body.max_tokens
        requests = plan_requests(engine, body, prompts, max_tokens=limit, top=body.logprobs or 0)
        super().__init__(engine, tokens, body, prompts=prompts, requests=requests)

    def _whole_choice(self, index: int, choice: Choice) -> Json:
        fields = self._choice(index, choice, choice.steps)
        if self._body.return_token_ids:
            fields["prompt_token_ids"] = self._prompts[index // (self._body.n or 1)]
        return fields

    def _opening(self, index: int) -> Json | None:
        if not (self._body.return_token_ids or not self._requests):
            return None
        choice = Choice(finish=None if self._requests else "length")
        return {"choices": [self._whole_choice(index, choice)]}

    def _delta(self, step: Step, choice: Choice) -> Json | None:
        tells_tokens = self._body.logprobs is not None or self._body.return_token_ids
        if not (step.text or step.finish or tells_tokens):
            return None
        added = Choice()
        added.add(step)
        return {"choices": [self._choice(step.index, added, [step], start=len(choice.text))]}

    def _choice(self, index: int, choice: Choice, steps: Sequence[Step], *, start: int = 0) -> Json:
        fields = {
            "index": index,
            "text": choice.text,
            "logprobs": None
            if self._body.logprobs is None
            else self._tokens.columns(steps, start=start),
            "finish_reason": choice.finish,
        }
        if self._body.return_token_ids:
            fields["token_ids"] = choice.token_ids
        return fields
