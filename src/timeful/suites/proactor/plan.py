"""The episodes of a run.

A run has up to three parts, and an episode belongs to one of them:

| part | episodes | purpose |
| --- | --- | --- |
| `main` | all agents at the first timing | Table 1 |
| `curve` | the offline agent at further thresholds, once | the consistency-timing trade-off |
| `time` | all agents at the other timings and paces | the loss from slowness |
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from textwrap import wrap
from typing import Any

from timeful.agents.proactive.retrieval import TEMPERATURE
from timeful.agents.proactive.settings import ToolCatalog
from timeful.core.units import in_seconds
from timeful.domains.dialogue_set import DialogueSource, digest, has_split, load_dialogue_set
from timeful.environments.dialogue.timing import ByTurn, Stamped
from timeful.errors import SettingsError, check_known
from timeful.experiments.options import Endpoint
from timeful.models.model_spec import ModelSpec
from timeful.models.role import ModelRole, read_role
from timeful.seeding import child
from timeful.suites.proactor.agents import (
    agent_file,
    digest_agents,
    find_catalog,
    find_endpoints,
)
from timeful.suites.proactor.episode import RULES, Part, ProactorEpisode, asks_endpoint
from timeful.suites.proactor.judging import find_judges

PARTS: dict[Part, str] = {
    "main": "for Table 1",
    "time": "at other paces (--timing)",
    "curve": "for the trade-off (--no-curve)",
}

CURVE = tuple(tenth / 10 for tenth in range(1, 10))
"""The thresholds of the trade-off."""


def plan(swept: Sequence[ProactorEpisode], chosen: Collection[str]) -> Iterator[ProactorEpisode]:
    """Put the episodes of a sweep into parts, one for each dialogue.

    Raises:
        SettingsError: If two agents have one name, or an agent, model or dialogue set cannot be
            used.
    """
    first = swept[0]
    agents = list(dict.fromkeys(episode.agent for episode in swept))
    titles = [PurePath(agent).stem for agent in agents]
    if len(set(titles)) < len(titles):
        raise SettingsError(f"two agents have one name: {', '.join(titles)}")
    own = _find_own(first, agents, "base_url" in chosen)
    voice = _find_voice(first, has_own=len(own) == len(agents), has_base_url="base_url" in chosen)
    voices = {agent: own.get(agent) or _with_temperature(voice, agent) for agent in agents}
    offline = [agent for agent in agents if voices[agent].is_stand_in]
    is_modelled = len(offline) < len(agents)
    timings = list(dict.fromkeys(episode.timing for episode in swept))
    if "timing" not in chosen and is_modelled:
        timings = timings[:1]
    has_temperature = bool(offline) and first.temperature is not None
    source = find_source(first, agents)
    common: dict[str, Any] = {
        "source": source,
        "digests": digest_agents(agents),
        "voices": tuple((a, v.spec, v.settings().get("endpoint") or "") for a, v in voices.items()),
        "stand_in_temperature": first.temperature if has_temperature else TEMPERATURE,
        # A language model's answers cost money; a rule's can be made again.
        "transcripts": first.transcripts or ("full" if is_modelled else "answers"),
    }
    places = range(len(load_dialogue_set(source).dialogues))
    for episode in swept:
        # By turn nothing is lost at any pace.
        has_one_pace = episode.timing == "by-turn" or episode.pace is not None
        is_other_pace = episode.token_ms != first.token_ms
        is_offline = episode.agent in offline
        if (
            episode.timing not in timings
            or (has_one_pace and is_other_pace)
            or (not is_offline and episode.threshold != first.threshold)
        ):
            continue
        is_main = episode.timing == timings[0] and not is_other_pace
        changes = {
            **common,
            "part": "main" if is_main else "time",
            "voice": voices[episode.agent],
            "is_own": episode.agent in own,
            "threshold": episode.threshold if is_offline else None,
        }
        for place in places:
            yield replace(episode, place=place, **changes)
    if first.curve and offline:
        thresholds = {episode.threshold for episode in swept}
        curve = replace(first, **common, part="curve", agent=offline[0], voice=RULES)
        for threshold in CURVE:
            for place in () if threshold in thresholds else places:
                yield replace(curve, threshold=threshold, place=place)


def _find_own(
    episode: ProactorEpisode, agents: Sequence[str], has_base_url: bool
) -> Mapping[str, ModelRole]:
    """The agents whose own files name their model."""
    name = episode.model.partition("openai:")[2]
    if episode.model and not (name and not episode.base_url):
        return {}
    is_for_files = has_base_url and not asks_endpoint(episode.judge)
    return find_endpoints(
        agents,
        model=name,
        base_url=episode.base_url if is_for_files else None,
        temperature=episode.temperature,
        record=episode.record,
        counting=episode.counting,
    )


def _find_voice(episode: ProactorEpisode, *, has_own: bool, has_base_url: bool) -> ModelRole:
    model = "rules" if has_own else episode.model or "rules"
    # An address of the environment is for OpenAI's kinds alone.
    endpoint = Endpoint(
        base_url=episode.base_url if has_base_url else None, openai_url=episode.base_url
    )
    return read_role(
        model,
        stand_in="rules",
        base_url=endpoint.url_for(model),
        temperature=episode.temperature,
        record=episode.record,
        counting=episode.counting,
    )


def _with_temperature(role: ModelRole, agent: str) -> ModelRole:
    """The role; by default a model samples at the temperature of the agent's file."""
    choice = role.choice
    if choice is None or not choice.is_sampled or choice.temperature is not None:
        return role
    temperature = agent_file(agent).llm.temperature
    return replace(role, choice=replace(choice, temperature=temperature))


