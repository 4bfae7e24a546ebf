"""A judge's second look at answers that the rules find wrong (Timely Machine, appendix B).

An answer counts as right if the judge says so at each of several votes. Verdicts are kept in a
folder of their own, so that none is asked for twice.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from timeful.models.cancellation import ask_concurrently
from timeful.models.demand import Demand
from timeful.models.model import Message, Model
from timeful.models.request import MOST_TOKENS, estimate_prompt
from timeful.models.structured_output import StructuredQuestion, ask_structured
from timeful.records.folder import SETTINGS, FolderKind, differences, open_folder
from timeful.records.store import KeyedLog, read_log
from timeful.records.usage import Usage, sum_usage
from timeful.seeding import child_seed
from timeful.training.data.settings import Judge
from timeful.version import __version__

SYSTEM = """\
You compare an answer to a problem with the answer that is known to be right. They agree if they
mean the same, however they are written: another notation, unit name or order changes nothing,
another value does. Do not solve the problem, and do not ask how the answer was come to.

End with <answer>yes</answer> if they agree, or <answer>no</answer>.
"""

_TASK = """\
THE PROBLEM
{question}

THE RIGHT ANSWER
{right}

THE ANSWER THAT WAS GIVEN
{given}
"""
_VERDICT = re.compile(r"<answer>\s*(yes|no)\s*</answer>", re.IGNORECASE)

_VOTE_TOKENS = 100
"""The length of a vote with its reason that an estimate assumes."""

_VERDICTS = "verdicts.jsonl"
_FOLDER = FolderKind(noun="judgement", contents=(_VERDICTS,))


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer to be judged; `trace` names the episode that gave it."""

    trace: str
    question: str
    right: str
    text: str
    seed: int

    @property
    def key(self) -> str:
        """The trace and a digest of the words, so that another answer is judged anew."""
        words = "\x1f".join((self.question, self.right, self.text))
        return f"{self.trace}-{sha256(words.encode()).hexdigest()[:8]}"


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The votes of a judge on an answer; with an `error`, the judge failed.

    `usage` are the tokens of its requests; None if no server counts them.
    """

    key: str
    trace: str
    error: str | None
    votes: tuple[bool, ...]
    usage: Usage | None = None

    @property
    def is_right(self) -> bool:
        """Whether each vote was yes."""
        return self.error is None and all(self.votes)


def judge_all(
    answers: Sequence[Answer],
    judge: Judge,
    folder: Path,
    *,
    api_key: str,
    workers: int,
    retry_failed: bool = False,
    on_verdict: Callable[[Verdict], None] = lambda _: None,
) -> dict[str, Verdict]:
    """Ask a judge about the answers that have no verdict yet.

    Args:
        answers: The answers.
        judge: The judge.
        folder: The folder of the verdicts; those of another judge are deleted.
        api_key: The judge's key; it is not stored.
        workers: The number of answers judged at a time.
        retry_failed: Ask again about answers at which the judge failed.
        on_verdict: Called with each verdict, stored ones first.

    Returns:
        The verdicts by trace.
    """
    with open_folder(folder, _identify(judge), _FOLDER, replace=True):
        log = KeyedLog(folder / _VERDICTS, Verdict, key=lambda verdict: verdict.key, sync=True)
        done_keys = {
            answer.key
            for answer in answers
            if answer.key in log and not (retry_failed and log[answer.key].error)
        }
        for key in done_keys:
            on_verdict(log[key])

        def save(verdict: Verdict) -> None:
            log.put(verdict)
            on_verdict(verdict)

        if missing := [answer for answer in answers if answer.key not in done_keys]:
            ask_concurrently(
                judge.connect(api_key, retries=judge.tries - 1),
                lambda model, answer: _judge(model, answer, judge),
                missing,
                workers=workers,
                done=save,
            )
        return {answer.trace: log[answer.key] for answer in answers}


def find_unjudged(
    answers: Sequence[Answer], judge: Judge, folder: Path, *, retry_failed: bool = False
) -> list[Answer]:
    """The answers that `judge_all` asks the judge about; nothing is written."""
    path = folder / SETTINGS
    if not path.exists() or differences(path, _identify(judge)):
        return list(answers)
    done = {
        verdict.key: verdict.error is None or not retry_failed
        for verdict in read_log(folder / _VERDICTS, Verdict)
    }
    return [answer for answer in answers if not done.get(answer.key)]


def estimate_votes(answers: Iterable[Answer], judge: Judge) -> Demand:
    """What a judge is asked about answers if each vote is yes."""
    demand, most = Demand(), judge.max_tokens or MOST_TOKENS
    for answer in answers:
        prompt, length = estimate_prompt(_make_messages(answer)), min(most, _VOTE_TOKENS)
        vote = Demand(requests=1, prompt=prompt, completion=length, most=most)
        demand.add(vote.scale(judge.votes))
    return demand


def _identify(judge: Judge) -> dict[str, Any]:
    return judge.about() | {"votes": judge.votes, "system": SYSTEM, "version": __version__}


def _make_messages(answer: Answer) -> tuple[Message, ...]:
    words = _TASK.format(question=answer.question, right=answer.right, given=answer.text)
    return Message("system", SYSTEM), Message("user", words)


def _judge(model: Model, answer: Answer, judge: Judge) -> Verdict:
    messages = _make_messages(answer)
    votes: list[bool] = []
    usages: list[Usage] = []
    error = None
    while len(votes) < judge.votes and all(votes) and error is None:
        reply = ask_structured(
            model,
            messages,
            _read_vote,
            StructuredQuestion(
                label="judge",
                max_tokens=judge.max_tokens,
                tries=judge.tries,
                seed=child_seed(answer.seed, "judge", answer.key, len(votes)),
            ),
        )
        if reply.usage is not None:
            usages.append(reply.usage)
        if reply.value is None:
            error = f"model: {reply.error}"
        else:
            votes.append(reply.value)
    return Verdict(
        key=answer.key,
        trace=answer.trace,
        error=error,
        votes=tuple(votes),
        usage=sum_usage(usages),
    )


def _read_vote(text: str) -> bool:
    """Read the last vote of a text; some judges quote the question first."""
    votes = _VERDICT.findall(text)
    if not votes:
        raise ValueError("it must end with <answer>yes</answer> or <answer>no</answer>")
    return bool(votes[-1].lower() == "yes")
