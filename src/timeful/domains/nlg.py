"""Types of the files `speech` and `domain`: paraphrases, rates of deviations, speed.

A paraphrase may contain `{value}`, `{label}`, `{old}`, `{labels}`, `{values}` or, in an opening,
the name of a slot, whose value it provides.
"""

import msgspec

Words = tuple[str, ...]
"""Paraphrases of one turn."""


class Habits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Probabilities of deviations from the workflow.

    Attributes:
        volunteer: The customer provides a value before a question.
        together: The agent asks for all missing values at once.
        optional: An optional value is provided as well.
        why: The customer asks for the reason of a question.
        late: Weights of 0, 1, 2, ... exchanges between "could act" and "acts".
        ahead: In such an exchange the agent asks for values of later actions.
        corrects: The customer corrects a value before its use.
        repeats: The customer corrects a value after its use, and the action is repeated.
        detour: An unrelated exchange follows an action.
        second: There is a second topic.
        early: The second topic comes up in the middle of the first.
        drops: The customer drops a topic in the middle of it.
        stray: The agent takes an action that no workflow requires.
        announces: The agent announces an action.
        reports: The agent reports an action.
        lower: A customer writes in lower case.
    """

    volunteer: float = 0.35
    together: float = 0.6
    optional: float = 0.25
    why: float = 0.06
    late: tuple[float, ...] = (6, 3, 1)
    ahead: float = 0.4
    corrects: float = 0.06
    repeats: float = 0.06
    detour: float = 0.1
    second: float = 0.25
    early: float = 0.35
    drops: float = 0.03
    stray: float = 0.04
    announces: float = 0.35
    reports: float = 0.5
    lower: float = 0.3

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if name != "late" and not 0 <= value <= 1:
                raise ValueError(f"{name} must be from 0 to 1, got {value}")
        if not self.late or min(self.late) < 0 or not sum(self.late):
            raise ValueError("late must be weights from 0, with a positive sum")


class Pace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Speed of speaking, reading and acting.

    Attributes:
        speaking_wpm: Words per minute, spoken or typed.
        reading_wpm: Words per minute, read before an answer begins; 0 for speech.
        pause_s: The pause before a turn, in seconds.
        action_s: The duration of an action, in seconds.
    """

    speaking_wpm: float = 40
    reading_wpm: float = 240
    pause_s: float = 1.0
    action_s: float = 4.0

    def __post_init__(self) -> None:
        if not self.speaking_wpm > 0 or min(self.reading_wpm, self.pause_s, self.action_s) < 0:
            raise ValueError("speaking_wpm must be above 0, the other fields at least 0")


class Slot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A value that a customer provides; the parameter of an action has the same name.

    Attributes:
        label: Its name in a sentence: "your {label}".
        ask: Questions for it; by default those of the domain.
        tell: Answers, with `{value}`.
        values: Possible values; by default the closed list of the parameter.
        made: A pattern instead: `#` is a digit, `%` a digit from 1 to 9, `?` a letter, `{list}` a
            word of a list, the same throughout a conversation.
        lower: Whether a value from a pattern is in lower case.
        lasting: Whether it holds for the whole conversation, like a name, or for one topic.
    """

    label: str
    tell: Words
    ask: Words = ()
    values: Words = ()
    made: str = ""
    lower: bool = False
    lasting: bool = False


class ActionTemplates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Paraphrases of the turns around an action.

    Attributes:
        announce: The agent, before the action.
        done: The system, if actions are observed; may contain `{values}`.
        report: The agent, after the action.
        ask: The agent, for all values at once.
        offer: The agent, to let the customer accept or refuse the action.
        refused: The probability of a refusal.
        once: Whether it is taken at most once in a conversation.
        repeatable: Whether it is repeated after a wrong value.
        stray: Whether an agent may take it without need, without values.
    """

    report: Words
    announce: Words = ()
    done: Words = ()
    ask: Words = ()
    offer: Words = ()
    refused: float = 0.0
    once: bool = False
    repeatable: bool = True
    stray: bool = False


class Exchange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A customer's turn and the agent's answer."""

    customer: str
    agent: str


class SharedTemplates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Paraphrases for all workflows. The agent speaks, except where "customer" is named.

    Attributes:
        greet: First turn.
        hello: Before the first topic; customer.
        ask: Question for one slot, `{label}`.
        ask_many: Question for several slots, `{labels}`.
        thanks: Before a question, for the last answer.
        why: A customer's question for the reason, and the answer.
        wait: Asks the customer to wait.
        fine: Agrees to wait; customer.
        chat: An unrelated exchange.
        correct: The `{label}` is `{value}`, not `{old}`; customer.
        corrected: Confirms a correction.
        again: Announces that an action is repeated.
        also: Before an early second topic; customer.
        park: Postpones the second topic.
        resume: Begins the postponed topic.
        drop: Drops a topic; customer.
        dropped: Confirms that.
        yes: Accepts an offer; customer.
        no: Refuses an offer; customer.
        refused: Confirms a refusal.
        more: Asks for another topic.
        yes_more: Before another topic; customer.
        no_more: No other topic; customer.
        bye: Last turn.
    """

    greet: Words
    hello: Words
    ask: Words
    ask_many: Words
    thanks: Words
    why: tuple[Exchange, ...]
    wait: Words
    fine: Words
    chat: tuple[Exchange, ...]
    correct: Words
    corrected: Words
    again: Words
    also: Words
    park: Words
    resume: Words
    drop: Words
    dropped: Words
    yes: Words
    no: Words
    refused: Words
    more: Words
    yes_more: Words
    no_more: Words
    bye: Words

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            if not getattr(self, name):
                raise ValueError(f"talk.{name} is empty")


class Speech(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file `speech`.

    Attributes:
        lists: Words for patterns of values.
        slots: The values that a customer provides.
        actions: Templates by action.
        openings: A customer's first turn of each workflow; `{slot}` provides a value.
        talk: Templates for all workflows.
    """

    slots: dict[str, Slot]
    actions: dict[str, ActionTemplates]
    openings: dict[str, Words]
    talk: SharedTemplates
    lists: dict[str, Words] = {}
