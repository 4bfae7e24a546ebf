"""Prompts of the assistant: write a section of the main task, and decide about an email."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from timeful.agents.action_parser import Outcome
from timeful.agents.prompts.sections import join_sections
from timeful.agents.xml_actions import Forms, ParsedTag, parse_tag
from timeful.core.units import in_seconds
from timeful.environments.inbox.actions import is_count, is_span
from timeful.environments.inbox.settings import URGENCIES, InboxSettings
from timeful.environments.inbox.task import MainTask, Part
from timeful.environments.inbox.view import InboxView, Letter
from timeful.models.model import Message, Prompt

FORMS: Forms = {
    "handle": {"id": True},
    "remind": {"id": True, "after": False},
    "ignore": {"id": True},
    "return": {},
}
"""The elements that an answer about an email may contain."""

_WRITER = """\
You write workplace documents. Answer with the text of the part that is asked for and nothing
else: no greeting, no remarks about the task, no markup beyond plain paragraphs and lists."""

_TRIAGE = """\
You are the assistant of a busy office worker. You are writing a long document for them, and their
inbox is in your care. One clock runs for everything: writing, reading, deciding and handling all
take time, and emails arrive meanwhile."""

_ANSWER = """\
Decide about the one email that you are shown. Answer with exactly one action:

<handle id="N"/>              do now what email N asks for
<remind id="N"/>              put it off until the document is finished
<remind id="N" after="S"/>    put it off, and be reminded S units of time later
<ignore id="N"/>              do nothing about it
<return/>                     leave the rest of the inbox and go on writing

An answer that is none of these costs its time and does nothing: the email stays as it is, and may
be shown to you again at a later look."""

_ACTIONS = """\
Actions, with the number N of an email and K of a part:

