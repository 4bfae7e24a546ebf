"""The proactive agent: at each turn it thinks what could be done and asked, and says so.

One thought a turn for opportunities and, where questions are raised, one beside it for these; both
begin when the turn is seen, and one intervention says what came of both. The next turn does not
wait for that. When it comes while the agent still thinks, the agent goes on by a policy:

* `finish`: think it to the end, say it though it is late, and go on with the latest turn then;
* `drop`: drop the thought, and begin anew with the turn that came.

Turns that were passed over are lost. What went wrong with an answer is noted under the topics of
`reading.py`, and what went on with time under `dropped-thought`, `skipped-turns` and
`cut-thought`; a change of status that the action state graph does not have is `rejected-status`,
and not said. (ProActor, section 4.2 and appendix E.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from timeful.agents.proactive.parse import Read, read_actions, read_questions
from timeful.agents.proactive.settings import CONTEXT, STATES, TOOLS, AgentFile, Prompts
from timeful.agents.proactive.states import observed, states_text, update
from timeful.agents.session import Session
from timeful.agents.thought import Thought
from timeful.catalogs.catalog import Catalog
from timeful.core.units import Duration
from timeful.dialogues.dialogue import Turn
from timeful.dialogues.opportunity import Opportunity
from timeful.dialogues.prediction import Prediction
from timeful.dialogues.transcript import transcript
from timeful.environments.dialogue.view import DialogueView
from timeful.models.model import Message, Model, Prompt
from timeful.models.templates import fill

Policy = Literal["finish", "drop"]
Asks = Literal["actions", "questions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What a prompt shows, for stand-ins that do not read prose.

    Attributes:
        asks: What is asked for.
        reasons: Whether to think between tags before answering between others.
        turns: The conversation so far.
        states: The action states; none where they are not tracked.
    """

    asks: Asks
    reasons: bool
    turns: tuple[Turn, ...]
    states: tuple[Opportunity, ...] = ()


@dataclass(slots=True)
class _Mind:
    """What the agent keeps from turn to turn."""

    session: Session
    file: AgentFile
    catalog: Catalog
    catalog_text: str
    tracks: bool
    states: tuple[Opportunity, ...] = ()
    taken_in: int = 0

    def look(self) -> tuple[Turn, ...]:
        """The conversation so far; what was done in it is taken into the states, once."""
        turns = dialogue_view(self.session).turns
        for turn in turns:
            if turn.number > self.taken_in and turn.observed:
                done = [observed(action, self.catalog) for action in turn.observed]
                self.states, _ = update(self.states, done, triggered=True)
        self.taken_in = max(self.taken_in, latest(turns))
        return turns

    def prompt(self, asks: Asks, prompts: Prompts, turns: tuple[Turn, ...]) -> Prompt:
        """What is asked about the latest of some turns."""
        states = self.states if self.tracks else ()
        tools = self.catalog_text

        def render() -> Sequence[Message]:
            values = {
                TOOLS: tools,
                CONTEXT: transcript(turns),
                STATES: states_text(states),
            }
            return [
                Message("system", fill(prompts.system_prompt, values)),
                Message("user", fill(prompts.task_prompt, values)),
            ]

        return Prompt(
            label="react" if asks == "actions" else "main",
            render=render,
            view=Shown(asks=asks, reasons=self.file.reasons, turns=turns, states=states),
        )

    def read(self, asks: Asks, answer: str) -> Read:
        """What an answer says, with a note of what is wrong with it."""
        section = ("action" if asks == "actions" else "question") if self.file.reasons else ""
        result = (
            read_actions(answer, section=section, names=self.catalog.actions)
            if asks == "actions"
            else read_questions(answer, section=section)
        )
        for topic, text in result.problems:
            self.session.note(topic, text)
        return result

    def filter_rejected(self, predicted: tuple[Opportunity, ...]) -> tuple[Opportunity, ...]:
        """Take predictions into the states; those that the graph rejects are not said."""
        if not self.tracks:
            return predicted
        self.states, rejected = update(
            self.states, predicted, triggered=False, transitions=self.file.transitions
        )
        for opportunity in rejected:
            self.session.note("rejected-status", str(opportunity))
        refused = {opportunity.name for opportunity in rejected}
        return tuple(opportunity for opportunity in predicted if opportunity.name not in refused)


async def proactive(
    session: Session,
    *,
    model: Model,
    file: AgentFile,
    catalog: Catalog,
    asks: bool = False,
    policy: Policy = "finish",
    thought_limit: Duration | None = None,
) -> None:
    """Listen to a conversation until it is over.

    Args:
        session: The session, in the world of a dialogue.
        model: Who thinks.
        file: What it is told, and how it answers.
        catalog: The actions that there are.
        asks: Whether it raises questions as well, if the file says how.
        policy: What becomes of a thought when the next turn comes.
        thought_limit: The longest span of a thought; what was said by then is read.
    """
    mind = _Mind(session, file, catalog, catalog.text(), file.tracks)
    requests: list[tuple[Asks, Prompts]] = [("actions", file.action_prompts)]
    if asks and file.question_prompts is not None:
        requests.append(("questions", file.question_prompts))
    done = 0
    while not session.over:
        turns = mind.look()
        if latest(turns) <= done:
            await session.wait_for_tick()
            continue
        skipped = [turn.number for turn in turns if done < turn.number][:-1]
        if skipped:
            session.note("skipped-turns", ", ".join(map(str, skipped)))
        done = latest(turns)
        thoughts = [
            session.think(
                model,
                mind.prompt(kind, prompts, turns),
                limit=thought_limit,
                max_tokens=file.llm.max_tokens,
            )
            for kind, prompts in requests
        ]
        if await _finish(session, thoughts, done, policy):
            _predict(mind, done, [kind for kind, _ in requests], thoughts)


async def _finish(
    session: Session, thoughts: Sequence[Thought], number: int, policy: Policy
) -> bool:
    """Think to the end, or until the policy or the end of the conversation cuts it short."""
    for thought in thoughts:
        while not await session.run_until_event(thought):
            if session.over:
                return False
            if policy == "drop" and latest(dialogue_view(session).turns) > number:
                for thought_left in thoughts:
                    thought_left.cancel("the next turn has come")
                session.note("dropped-thought", f"of turn {number}")
                return False
    return not session.over


def _predict(mind: _Mind, number: int, kinds: Sequence[Asks], thoughts: Sequence[Thought]) -> None:
    """Read what was thought, and say it as the prediction for a turn."""
    opportunities: tuple[Opportunity, ...] = ()
    questions: tuple[str, ...] = ()
    for kind, thought in zip(kinds, thoughts, strict=True):
        if not thought.complete:
            mind.session.note("cut-thought", f"{kind}, after {thought.tokens} tokens")
        read = mind.read(kind, thought.answer)
        opportunities += read.opportunities
        questions += read.questions
    prediction = Prediction(
        turn=number, opportunities=mind.filter_rejected(opportunities), questions=questions
    )
    refusal = mind.session.act(prediction).refusal
    if refusal is not None:
        mind.session.note("refused-prediction", refusal)


def dialogue_view(session: Session) -> DialogueView:
    """What can be seen, in this world's terms."""
    view = session.view
    assert isinstance(view, DialogueView), "a proactive agent listens to a conversation"
    return view


def latest(turns: Sequence[Turn]) -> int:
    """The number of the latest of some turns; 0 if there are none."""
    return turns[-1].number if turns else 0
