"""The clients of providers, as pydantic-ai wraps them; keys and addresses are only those given."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from pydantic_ai.models import Model, create_async_httpx2_client

from timeful.models.bounded_bodies import bound_bodies
from timeful.models.gemini_counts import COUNTS
from timeful.models.request import Request
from timeful.models.sse import LONGEST_EVENT

if TYPE_CHECKING:
    from timeful.models.provider import Api

_MINUTE_S = 60.0


def make_model(api: "Api", request: Request, cleanup: AsyncExitStack) -> Model:
    """Make a model of pydantic-ai; its connections are closed by `cleanup`."""
    make = {"anthropic": _anthropic, "google": _google, "responses": _responses}[api]
    return make(request, cleanup)


def _anthropic(request: Request, cleanup: AsyncExitStack) -> Model:
    from anthropic import (  # noqa: PLC0415 - of an extra of its own
        AsyncAnthropic,
        DefaultAsyncHttpxClient,
        Timeout,
    )
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

    connect_s = request.timeouts.connect_s
    # Reads have no limit here: silence is measured in tokens (see `answer_stream`).
    timeout = Timeout(None, connect=connect_s, write=connect_s)
    http = DefaultAsyncHttpxClient(timeout=timeout)
    bound_bodies(http, longest_event=LONGEST_EVENT)
    client = AsyncAnthropic(
        api_key=request.api_key,
        base_url=request.base_url,
        max_retries=0,
        timeout=timeout,
        http_client=http,
    )
    cleanup.push_async_callback(client.close)
    return AnthropicModel(request.model, provider=AnthropicProvider(anthropic_client=client))


def _google(request: Request, cleanup: AsyncExitStack) -> Model:
    from httpx2 import Timeout  # noqa: PLC0415 - comes with pydantic-ai
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    times = request.timeouts
    # This client takes a limit for reads only: longer than any that is kept in `answer_stream`.
    longest_s = max(times.first_token_s, times.idle_s) + _MINUTE_S
    http = create_async_httpx2_client(timeout=Timeout(longest_s, connect=times.connect_s))
    bound_bodies(http, longest_event=LONGEST_EVENT, choose=lambda: COUNTS.get().take)
    cleanup.push_async_callback(http.aclose)
    provider = GoogleProvider(api_key=request.api_key, base_url=request.base_url, http_client=http)
    return GoogleModel(request.model, provider=provider)


def _responses(request: Request, cleanup: AsyncExitStack) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415 - of an extra
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    from timeful.models.openai_stream import make_client  # noqa: PLC0415

    client = make_client(request, longest_event=LONGEST_EVENT)
    cleanup.push_async_callback(client.close)
    return OpenAIResponsesModel(request.model, provider=OpenAIProvider(openai_client=client))