- `check`: look into the inbox
- `open N`: read email N
- `handle N`: do what email N asks for; it implies `check` and `open N`
- `remind N S`: put email N off for S units of time
- `ignore N`: leave email N alone
- `return`: go back to the document
- `deliver K`: part K of the document is written
- `end`: end the episode"""

_USUAL = InboxSettings()

_MOST_WRITTEN, _MOST_DECIDED = 16_384, 8_192
"""The most tokens of a section and of a decision, reasoning included."""

PricedBy = Literal["decision", "tokens"]
"""A decision takes a constant time, as in Table 17, or the time of its tokens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """The number of a section, from 1, and the texts of the sections before it."""

    task: MainTask
    number: int
    before: tuple[str, ...]

    @property
    def part(self) -> Part:
        """The part."""
        return self.task.parts[self.number - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A decision about an open email.

    `refused` is the reason why the last answer about it was invalid; empty without one.
    """

    view: InboxView
    number: int
    refused: str = ""

    @property
    def letter(self) -> Letter:
        """The email."""
        return self.view.letter(self.number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Briefing:
    """The constants of all decisions.

    `hints` shows the recommended actions of an email, as in the paper (appendix D); `priced_by`
    selects the time of a decision.
    """

    world: InboxSettings = field(default=_USUAL)
    hints: bool = True
    priced_by: PricedBy = "decision"


def write_prompt(task: MainTask, number: int, before: Sequence[str]) -> Prompt:
    """Ask for a section of the main task.

    Args:
        task: The main task.
        number: The number of the section, from 1.
        before: The texts of the sections before it.
    """
    writing = Writing(task=task, number=number, before=tuple(before))
    return Prompt(
        label="main",
        render=lambda: _writing(writing),
        view=writing,
        most_tokens=_MOST_WRITTEN,
    )


def _writing(writing: Writing) -> list[Message]:
    task, section = writing.task, writing.part
    several = len(task.parts) > 1
    headings = "\n".join(
        f"{position}. {heading_part.heading}"
        for position, heading_part in enumerate(task.parts, start=1)
    )
    text = join_sections(
        f"The document: {task.title}.",
        f"Its parts:\n{headings}" if several else "",
        "Written so far:\n\n" + "\n\n".join(writing.before) if writing.before else "",
        f"Write part {writing.number}, {section.heading!r}." if several else "Write all of it.",
        f"Its length should be about {section.tokens} tokens.",
    )
    return [Message("system", _WRITER), Message("user", text)]


def triage_prompt(question: Question, briefing: Briefing) -> Prompt:
    """Ask for a decision about an email, which must be open."""
    return Prompt(
        label="triage",
        render=lambda: [
            Message("system", join_sections(_TRIAGE, _what_counts(briefing), _ANSWER)),
            Message("user", _format_question(question, hints=briefing.hints)),
        ],
        view=question,
        most_tokens=_MOST_DECIDED,
    )


def explain_work(task: MainTask, briefing: Briefing) -> str:
    """What an agent that is a program is told: the document, what counts, and the actions."""
    sections = "\n".join(
        f"{number}. {section.heading}, about {section.tokens} tokens"
        for number, section in enumerate(task.parts, start=1)
    )
    return join_sections(
        _TRIAGE,
        f"The document: {task.title}. Its parts:\n{sections}",
        "Write each part, then deliver it. The world trusts you that it is written.",
        _what_counts(replace(briefing, priced_by="tokens")),
        _ACTIONS,
    )


def _what_counts(briefing: Briefing) -> str:
    world, scoring = briefing.world, briefing.world.scoring
    weights = ", ".join(
        f"{weight:g} for {urgency}"
        for urgency, weight in zip(URGENCIES, scoring.urgency_weights, strict=True)
    )
    late = f"{scoring.late_reward:g} for one that is handled later, " if scoring.late_reward else ""
    pace = (
        f"a decision {in_seconds(world.triage):g}, however long the answer"
        if briefing.priced_by == "decision"
        else f"each token of a decision {in_seconds(world.token):g}"
    )
    return f"""\
What counts:

- {scoring.progress_reward:g} for each of the document's {scoring.target} units of progress, and
  {scoring.completion_bonus:g} more for all of them.
- {scoring.on_time_reward:g} for each email that is handled by its deadline; {late}minus
  {scoring.timeout_penalty:g} for each that reaches its deadline unhandled.
- minus {scoring.switch_penalty:g} for each change between document and inbox, and minus
  {scoring.interruption_penalty:g} more if it interrupts writing.
- A second score balances the document with the emails handled on time, which weigh in it by their
  urgency: {weights}.

What it takes, in units of time: each token of the document {in_seconds(world.token):g}, {pace};
to look into the inbox {in_seconds(world.check):g}, to open an email {in_seconds(world.open):g}, \
to handle it {in_seconds(world.handle):g}, a reminder {in_seconds(world.remind):g},
to go back to the document {in_seconds(world.back):g}."""


def _format_question(question: Question, *, hints: bool) -> str:
    view, letter = question.view, question.letter
    units = len(view.units) - view.written
    done = f"{view.written} of {len(view.units)} parts are written"
    advice = ", ".join(f"{action} {share:.0%}" for action, share in letter.recommended)
    emails = [email for email in view.waiting() if email.number != letter.number]
    return join_sections(
        f"Time now: {in_seconds(view.at):.1f} of {in_seconds(view.horizon):g}.",
        f"Document: {done}; " + ("you are in the middle of it." if units else "it is finished."),
        f"Email {letter.number}, {letter.urgency} urgency\n"
        f"From: {letter.sender}\nSubject: {letter.subject}\n"
        f"Arrived: {in_seconds(letter.arrived):.1f}\n"
        f"Deadline: {in_seconds(letter.deadline):.1f}, that is in "
        f"{in_seconds(view.left(letter)):.1f}\n\n{letter.body}",
        f"What is usually recommended for such an email: {advice}." if advice and hints else "",
        "Other open emails:\n" + "\n".join(_line(view, email) for email in emails)
        if emails
        else "",
        f"Your last answer about this email could not be used: {question.refused}"
        if question.refused
        else "",
        f'Your one action about email {letter.number}, such as <handle id="{letter.number}"/>:',
    )


def _line(view: InboxView, letter: Letter) -> str:
    aside = {"remind": ", put off", "ignore": ", ignored"}.get(letter.set_aside, "")
    return f"- {letter.number}: {letter.urgency}, due in {in_seconds(view.left(letter)):.1f}{aside}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision as an action of the world; an empty action with the reason if invalid."""

    action: str
    detail: str


def read_decision(text: str, number: int) -> Decision:
    """Read a decision about an email.

    Args:
        text: The answer of the model.
        number: The number of the email.
    """
    tag = parse_tag(text, FORMS)
    problem = _problem(tag, number)
    if problem:
        return Decision(action="", detail=problem)
    if tag.name == "return":
        return Decision(action="return", detail=tag.detail)
    words = [tag.name, tag.values["id"], *([tag.values.get("after", "")])]
    return Decision(action=" ".join(word for word in words if word), detail=tag.detail)


def _problem(tag: ParsedTag, number: int) -> str:
    """The problem of an answer; empty if it is valid."""
    if tag.outcome is not Outcome.OK:
        return f"{tag.outcome}: {tag.detail}"
    if tag.name == "return":
        return ""
    number_text, after = tag.values["id"], tag.values.get("after")
    if not is_count(number_text):
        return f"{Outcome.ILLEGAL}: {number_text!r} is no email"
    if int(number_text) != number:
        return f"{Outcome.ILLEGAL}: asked about email {number}, and answered about {number_text}"
    if after is not None and not is_span(after):
        return f"{Outcome.ILLEGAL}: after is a number of seconds above 0, got {after!r}"
    return ""
