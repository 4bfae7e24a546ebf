"""Settings of a judge of proactiveness in YAML, with the fields of ProActor's Figure 16.

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

There is no field for a key: `api_key_name` names its environment variable.
"""

from pathlib import Path
from typing import Annotated

import msgspec

from timeful.catalogs.reading import read_as
from timeful.errors import SettingsError
from timeful.metrics.proactor.judge_score import RATINGS
from timeful.models.endpoint import Endpoint
from timeful.models.live_answer import LiveModel
from timeful.models.templates import check_template, names_in

NAMES = ("dialogue_context", "proactive_action_predictions")
"""The fields of a task: the conversation so far, and the predictions as JSON."""

RATING_TOKENS = 80
"""About the tokens of a rating with its reasoning."""

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
    """The number of further requests after an invalid answer."""

    max_retries: Annotated[int, msgspec.Meta(ge=0)] = 3
    retry_on_failure: bool = True


class Judger(Endpoint, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The model of a judge and its endpoint.

    Attributes:
        name: The name of the judge in results.
        settings: The number of retries.
    """

    name: str = "proactiveness_evaluator"
    settings: Retries = Retries()

    def __post_init__(self) -> None:
        self.check_complete()

    @property
    def tries(self) -> int:
        """The maximum number of requests for an answer."""
        return 1 + self.settings.max_retries if self.settings.retry_on_failure else 1

    def endpoint(self, api_key: str) -> LiveModel:
        """The model, under the judge's name.

        Args:
            api_key: The key, which is not in the settings.

        Raises:
            SettingsError: If the endpoint is invalid.
        """
        return self.connect(api_key, retries=self.tries - 1, label=self.name)


class JudgeFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One judge or several, and their prompts."""

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
                raise ValueError(f"task_prompt must contain {{{name}}}")
        if len({judger.name for judger in self.judgers}) < max(1, len(self.judgers)):
            raise ValueError("judgers: at least one is required, with unique names")


def read_judges(path: Path) -> JudgeFile:
    """Read a file of judges.

    Raises:
        SettingsError: If the file cannot be read or a field is wrong; names the field.
    """
    return read_as(path, JudgeFile)
