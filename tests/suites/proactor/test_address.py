"""Which address the model of a run has."""

import pytest

from timeful.suites.proactor.episode import ProactorEpisode
from timeful.suites.proactor.plan import plan


@pytest.mark.parametrize(
    ("model", "chosen", "endpoint"),
    [
        ("openai:m", (), "http://env:1/v1"),
        ("openai:m", ("base_url",), "http://env:1/v1"),
        ("anthropic:m", (), "https://api.anthropic.com"),
        ("anthropic:m", ("base_url",), "http://env:1/v1"),
    ],
)
def test_an_address_of_the_environment_is_for_openai_alone(
    model: str, chosen: tuple[str, ...], endpoint: str
) -> None:
    episode, *_ = plan([ProactorEpisode(model=model, base_url="http://env:1/v1")], chosen)
    assert episode.voice.settings()["endpoint"] == endpoint
