"""A judge's model at which somebody presses Ctrl-C."""

from threading import Event

from timeful.models.chat import OpenAIModel
from timeful.models.model import Prompt
from timeful.models.stream_buffer import StreamBuffer


class Interrupted(OpenAIModel):
    """Ctrl-C at "case 0"; whatever else is asked begins after all streams have been ended once."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # A model's settings are frozen; these two are none.
        object.__setattr__(self, "raised", Event())
        object.__setattr__(self, "late", Event())

    def open(self, prompt: Prompt, *, max_tokens: int | None, seed: int) -> StreamBuffer:
        if "case 0" in prompt.messages[1].content:
            self.raised.set()
            raise KeyboardInterrupt
        assert self.raised.wait(60)
        assert self.late.wait(60)
        return super().open(prompt, max_tokens=max_tokens, seed=seed)

    def close(self) -> None:
        super().close()
        self.late.set()
