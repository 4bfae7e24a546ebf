"""RULER: a language model scores the candidates of one group together (ProActor, G.4, H.3).

What is asked has the structure of Figures 23 and 24, in our own words: a rubric, what all
candidates begin with, once, then the rest of each under an id. General RULER has the rubric alone;
Custom RULER adds rules, such as the two on proactiveness of Figure 22.

Scores are found by their ids, never by their place. A score that is missing, stands twice, is out
of range or for nobody is told to the judge, who is asked again; in the end the whole group is
dropped, and counted, since half a group has no advantages. Candidates that are the same are
judged once. They are shown in an order drawn from the seed, so that no place is favoured.
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
    """Candidates for one and the same thing.

    Args:
        name: What it is called in logs; its order is drawn from it, too.
        trajectories: What each candidate is, from its first message on; at least one each.

    Raises:
        ValueError: If there is no candidate, or one without a message.
    """

    name: str
    trajectories: tuple[Trajectory, ...]

    def __post_init__(self) -> None:
        if not self.trajectories or not all(self.trajectories):
            raise ValueError(f"the group {self.name!r} needs candidates, and each a message")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rubric:
    """How groups are put to a judge.

    Args:
        custom: Rules beside those of `GENERAL`; none for General RULER.
        max_tokens: The most tokens of an answer; None for no limit.
        tries: How often an answer is asked for at most, at least 1.
        seed: Of the order in which candidates are shown, and of all requests.

    Raises:
        SettingsError: If there is an empty rule, or nobody is to be asked.
    """

    custom: tuple[str, ...] = ()
    max_tokens: int | None = 4096
    tries: int = 4
    seed: int = 0

    def __post_init__(self) -> None:
        if not all(rule.strip() for rule in self.custom):
            raise SettingsError("a rule of a rubric must say something; one is empty")
        if self.tries < 1:
            raise SettingsError(f"a judge must be asked at least once, got {self.tries} tries")

    @property
    def system(self) -> str:
        """What a judge is told; what is custom stands before the rule on part of the way."""
        return system(self.custom)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """What became of a group.

    Attributes:
        name: The group's.
        scores: Of each candidate in the group's order, in [0, 1]; None if it was dropped.
        explanations: Why, in the judge's words; empty if it was dropped.
        error: Why it was dropped.
        failure: By what it failed.
        tries: How often it was asked for; 0 if the log had it.
        n_judged: How many candidates were different.
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
    """What became of groups: each is scored or dropped."""

    n_groups: int
    n_scored: int
    n_dropped_answer: int
    n_dropped_endpoint: int
    n_logged: int
    n_asked: int

    @classmethod
    def of(cls, scored: Iterable[Scored]) -> "Count":
        """Count groups, and how often a judge was asked for them."""
        every = list(scored)
        failures = Counter(one.failure for one in every)
        return cls(
            n_groups=len(every),
            n_scored=failures[None],
            n_dropped_answer=failures["answer"],
            n_dropped_endpoint=failures["endpoint"],
            n_logged=sum(not one.tries for one in every),
            n_asked=sum(one.tries for one in every),
        )


def ruler(
    model: Model,
    groups: Sequence[Group],
    rubric: Rubric | None = None,
    *,
    workers: int = 4,
    log: RulerLog | None = None,
) -> list[Scored]:
    """Have groups scored, some side by side.

    Args:
        model: The judge.
        groups: The groups; the scores of one depend on no other.
        rubric: How they are put to it; General RULER by default.
        workers: How many groups are asked for at a time, at least 1.
        log: Where everything asked and answered is written; what was scored before, by the same
            judge, is read from it instead.

    Returns:
        What became of each group, in their order.

    Raises:
        SettingsError: If there are no workers.
        KeyboardInterrupt: After everything was stopped.
    """
    rubric = rubric or Rubric()
    return ask_concurrently(
        model, lambda judge, group: _score(judge, group, rubric, log), groups, workers=workers
    )


def rule_judge(rule: Callable[[Trajectory], float], *, name: str = "rule") -> ScriptedModel:
    """A judge offline, for tests and dry runs: a rule, which is no language model and says so.

    It is asked and answers as any judge, in words. Its name begins with "rule:".

    Args:
        rule: From what a candidate did after the common beginning to its score.
        name: What the rule is called.
    """

    def answer(prompt: Prompt) -> str:
        why = f"by the rule {name}"
        scores = [
            {"trajectory_id": number, "explanation": why, "score": rule(attempt)}
            for number, attempt in read_attempts(prompt.messages[1].content)
        ]
        return json.dumps({"scores": scores})

    return ScriptedModel(answer, name=f"rule:{name}")


# --- one group -------------------------------------------------------------------------------


def _score(model: Model, group: Group, rubric: Rubric, log: RulerLog | None) -> Scored:
    # Sorted first, so that the question is the same in whichever order a group came.
    different = sorted({words(one): one for one in group.trajectories}.items())
    rng = child(rubric.seed, "ruler", "order", group.name)
    shown = [different[place][1] for place in rng.permutation(len(different))]
    messages = (Message("system", rubric.system), Message("user", question(shown)))
    seed = child_seed(rubric.seed, "ruler", group.name)
    key = None if log is None else log.key(model.name, messages, rubric.max_tokens, seed)
    found = None if log is None or key is None else log.scored(key)
    if found is not None:
        return _scored(group, shown, found, tries=0)
    asked = ask_structured(
        model,
        messages,
        partial(read_verdicts, count=len(shown)),
        StructuredQuestion(
            label="judge", max_tokens=rubric.max_tokens, tries=rubric.tries, seed=seed
        ),
    )
    if log is not None and key is not None:
        log.add(key, group.name, model.name, messages, asked)
    if asked.value is not None:
        return _scored(group, shown, asked.value, tries=asked.tries)
    return Scored(
        name=group.name,
        scores=None,
        error=asked.error,
        failure=asked.failure,
        tries=asked.tries,
        n_judged=len(shown),
    )


def _scored(
    group: Group, shown: Sequence[Trajectory], verdicts: Sequence[Verdict], *, tries: int
) -> Scored:
    of = dict(zip(map(words, shown), verdicts, strict=True))
    given = [of[words(one)] for one in group.trajectories]
    return Scored(
        name=group.name,
        scores=tuple(one.score for one in given),
        explanations=tuple(one.explanation for one in given),
        tries=tries,
        n_judged=len(shown),
    )
