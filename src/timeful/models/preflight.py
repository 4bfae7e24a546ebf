"""Pre-flight: one probe request a model before a run, so that a refusal costs no episode."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import wrap
from urllib.parse import urlsplit

from timeful.core.clock import monotonic_ns
from timeful.core.source import Chunk
from timeful.errors import ModelError, SettingsError
from timeful.models.counting import MeteredSource
from timeful.models.failures import TOOLS_HINT
from timeful.models.ledger import Expense, read_accounts
from timeful.models.live_answer import LiveModel
from timeful.models.model import Prompt
from timeful.models.model_spec import ModelSpec
from timeful.models.prices import check_priced, describe_prices
from timeful.models.spending import Budget, track_spending
from timeful.models.traffic import TRAFFIC, Limits, under
from timeful.records.usage import Usage
from timeful.tools import ToolSpec

_TOKENS = 16
_TEXT = "Reply with one word: ready"
_TOOL = ToolSpec(name="report", description="Report that you are ready.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """The properties of a model that one request shows.

    Attributes:
        model: The name of the model.
        endpoint: Its address.
        chunks: The number of parts of the answer.
        real_s: The seconds of real time.
        usage: The counts of the server.
        has_reasoning: Whether reasoning is visible.
        has_tools: Whether the server takes tools.
        refused: The fields of a request that the server refuses, and that are left out.
    """

    model: str
    endpoint: str
    chunks: int
    real_s: float
    usage: Usage | None
    has_reasoning: bool
    has_tools: bool
    refused: frozenset[str]

    def lines(self) -> Iterator[str]:
        """The probe in three lines, longer ones broken at 80 columns."""
        streams = "streams" if self.chunks > 1 else "one part"
        tools = "takes tools" if self.has_tools else "refuses tools"
        place = f"{self.model} at {self.endpoint}"
        line = f"model     {place}: {streams}, {tools}, {self.real_s:.1f} s"
        yield "\n".join(wrap(line, 80, subsequent_indent=" " * 10, break_on_hyphens=False))
        hidden = 0 if self.usage is None else self.usage.reasoning or 0
        reasoning = "visible" if self.has_reasoning else "hidden" if hidden else "none"
        counted = "estimated" if self.usage is None else self.usage.counted
        yield f"tokens    {counted}; reasoning: {reasoning}"
        refused = ", ".join(sorted(self.refused))
        yield f"settings  {f'refused and left out: {refused}' if refused else 'all accepted'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preflight:
    """How endpoints are checked before a run.

    Attributes:
        needs_key: Whether an endpoint on another machine needs a key.
    """

    needs_key: bool = True

    def check_keys(self, specs: Iterable[ModelSpec], keys: Mapping[str, str]) -> None:
        """Check that keys are set; arguments are as for `check`. Nothing is loaded or sent.

        Raises:
            SettingsError: If a key is missing.
        """
        for spec in specs:
            name, address = spec.key_name, spec.endpoint or ""
            if self.needs_key and name and not keys.get(name) and not is_loopback(address):
                raise SettingsError(
                    f"{spec.name} at {address} needs a key: set the environment variable "
                    f"{name}, or give --no-key if the endpoint takes none"
                )

    def check(
        self,
        specs: Iterable[ModelSpec],
        keys: Mapping[str, str],
        say: Callable[[str], None],
    ) -> None:
        """Check models, each once, and describe each in three lines.

        Args:
            specs: The models.
            keys: The keys by environment variable.
            say: Shows a line.

        Raises:
            SettingsError: If a key is missing.
            ModelError: If an endpoint refuses the key, the model or the settings, or if there is
                no connection.
        """
        distinct = list(dict.fromkeys(specs))
        self.check_keys(distinct, keys)
        for spec in distinct:
            model = spec.connect(pace=None, api_key=spec.find_key(keys))
            with closing(model):
                result = probe_model(model)
            if isinstance(result, Probe):
                say("\n".join(result.lines()))
            else:
                say(f"model     {model.name}: the probe failed, the run starts anyway: {result}")


def check_endpoints(
    specs: Sequence[ModelSpec],
    keys: Mapping[str, str],
    *,
    preflight: Preflight | None,
    budget: Budget | None,
    say: Callable[[str], None],
    limits: Limits | None = None,
    folders: Sequence[Path] = (),
) -> Sequence[Expense]:
    """Show the prices of models, and check keys and endpoints before anything is written.

    Args:
        specs: The models that will be asked.
        keys: The keys by environment variable.
        preflight: How they are checked; None for prices alone.
        budget: The most that may be spent, checks included.
        say: Shows a line.
        limits: The limits of the traffic.
        folders: The folders whose spending counts towards the budget.

    Returns:
        The expenses of the checks.

    Raises:
        SettingsError: If a key is missing, a price does not fit, or the cost is limited and a
            price is unknown.
        ModelError: As `Preflight.check`.
    """
    if preflight is not None:
        preflight.check_keys(specs, keys)
    budget = budget or Budget()
    prices = "\n".join(describe_prices(specs, budget.prices))
    if budget.cost is not None:
        check_priced(specs, budget.prices)
    if prices:
        say(prices)
    if preflight is None or not specs:
        return ()
    with TemporaryDirectory(prefix="timeful-probes-") as folder:
        path = Path(folder)
        with track_spending(path, budget, others=folders) as spending, under(limits, spending):
            preflight.check(specs, keys, say)
        return read_accounts(path).expenses


def probe_model(model: LiveModel) -> Probe | ModelError:
    """Send one short request, and another one without tools if the server refuses tools.

    Args:
        model: The model.

    Returns:
        What it shows; or an error that other requests may not meet, such as a broken stream.

    Raises:
        ModelError: If the endpoint refuses the key, the model or the settings, or if there is no
            connection.
    """
    tools: tuple[ToolSpec, ...] = (_TOOL,)
    while True:
        probing = TRAFFIC.get().spending.probe()
        try:
            with under(None, probing):
                return _ask(model, tools)
        except ModelError as error:
            if tools and TOOLS_HINT in str(error):
                tools = ()
            elif probing.stopped is not None:
                raise
            else:
                return error


def _ask(model: LiveModel, tools: tuple[ToolSpec, ...]) -> Probe:
    began = monotonic_ns()
    prompt = Prompt(render=lambda: _TEXT, label="probe", tools=tools)
    source = model.open(prompt, max_tokens=_TOKENS, seed=1)
    chunks: list[Chunk] = []
    while isinstance(piece := source.pull(), Chunk):
        chunks.append(piece)
    return Probe(
        model=model.name,
        endpoint=model.endpoint,
        chunks=len(chunks),
        real_s=(monotonic_ns() - began) / 1e9,
        usage=source.usage if isinstance(source, MeteredSource) else None,
        has_reasoning=any(chunk.channel == "reasoning" for chunk in chunks),
        has_tools=bool(tools),
        refused=frozenset(getattr(model, "refused", ())),
    )


def is_loopback(base_url: str) -> bool:
    """Whether an endpoint is on this machine, where servers need no key."""
    host = urlsplit(base_url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