def find_source(episode: ProactorEpisode, agents: Sequence[str]) -> DialogueSource:
    """The dialogue set of a run; its domain may be that of the agents' files.

    By default the split is test; of a file without that split, all dialogues.

    Raises:
        SettingsError: If options do not fit.
    """
    usual = DialogueSource()
    is_given = episode.domain or episode.abcd or episode.catalog
    tools = ToolCatalog() if is_given else find_catalog(agents)
    catalog = tools.catalog or episode.catalog
    if episode.ontology and not catalog:
        raise SettingsError("--ontology has no effect here; it requires --catalog")
    files = [Path(path) for path in (episode.data, catalog, episode.ontology) if path]
    is_sized = episode.data or episode.dialogues is not None
    source = DialogueSource(
        domain=episode.domain or tools.domain or usual.domain,
        data=episode.data or None,
        abcd=episode.abcd or None,
        catalog=catalog or None,
        ontology=episode.ontology or None,
        split="" if episode.split == "all" else episode.split or usual.split,
        size=episode.dialogues if is_sized else usual.size,
        seed=episode.seed,
        digest="-".join(map(digest, files)),
    )
    if not episode.split and episode.data and not has_split(source):
        return replace(source, split="")
    return source


def check(episodes: Sequence[ProactorEpisode]) -> None:
    """Find what would make episodes fail, before anything runs.

    Raises:
        SettingsError: If an agent, model, judge or dialogue cannot be used, or the dialogues lack
            the timestamps that they are played at.
        RecordError: If a cassette cannot be read.
    """
    first = episodes[0]
    dialogue_set = load_dialogue_set(first.source)
    if first.judge:
        find_judges(first.judge, first.base_url)
    if isinstance(first.pages, str) and first.pages != "all":
        names = [dialogue.id for dialogue in dialogue_set.dialogues]
        check_known("dialogue", first.pages, names)
    for episode in {(e.agent, e.voice): e for e in episodes}.values():
        if episode.questions and agent_file(episode.agent).question_prompts is None:
            raise SettingsError(f"the agent {episode.title} has no prompts for questions")
        episode.voice.check(pace=episode.token_pace)
        if episode.voice.is_stand_in and not dialogue_set.knowledge.ontology.workflows:
            raise SettingsError(
                "the offline agent follows workflows, and there are none; give --ontology, or a "
                "language model"
            )
    for episode in {(e.timing, e.place): e for e in episodes}.values():
        timing = episode.make_timing(episode.timing)
        if isinstance(timing, Stamped):
            timing.timetable(dialogue_set.dialogues[episode.place])


def judge_models(episodes: Sequence[ProactorEpisode]) -> list[ModelSpec]:
    """The models of the judges."""
    first = episodes[0]
    if not first.judge:
        return []
    return [judger.choose() for judger in find_judges(first.judge, first.base_url).judgers]


def announce(episodes: Sequence[ProactorEpisode], workers: int) -> list[str]:
    """The number of episodes and its reasons, and the time that a wall clock takes."""
    main = [episode for episode in episodes if episode.part == "main"]
    counts = Counter(episode.part for episode in episodes)
    parts = ", ".join(f"{count:,} {PARTS[part]}" for part, count in counts.items())
    dialogues = len({episode.place for episode in main})
    lines = [f"{len(episodes):,} episodes of {dialogues} dialogues: {parts}"]
    minutes = sum(map(_wall_seconds, episodes)) / 60 if main[0].clock == "wall" else 0.0
    if minutes:
        lines.append(
            f"by the wall clock the conversations take {minutes:,.0f} minutes in all, "
            f"{minutes / workers:,.0f} or more with {workers} workers"
        )
    source = main[0].source
    if source.data is not None and not source.split and main[0].split != "all":
        lines.append(f"{PurePath(source.data).name} has no split called test: all of it counts")
    return [part for line in lines for part in wrap(line, 80, break_on_hyphens=False)]


def _wall_seconds(episode: ProactorEpisode) -> float:
    """About how long a conversation takes; one that waits takes no time of its own."""
    timing = episode.make_timing(episode.timing)
    dialogue = load_dialogue_set(episode.source).dialogues[episode.place]
    if isinstance(timing, ByTurn):
        return 0.0
    if isinstance(timing, Stamped):
        return in_seconds(timing.timetable(dialogue).end)
    rng = child(episode.seed, "outlook", dialogue.id)
    return in_seconds(timing.timetable(dialogue, rng).end)
