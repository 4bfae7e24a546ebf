"""One conversation, drawn: topics are raised, values asked for and told, actions taken late.

It follows the workflows of its domain, and strays from them as the habits say: values are told
early, corrected, or told only after a question; the agent acts some turns after it could; an
action is repeated, refused or done for nothing; a second topic comes up early or late, or one is
dropped.
"""

from collections.abc import Sequence

import numpy as np

from timeful.catalogs.schema import Parameter
from timeful.dialogues.dialogue import Speaker
from timeful.domains.domain import Domain
from timeful.domains.nlg import Exchange
from timeful.domains.realizer import Realizer, ended, listed
from timeful.domains.script import Again, Done, Dropped, Event, Line, Raised, Refused, Script
from timeful.domains.user_simulator import Topic, UserSimulator


def simulate_dialogue(domain: Domain, rng: np.random.Generator, workflows: Sequence[str]) -> Script:
    """Draw a conversation of any length, in which these workflows come up."""
    return _Conversation(domain, rng, workflows).held()


class _Conversation:
    def __init__(self, domain: Domain, rng: np.random.Generator, workflows: Sequence[str]) -> None:
        self._domain = domain
        self._habits = domain.settings.habits
        self._talk = domain.speech.talk
        self._rng = rng
        self._realizer = Realizer(domain, rng)
        self._lines: list[Line] = []
        self._user = UserSimulator(domain, rng, self._realizer)
        self._done_once: set[str] = set()
        self._topics = [Topic(number, name) for number, name in enumerate(workflows)]

    def held(self) -> Script:
        """The conversation from greeting to farewell."""
        self._agent(self._realizer.pick(self._talk.greet))
        for topic in self._topics:
            if topic.is_raised:
                self._agent(self._realizer.pick(self._talk.resume))
            else:
                self._raise(topic, self._talk.yes_more if topic.number else self._talk.hello)
            self._follow(topic)
            if any(one.is_raised for one in self._topics[topic.number + 1 :]):
                continue  # it waits already
            self._agent(self._realizer.pick(self._talk.more))
        self._customer(self._realizer.pick(self._talk.no_more))
        self._agent(self._realizer.pick(self._talk.bye))
        return tuple(self._lines)

    # The workflow

    def _raise(self, topic: Topic, before: tuple[str, ...]) -> None:
        """The customer raises a topic, and may tell something at once."""
        opening = self._realizer.pick(self._domain.speech.openings[topic.workflow])
        events: list[Event] = [Raised(topic.number, topic.workflow)]
        topic.is_raised = True
        actions = self._actions(topic)
        slots = [one.name for action in actions for one in self._parameters(action)]
        for slot in dict.fromkeys(slots):
            mark = f"{{{slot}}}"
            if mark in opening:
                opening = opening.replace(mark, self._user.tell(topic, slot, events))
        text = f"{self._realizer.pick(before)} {ended(opening)}"
        early = [one for action in actions[:2] for one in self._missing(topic, action)]
        if early and self._happens(self._habits.volunteer):
            text += " " + self._user.answer(topic, early[:1], events)
        self._customer(text, *events)

    def _follow(self, topic: Topic) -> None:
        """Go through the workflow of a topic."""
        actions = self._actions(topic)
        for place, action in enumerate(actions):
            deed = self._domain.speech.actions[action]
            if deed.once and action in self._done_once:
                continue
            if deed.offer:
                self._agent(self._realizer.pick(deed.offer))
                if self._happens(deed.refused):
                    self._customer(
                        self._realizer.pick(self._talk.no), Refused(topic.number, action)
                    )
                    self._agent(self._realizer.pick(self._talk.refused))
                    continue
                self._customer(self._realizer.pick(self._talk.yes))
            wrong = self._gather(topic, action)
            self._linger(topic, actions[place + 1 :])
            self._act(topic, action)
            if wrong:
                self._linger(topic, [])  # before it is noticed
                self._correct(topic, wrong, Again(topic.number, action))
                self._agent(self._realizer.pick(self._talk.again))
                self._act(topic, action)
            if place + 1 < len(actions) and self._wander(topic):
                return

    def _gather(self, topic: Topic, action: str) -> str | None:
        """Ask for what an action needs until it is told.

        Returns:
            The slot that was told wrongly, to be corrected once the action is done.
        """
        deed = self._domain.speech.actions[action]
        missing = self._missing(topic, action)
        wrong = after = None
        if missing:
            slot = missing[int(self._rng.integers(len(missing)))]
            if deed.repeatable and self._happens(self._habits.repeats):
                wrong = after = slot
            elif self._happens(self._habits.corrects):
                wrong = slot
        while missing:
            at_once = missing if self._happens(self._habits.together) else missing[:1]
            self._ask(action, at_once, is_first=missing == self._user.needs(topic, action))
            events: list[Event] = []
            self._customer(self._user.answer(topic, at_once, events, wrong=wrong), *events)
            missing = self._missing(topic, action)
        if wrong and not after:
            self._correct(topic, wrong)
            self._agent(self._realizer.pick(self._talk.corrected))
        return after

    def _ask(self, action: str, slots: list[str], *, is_first: bool) -> None:
        deed, realizer = self._domain.speech.actions[action], self._realizer
        spoken = [self._domain.speech.slots[one] for one in slots]
        if deed.ask and is_first:
            text = realizer.pick(deed.ask)
        elif len(slots) > 1:
            labels = list(dict.fromkeys(one.label for one in spoken))
            text = realizer.pick(self._talk.ask_many, labels=listed(labels))
        else:
            text = realizer.pick(spoken[0].ask or self._talk.ask, label=spoken[0].label)
        if self._lines[-1].speaker == "customer" and self._happens(0.5):
            text = f"{realizer.pick(self._talk.thanks)} {text}"
        self._agent(text)
        if self._happens(self._habits.why):
            self._exchange(self._talk.why)

    def _act(self, topic: Topic, action: str) -> None:
        """Take an action, with every value of it that is known."""
        deed, realizer = self._domain.speech.actions[action], self._realizer
        known = self._user.known(topic)
        values = tuple(
            (one.name, known[one.name]) for one in self._parameters(action) if one.name in known
        )
        done = Done(topic.number, action, values)
        if deed.once:
            self._done_once.add(action)
        if deed.announce and self._happens(self._habits.announces):
            self._agent(realizer.pick(deed.announce))
        if not self._domain.settings.observes_actions:
            self._agent(realizer.pick(deed.report), done)
            return
        self._system(done)
        if self._happens(self._habits.reports):
            self._agent(realizer.pick(deed.report))

    # What is crooked

    def _linger(self, topic: Topic, later: list[str]) -> None:
        """Let the moment pass in which the action could be taken."""
        weights = np.array(self._habits.late, dtype=float)
        for _ in range(int(self._rng.choice(len(weights), p=weights / weights.sum()))):
            ahead = [(action, one) for action in later for one in self._missing(topic, action)]
            if ahead and self._happens(self._habits.ahead):
                action, slot = ahead[0]
                self._ask(action, [slot], is_first=[slot] == self._user.needs(topic, action))
                events: list[Event] = []
                self._customer(self._user.answer(topic, [slot], events), *events)
            elif self._happens(0.4):
                self._exchange(self._talk.chat)
            else:
                self._agent(self._realizer.pick(self._talk.wait))
                self._customer(self._realizer.pick(self._talk.fine))

    def _wander(self, topic: Topic) -> bool:
        """Leave the workflow for a moment, or for good: whether the topic is dropped."""
        habits = self._habits
        other = next((one for one in self._topics if not one.is_raised), None)
        if other and self._happens(habits.early):
            self._raise(other, self._talk.also)
            self._agent(self._realizer.pick(self._talk.park))
            return False  # which of the two would be dropped?
        if self._happens(habits.detour):
            self._exchange(self._talk.chat)
        if self._domain.settings.observes_actions and self._happens(habits.stray):
            self._stray()
        if self._happens(habits.drops):
            self._customer(self._realizer.pick(self._talk.drop), Dropped(topic.number))
            self._agent(self._realizer.pick(self._talk.dropped))
            return True
        return False

    def _stray(self) -> None:
        """Do something that no topic asks for."""
        wanted = {action for topic in self._topics for action in self._actions(topic)}
        free = [
            name
            for name in self._domain.knowledge.catalog.actions
            if name not in wanted and self._domain.speech.actions[name].stray
        ]
        if free:
            self._system(Done(None, free[int(self._rng.integers(len(free)))], ()))

    def _correct(self, topic: Topic, slot: str, *events: Event) -> None:
        """The customer takes a value back."""
        spoken = self._domain.speech.slots[slot]
        old = (self._user.known(topic))[slot]
        told: list[Event] = []
        value = self._user.tell(topic, slot, told)
        text = self._realizer.pick(self._talk.correct, label=spoken.label, value=value, old=old)
        self._customer(text, *told, *events)

    def _exchange(self, some: tuple[Exchange, ...]) -> None:
        chosen = self._realizer.pick(tuple(one.customer for one in some))
        self._customer(chosen)
        self._agent(next(one.agent for one in some if one.customer == chosen))

    # Lines

    def _agent(self, text: str, *events: Event) -> None:
        self._say("agent", text, *events)

    def _customer(self, text: str, *events: Event) -> None:
        self._say("customer", self._realizer.style(text), *events)

    def _system(self, done: Done) -> None:
        values = ", ".join(value for _, value in done.values)
        words = self._domain.speech.actions[done.action].done
        fitting = tuple(one for one in words if values or "{values}" not in one)
        self._say("action", self._realizer.pick(fitting, values=values), done)

    def _say(self, speaker: Speaker, text: str, *events: Event) -> None:
        self._lines.append(Line(speaker, text, events))

    # What there is

    def _actions(self, topic: Topic) -> list[str]:
        return list(self._domain.knowledge.ontology.workflows[topic.workflow].actions)

    def _parameters(self, action: str) -> tuple[Parameter, ...]:
        return self._domain.knowledge.catalog.actions[action].parameters

    def _missing(self, topic: Topic, action: str) -> list[str]:
        return [] if action in self._done_once else self._user.missing(topic, action)

    def _happens(self, chance: float) -> bool:
        return bool(self._rng.random() < chance)
