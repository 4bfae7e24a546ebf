"""The provider `timeful/NAME`: stand-ins of the suites, so that a task runs without a network."""

from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput
from inspect_ai.tool import ToolChoice, ToolInfo

from timeful.errors import SettingsError


class StandIn(ModelAPI):
    """A stand-in by the name that `timeful run --model` takes, such as `timeful/search`.

    Stand-ins see the state of the world and no text, so they play the tasks of timeful alone.
    """

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - the names are those of Inspect
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Refuse: there is no text to answer.

        Raises:
            SettingsError: Always.
        """
        raise SettingsError(
            f"timeful/{self.model_name} plays tasks of timeful alone, such as timeful/freeway"
        )
