"""The second look at answers that the rules find wrong: a judge, three times (appendix B).

An answer counts as right if the judge says so every time. Each answer is judged like an episode is
played, in a folder of its own: so what was judged is kept through a kill, some are judged at
once, and a judge that gives no verdict is a failure that is listed, and not a verdict.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from timeful.errors import RecordError
from timeful.models.chat import OpenAIModel
from timeful.models.model import Message
from timeful.models.structured_output import StructuredQuestion, ask_structured
from timeful.records.events import EpisodeEnded, EpisodeFailed, EpisodeStarted, Event, Noted
from timeful.records.recorder import Recorder
from timeful.runs.batch import open_run, run_batch
from timeful.runs.experiment import Experiment
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
_VOTE = "vote"


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """An answer to be judged; `trace` names where it was given."""

    trace: str
    question: str
    right: str
    given: str
    seed: int

    @property
    def key(self) -> str:
        """A name that goes with these words, so that no verdict outlives another answer."""
        words = "\x1f".join((self.question, self.right, self.given))
        return f"{self.trace}-{sha256(words.encode()).hexdigest()[:8]}"

    def settings(self) -> dict[str, Any]:
        """What stands in its record: the words stand in that of its trace."""
        return {"judged": self.trace}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said of an answer, vote by vote."""

    trace: str
    status: Literal["ok", "failed"]
    error: str | None
    votes: tuple[bool, ...]

    @property
    def is_right(self) -> bool:
        """Whether it said yes each time."""
        return self.status == "ok" and all(self.votes)


def judge_all(
    answers: Sequence[Given],
    judge: Judge,
    folder: Path,
    *,
    api_key: str,
    workers: int,
    retry_failed: bool = False,
    on_verdict: Callable[[Verdict], None] = lambda _: None,
) -> dict[str, Verdict]:
    """Have answers judged that were not judged yet.

    Args:
        answers: The answers.
        judge: Who judges.
        folder: Where the verdicts are kept; begun afresh if another judge was asked there.
        api_key: The judge's key; it is written nowhere.
        workers: How many processes ask.
        retry_failed: Ask again where there was no verdict.
        on_verdict: Told of each.

    Returns:
        The verdicts by the keys of their traces.
    """
    about = judge.about() | {"votes": judge.votes, "system": SYSTEM, "version": __version__}
    open_run(folder, msgspec.json.format(msgspec.json.encode(about)), replace=True)
    experiment: Experiment[Given, Verdict] = Experiment(
        name="judged",
        play=partial(_judge, judge=judge, api_key=api_key),
        summarize=_summarize,
        row=Verdict,
        check=lambda _: None,
        write_report=lambda rows, out, settings: out,
    )
    verdicts = run_batch(
        answers,
        experiment.job,
        folder,
        workers=workers,
        retry_failed=retry_failed,
        on_row=on_verdict,
    )
    return {verdict.trace: verdict for verdict in verdicts}


def _judge(answer: Given, recorder: Recorder, *, judge: Judge, api_key: str) -> None:
    """Ask, vote by vote; the first that fails ends it, and the first no as well."""
    recorder.write(EpisodeStarted(at=0, version=__version__, settings=answer.settings()))
    model = _connected(msgspec.json.encode(judge), api_key)
    words = _TASK.format(question=answer.question, right=answer.right, given=answer.given)
    for number in range(judge.votes):
        asked = ask_structured(
            model,
            (Message("system", SYSTEM), Message("user", words)),
            _read,
            StructuredQuestion(
                label="judge",
                max_tokens=judge.max_tokens,
                tries=judge.tries,
                seed=child_seed(answer.seed, "judge", answer.key, number),
            ),
        )
        if asked.value is None:
            recorder.write(EpisodeFailed(at=0, boundary="model", error=asked.error))
            return
        recorder.write(Noted(at=0, topic=_VOTE, text="yes" if asked.value else "no"))
        if not asked.value:
            break
    recorder.write(EpisodeEnded(at=0, reason="judged", turns=0, score=0.0))


@lru_cache(maxsize=2)
def _connected(judge: bytes, api_key: str) -> OpenAIModel:
    """The judge of this process, ready."""
    found = msgspec.json.decode(judge, type=Judge)
    model = found.connect(api_key, retries=found.tries - 1)
    model.warm_up()
    return model


def _read(text: str) -> bool:
    """The verdict; of several, the last, since some quote the question first."""
    found = _VERDICT.findall(text)
    if not found:
        raise ValueError("it must end with <answer>yes</answer> or <answer>no</answer>")
    return bool(found[-1].lower() == "yes")


def _summarize(events: Iterable[Event]) -> Verdict:
    settings: Mapping[str, Any] = {}
    votes: list[bool] = []
    error: str | None = None
    for event in events:
        match event:
            case EpisodeStarted():
                settings = event.settings
            case Noted(topic=topic) if topic == _VOTE:
                votes.append(event.text == "yes")
            case EpisodeFailed():
                error = f"{event.boundary}: {event.error}"
    if "judged" not in settings:
        raise RecordError("the record is none of a judge")
    return Verdict(
        trace=settings["judged"],
        status="ok" if error is None else "failed",
        error=error,
        votes=tuple(votes),
    )
