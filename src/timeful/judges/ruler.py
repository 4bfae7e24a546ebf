"""RULER: a language model scores the candidates of one group together (ProActor, G.4, H.3).

The prompt has the structure of Figures 23 and 24: a rubric, the common beginning of all
candidates, then the rest of each under an id. General RULER has the rubric alone; Custom RULER
adds rules, such as the two on proactiveness of Figure 22.

Scores are assigned by id, not by position. After a missing, duplicate, unknown or invalid score
the judge is asked again; finally the whole group is dropped and counted, since advantages need the
whole group. Equal candidates are judged once. A seed draws their order, to avoid position bias.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from timeful.errors import SettingsError
from timeful.judges.ruler_log import RulerLog
from timeful.judges.ruler_prompts import (
    Trajectory,
    Verdict,
    question,
    read_attempts,
    read_verdicts,
    system,
    words,
)
from timeful.models.cancellation import ask_concurrently
from timeful.models.model import Message, Model, Prompt
from timeful.models.scripted import ScriptedModel
from timeful.models.structured_output import Failure, StructuredQuestion, ask_structured
from timeful.seeding import child, child_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Candidates for the same task.

    Args:
        name: Its name in logs, also used to draw its order.
        trajectories: The messages of each candidate, at least one each.

    Raises:
        ValueError: If there is no candidate, or a candidate without a message.
    """

    name: str
    trajectories: tuple[Trajectory, ...]

    def __post_init__(self) -> None:
        if not self.trajectories or not all(self.trajectories):
            raise ValueError(f"the group {self.name!r} needs candidates, each with a message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """The rules and limits of a judge.

    Args:
        custom: Rules in addition to `GENERAL`; empty for General RULER.
        max_tokens: The maximum tokens of an answer; None for no limit.
        tries: The maximum number of requests for an answer, at least 1.
        seed: The seed of the order of candidates and of all requests.

    Raises:
        SettingsError: If a rule is empty or `tries` is below 1.
    """

    custom: tuple[str, ...] = ()
    max_tokens: int | None = 4096
    tries: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(rule.strip() for rule in self.custom):
            raise SettingsError("a rule of a rubric is empty")
        if self.tries < 1:
            raise SettingsError(f"a judge must be asked at least once, got {self.tries} tries")

    @property
    def system(self) -> str:
        """The system prompt."""
        return system(self.custom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """The result of a group.

    Attributes:
        name: The name of the group.
        scores: The scores in the group's order, in [0, 1]; None if the group was dropped.
        explanations: The judge's explanations; empty if the group was dropped.
        error: The error of a dropped group.
        failure: The kind of the failure.
        tries: The number of requests; 0 for scores from the log.
        n_judged: The number of distinct candidates.
    """

    name: str
    scores: tuple[float, ...] | None
    explanations: tuple[str, ...] = ()
    error: str = ""
    failure: Failure | None = None
    tries: int
    n_judged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The numbers of scored and dropped groups."""

    n_groups: int
    n_scored: int
    n_dropped_answer: int
    n_dropped_endpoint: int
    n_logged: int
    n_asked: int

    @classmethod
    def of(cls, scored: Iterable[Scored]) -> "Count":
        """Count results and requests."""
        groups = list(scored)
        failures = Counter(group.failure for group in groups)
        return cls(
            n_groups=len(groups),
            n_scored=failures[None],
            n_dropped_answer=failures["answer"],
            n_dropped_endpoint=failures["endpoint"],
            n_logged=sum(not group.tries for group in groups),
            n_asked=sum(group.tries for group in groups),
        )


def ruler(
    model: Model,
    groups: Sequence[Group],
    rubric: Rubric | None = None,
    *,
    workers: int = 4,
    log: RulerLog | None = None,
) -> list[Scored]:
    """Score groups concurrently.

    Args:
        model: The judge.
        groups: The groups; their scores are independent.
        rubric: The rules and limits; General RULER by default.
        workers: The number of concurrent requests, at least 1.
        log: A log of requests and answers; earlier scores by the same judge are read from it.

    Returns:
        The result of each group, in their order.

    Raises:
        SettingsError: If `workers` is below 1.
        KeyboardInterrupt: After all requests were stopped.
    """
    rubric = rubric or Rubric()
    return ask_concurrently(
        model, lambda judge, group: _score(judge, group, rubric, log), groups, workers=workers
    )


def rule_judge(rule: Callable[[Trajectory], float], *, name: str = "rule") -> ScriptedModel:
    """An offline judge for tests and dry runs, whose model name begins with "rule:".

    Args:
        rule: Computes the score of a candidate from its messages after the common beginning.
        name: The name of the rule.
    """

    def answer(prompt: Prompt) -> str:
        scores = [
            {"trajectory_id": number, "explanation": f"by the rule {name}", "score": rule(attempt)}
            for number, attempt in read_attempts(prompt.messages[1].content)
        ]
        return json.dumps({"scores": scores})

    return ScriptedModel(answer, name=f"rule:{name}")


# --- one group -------------------------------------------------------------------------------


def _score(model: Model, group: Group, rubric: Rubric, log: RulerLog | None) -> Scored:
    # Sorted first, so that the prompt does not depend on the order of the group.
    distinct = sorted({words(trajectory): trajectory for trajectory in group.trajectories}.items())
    rng = child(rubric.seed, "ruler", "order", group.name)
    candidates = [distinct[index][1] for index in rng.permutation(len(distinct))]
    messages = (Message("system", rubric.system), Message("user", question(candidates)))
    seed = child_seed(rubric.seed, "ruler", group.name)
    key = None if log is None else log.key(model.name, messages, rubric.max_tokens, seed)
    logged = None if log is None or key is None else log.scored(key)
    if logged is not None:
        return _scored(group, candidates, logged, tries=0)
    answer = ask_structured(
        model,
        messages,
        partial(read_verdicts, count=len(candidates)),
        StructuredQuestion(
            label="judge", max_tokens=rubric.max_tokens, tries=rubric.tries, seed=seed
        ),
    )
    if log is not None and key is not None:
        log.add(key, group.name, model.name, messages, answer)
    if answer.value is not None:
        return _scored(group, candidates, answer.value, tries=answer.tries)
    return Scored(
        name=group.name,
        scores=None,
        error=answer.error,
        failure=answer.failure,
        tries=answer.tries,
        n_judged=len(candidates),
    )


def _scored(
    group: Group, candidates: Sequence[Trajectory], verdicts: Sequence[Verdict], *, tries: int
) -> Scored:
    verdict_of = dict(zip(map(words, candidates), verdicts, strict=True))
    ordered = [verdict_of[words(trajectory)] for trajectory in group.trajectories]
    return Scored(
        name=group.name,
        scores=tuple(verdict.score for verdict in ordered),
        explanations=tuple(verdict.explanation for verdict in ordered),
        tries=tries,
        n_judged=len(candidates),
    )
