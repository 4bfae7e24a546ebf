"""A judge of proactiveness as one YAML file, with the fields of ProActor's Figure 16.

    judgers:
      - name: proactiveness_evaluator
        model: "openai/gpt-4.1-mini"
        temperature: 0.1
        max_tokens: 4096
        using_short_model_name: true
        api_key_name: OPENAI_API_KEY
        base_url: "https://..."
        settings: {max_retries: 3, retry_on_failure: true}
    system_prompt: ...              # ours by default
    task_prompt: ...

There is no field for a key: `api_key_name` is the environment variable that holds it.
"""

from pathlib import Path
from typing import Annotated

import msgspec

from timeful.catalogs.reading import read_as
from timeful.errors import SettingsError
from timeful.metrics.proactor.judge_score import RATINGS
from timeful.models.chat import OpenAIModel
from timeful.models.endpoint import Endpoint
from timeful.models.templates import check_template, names_in

NAMES = ("dialogue_context", "proactive_action_predictions")
"""What a task may say: the conversation so far, and the predictions as JSON."""

_SCALE = "\n".join(f"{rating:>2}: {meaning}" for rating, meaning in RATINGS.items())

SYSTEM = f"""\
An assistant listens to a conversation and predicts actions that a program should take. You rate
how proactive its predictions at one turn are: whether it foresaw what the customer needs before
anybody asked for it, and got it right.

First ask whether the customer has asked for the action, or said so much that anybody would
take it; then whether the action that is needed is among the predictions; then whether the values
of its parameters are those that were said. Several predictions get one rating, that of the one
that serves the customer best.

SCALE
{_SCALE}

Answer with a JSON object and nothing else:
{{"reasoning": "why, in fifty words at most", "rating": one of {", ".join(map(str, RATINGS))}}}
"""

TASK = """\
THE CONVERSATION SO FAR
{dialogue_context}

THE PREDICTIONS AT ITS LAST TURN
{proactive_action_predictions}

Rate them.
"""


class Retries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often an answer that cannot be used is asked for again."""

    max_retries: Annotated[int, msgspec.Meta(ge=0)] = 3
    retry_on_failure: bool = True


class Judger(Endpoint, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model that judges, and where it is.

    Attributes:
        name: What the judge is called in results.
        settings: What happens on failure.
    """

    name: str = "proactiveness_evaluator"
    settings: Retries = Retries()

    def __post_init__(self) -> None:
        for field in ("model", "base_url"):
            if not getattr(self, field):
                raise ValueError(f"{field}: there is none")

    @property
    def tries(self) -> int:
        """How often an answer is asked for at most."""
        return 1 + self.settings.max_retries if self.settings.retry_on_failure else 1

    def endpoint(self, api_key: str) -> OpenAIModel:
        """The model, under the judge's name.

        Args:
            api_key: The key, which settings never have.

        Raises:
            SettingsError: If it cannot be one.
        """
        return self.connect(api_key, retries=self.tries - 1, label=self.name)


class JudgeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One judge or several, and what they are told."""

    judgers: tuple[Judger, ...]
    system_prompt: str = SYSTEM
    task_prompt: str = TASK

    def __post_init__(self) -> None:
        try:
            check_template("task_prompt", self.task_prompt, NAMES)
        except SettingsError as error:
            raise ValueError(str(error)) from None
        for name in NAMES:
            if name not in names_in(self.task_prompt):
                raise ValueError(f"task_prompt must say {{{name}}}, or it cannot be rated")
        if len({one.name for one in self.judgers}) < max(1, len(self.judgers)):
            raise ValueError("judgers: there must be one, or several of different names")


def read_judges(path: Path) -> JudgeFile:
    """Read a file of judges.

    Raises:
        SettingsError: If it cannot be read, or a field is wrong; the message names it.
    """
    return read_as(path, JudgeFile)
