"""The proactive agent: at each turn it predicts opportunities and questions.

Each turn starts one thought for opportunities and, if questions are enabled, a concurrent one for
questions. One prediction contains both results. A policy decides about a thought that is still
active at the next turn:

* `finish`: complete the thought, predict late, and continue with the latest turn;
* `drop`: cancel the thought, and start again with the new turn.

Skipped turns get no prediction. Notes report the problems of an answer under the topics of
`parse.py`, and timing under `dropped-thought`, `skipped-turns` and `cut-thought`. A status change
without an edge in the action state graph is noted as `rejected-status` and not predicted.
(ProActor, section 4.2 and appendix E.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from timeful.agents.proactive.parse import ParsedAnswer, read_actions, read_questions
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
class PromptView:
    """The content of a prompt as values, for rules in the place of a language model.

    Attributes:
        asks: The requested kind of answer.
        reasons: Whether the answer has tags for reasoning and for the result.
        turns: The conversation so far.
        states: The action states; empty if they are not tracked.
    """

    asks: Asks
    reasons: bool
    turns: tuple[Turn, ...]
    states: tuple[Opportunity, ...] = ()


@dataclass(slots=True)
class _Mind:
    """The state of the agent between turns."""

    session: Session
    file: AgentFile
    catalog: Catalog
    catalog_text: str
    tracks: bool
    states: tuple[Opportunity, ...] = ()
    taken_in: int = 0

    def look(self) -> tuple[Turn, ...]:
        """Return the conversation so far, and add its new observed actions to the states."""
        turns = dialogue_view(self.session).turns
        for turn in turns:
            if turn.number > self.taken_in and turn.observed:
                done = [observed(action, self.catalog) for action in turn.observed]
                self.states, _ = update(self.states, done, triggered=True)
        self.taken_in = max(self.taken_in, latest(turns))
        return turns

    def prompt(self, asks: Asks, prompts: Prompts, turns: tuple[Turn, ...]) -> Prompt:
        """The prompt about the latest turn."""
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
            view=PromptView(asks=asks, reasons=self.file.reasons, turns=turns, states=states),
        )

    def read(self, asks: Asks, answer: str) -> ParsedAnswer:
        """Parse an answer, and note its problems."""
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
        """Add predictions to the states, and return those that the graph accepts."""
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
    """Observe a conversation until it ends.

    Args:
        session: The session, in the world of a dialogue.
        model: The model of the thoughts.
        file: The prompts and the form of the answers.
        catalog: The available actions.
        asks: Whether to predict questions too, if the file has prompts for them.
        policy: The treatment of an active thought at the next turn.
        thought_limit: The maximum duration of a thought; its text until then is parsed.
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
    """Wait for the thoughts; return False if the policy or the end of the session stops them."""
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
    """Parse the thoughts, and submit them as the prediction for a turn."""
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
    """The view of a session, checked to be of a dialogue."""
    view = session.view
    assert isinstance(view, DialogueView), "a proactive agent needs a dialogue"
    return view


def latest(turns: Sequence[Turn]) -> int:
    """The number of the latest turn; 0 without turns."""
    return turns[-1].number if turns else 0
