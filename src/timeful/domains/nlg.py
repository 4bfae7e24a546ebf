"""Words and habits: the types of how people talk in a domain, filled by its files.

A paraphrase may have `{value}`, `{label}`, `{old}`, `{labels}`, `{values}` or, in an opening, the
name of a slot, which is told by it.
"""

import msgspec

Words = tuple[str, ...]
"""Paraphrases of one thing."""


class Habits(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often people do what makes a conversation crooked; chances from 0 to 1.

    Attributes:
        volunteer: The customer tells something before being asked.
        together: The agent asks for all that is missing at once.
        optional: What is optional is told as well.
        why: The customer asks what it is needed for.
        late: The chances of 0, 1, 2, ... exchanges between "could act" and "acts"; any weights.
        ahead: In such an exchange the agent asks for what comes later, instead of passing time.
        corrects: The customer corrects a value before it was used.
        repeats: The customer corrects a value after it was used, and the action is repeated.
        detour: Something else is talked about after an action.
        second: There is a second topic.
        early: It comes up in the middle of the first.
        drops: The customer loses interest in a topic in the middle of it.
        stray: The agent does something that no workflow asks for.
        announces: The agent says what is going to be done.
        reports: The agent says what was done.
        lower: A customer writes all in lower case.
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
            raise ValueError("late must be weights, not all of them 0")


class Pace(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How fast people are.

    Attributes:
        speaking_wpm: Words a minute that are spoken or typed.
        reading_wpm: Words a minute that are read before an answer begins; 0 where they are heard
            while they are spoken.
        pause_s: The pause before a turn, in seconds.
        action_s: How long an action takes, in seconds.
    """

    speaking_wpm: float = 40
    reading_wpm: float = 240
    pause_s: float = 1.0
    action_s: float = 4.0

    def __post_init__(self) -> None:
        if not self.speaking_wpm > 0 or min(self.reading_wpm, self.pause_s, self.action_s) < 0:
            raise ValueError("speaking_wpm must be above 0, all else 0 or above")


class Slot(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that a customer tells; the parameter of an action has the same name.

    Attributes:
        label: What it is called in a sentence: "your {label}".
        ask: Questions for it; the domain's own are used if there are none.
        tell: Answers, with `{value}`.
        values: The values that there are; the closed list of the parameter if there are none.
        made: Or a pattern: `#` is a digit, `%` one from 1 to 9, `?` a letter, `{list}` a word of a
            list, the same in all of a conversation.
        lower: Whether a made value is in lower case.
        lasting: Whether it holds for all of a conversation, as a name does, or for one topic.
    """

    label: str
    tell: Words
    ask: Words = ()
    values: Words = ()
    made: str = ""
    lower: bool = False
    lasting: bool = False


class Deed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words for an action.

    Attributes:
        announce: The agent, before.
        done: The system, when it is done; may have `{values}`. Only where actions are observed.
        report: The agent, when it is done.
        ask: The agent, for all that it needs at once.
        offer: The agent, whether it shall be done; then the customer may refuse.
        refused: How often the customer does, from 0 to 1.
        once: Whether it is done once in a conversation, whatever the topics.
        repeatable: Whether it is repeated when a value was wrong.
        stray: Whether an agent may do it though nobody needs it, without values.
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
    """What the customer says, and the agent's answer."""

    customer: str
    agent: str


class Talk(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is said in any workflow: by the agent, but for those of which it says "customer".

    Attributes:
        greet: The first turn.
        hello: Before the first topic; customer.
        ask: For one slot, `{label}`.
        ask_many: For several, `{labels}`.
        thanks: For what was told.
        why: What it is needed for, asked by the customer, and the answer.
        wait: To pass time.
        fine: That there is time; customer.
        chat: What has nothing to do with it.
        correct: That the `{label}` is `{value}`, not `{old}`; customer.
        corrected: That it is noted.
        again: That an action is done again.
        also: Before a topic that comes up early; customer.
        park: That it comes later.
        resume: That it comes now.
        drop: That a topic is of no interest any more; customer.
        dropped: That this is fine.
        yes: To an offer; customer.
        no: To an offer; customer.
        refused: That this is fine.
        more: Whether there is anything else.
        yes_more: Before another topic; customer.
        no_more: That this was all; customer.
        bye: The last turn.
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
        lists: Words for made values.
        slots: What a customer tells.
        actions: Words for the actions.
        openings: How a customer raises each workflow; `{slot}` is told by it.
        talk: All else.
    """

    slots: dict[str, Slot]
    actions: dict[str, Deed]
    openings: dict[str, Words]
    talk: Talk
    lists: dict[str, Words] = {}
