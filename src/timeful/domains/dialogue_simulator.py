"""Simulates a conversation: topics are raised, values are requested and provided, actions follow.

A dialogue follows the workflows of its domain and deviates from them at the rates of `Habits`:
values are provided early, corrected, or provided only after a question; the agent acts some turns
late; an action is repeated, refused or unnecessary; a second topic comes up early or late, or a
topic is dropped.
"""

from collections.abc import Sequence

import numpy as np

from timeful.catalogs.schema import Parameter
from timeful.dialogues.dialogue import Speaker
from timeful.domains.domain import Domain
from timeful.domains.nlg import Exchange
from timeful.domains.realizer import Realizer, enumerate_words, terminate
from timeful.domains.script import Again, Done, Dropped, Line, Raised, Refused, Script, ScriptEvent
from timeful.domains.user_simulator import Topic, UserSimulator


def simulate_dialogue(domain: Domain, rng: np.random.Generator, workflows: Sequence[str]) -> Script:
    """Draw a conversation of any length about these workflows."""
    return _Conversation(domain, rng, workflows).run()


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

    def run(self) -> Script:
        self._agent(self._realizer.pick(self._talk.greet))
        for topic in self._topics:
            if topic.is_raised:
                self._agent(self._realizer.pick(self._talk.resume))
            else:
                self._raise(topic, self._talk.yes_more if topic.number else self._talk.hello)
            self._follow(topic)
            if any(later.is_raised for later in self._topics[topic.number + 1 :]):
                continue  # the agent resumes it without asking for more
            self._agent(self._realizer.pick(self._talk.more))
        self._customer(self._realizer.pick(self._talk.no_more))
        self._agent(self._realizer.pick(self._talk.bye))
        return tuple(self._lines)

    # The workflow

    def _raise(self, topic: Topic, before: tuple[str, ...]) -> None:
        """The customer raises a topic and may provide a value at once."""
        opening = self._realizer.pick(self._domain.speech.openings[topic.workflow])
        events: list[ScriptEvent] = [Raised(topic.number, topic.workflow)]
        topic.is_raised = True
        actions = self._actions(topic)
        slots = [slot.name for action in actions for slot in self._parameters(action)]
        for slot in dict.fromkeys(slots):
            mark = f"{{{slot}}}"
            if mark in opening:
                opening = opening.replace(mark, self._user.provide(topic, slot, events))
        text = f"{self._realizer.pick(before)} {terminate(opening)}"
        early = [slot for action in actions[:2] for slot in self._missing(topic, action)]
        if early and self._happens(self._habits.volunteer):
            text += " " + self._user.answer(topic, early[:1], events)
        self._customer(text, *events)

    def _follow(self, topic: Topic) -> None:
        actions = self._actions(topic)
        for step, action in enumerate(actions):
            templates = self._domain.speech.actions[action]
            if templates.once and action in self._done_once:
                continue
            if templates.offer:
                self._agent(self._realizer.pick(templates.offer))
                if self._happens(templates.refused):
                    self._customer(
                        self._realizer.pick(self._talk.no), Refused(topic.number, action)
                    )
                    self._agent(self._realizer.pick(self._talk.refused))
                    continue
                self._customer(self._realizer.pick(self._talk.yes))
            wrong = self._gather(topic, action)
            self._linger(topic, actions[step + 1 :])
            self._act(topic, action)
            if wrong:
                self._linger(topic, [])  # before the customer notices the wrong value
                self._correct(topic, wrong, Again(topic.number, action))
                self._agent(self._realizer.pick(self._talk.again))
                self._act(topic, action)
            if step + 1 < len(actions) and self._wander(topic):
                return

    def _gather(self, topic: Topic, action: str) -> str | None:
        """Ask for the slots of an action until each has a value.

        Returns:
            The slot with a wrong value, to be corrected after the action.
        """
        templates = self._domain.speech.actions[action]
        missing = self._missing(topic, action)
        wrong = after = None
        if missing:
            slot = missing[int(self._rng.integers(len(missing)))]
            if templates.repeatable and self._happens(self._habits.repeats):
                wrong = after = slot
            elif self._happens(self._habits.corrects):
                wrong = slot
        while missing:
            at_once = missing if self._happens(self._habits.together) else missing[:1]
            self._ask(action, at_once, is_first=missing == self._user.needs(topic, action))
            events: list[ScriptEvent] = []
            self._customer(self._user.answer(topic, at_once, events, wrong=wrong), *events)
            missing = self._missing(topic, action)
        if wrong and not after:
            self._correct(topic, wrong)
            self._agent(self._realizer.pick(self._talk.corrected))
        return after

    def _ask(self, action: str, slots: list[str], *, is_first: bool) -> None:
        templates, realizer = self._domain.speech.actions[action], self._realizer
        texts = [self._domain.speech.slots[slot] for slot in slots]
        if templates.ask and is_first:
            text = realizer.pick(templates.ask)
        elif len(slots) > 1:
            labels = list(dict.fromkeys(slot.label for slot in texts))
            text = realizer.pick(self._talk.ask_many, labels=enumerate_words(labels))
        else:
            text = realizer.pick(texts[0].ask or self._talk.ask, label=texts[0].label)
        if self._lines[-1].speaker == "customer" and self._happens(0.5):
            text = f"{realizer.pick(self._talk.thanks)} {text}"
        self._agent(text)
        if self._happens(self._habits.why):
            self._exchange(self._talk.why)

    def _act(self, topic: Topic, action: str) -> None:
        """Take an action with all values that the customer has provided for it."""
        templates, realizer = self._domain.speech.actions[action], self._realizer
        provided = self._user.provided(topic)
        values = tuple(
            (slot.name, provided[slot.name])
            for slot in self._parameters(action)
            if slot.name in provided
        )
        done = Done(topic.number, action, values)
        if templates.once:
            self._done_once.add(action)
        if templates.announce and self._happens(self._habits.announces):
            self._agent(realizer.pick(templates.announce))
        if not self._domain.settings.observes_actions:
            self._agent(realizer.pick(templates.report), done)
            return
        self._system(done)
        if self._happens(self._habits.reports):
            self._agent(realizer.pick(templates.report))

    # Deviations from the workflow

    def _linger(self, topic: Topic, later: list[str]) -> None:
        """Let turns pass in which the action could be taken."""
        weights = np.array(self._habits.late, dtype=float)
        for _ in range(int(self._rng.choice(len(weights), p=weights / weights.sum()))):
            ahead = [(action, slot) for action in later for slot in self._missing(topic, action)]
            if ahead and self._happens(self._habits.ahead):
                action, slot = ahead[0]
                self._ask(action, [slot], is_first=[slot] == self._user.needs(topic, action))
                events: list[ScriptEvent] = []
                self._customer(self._user.answer(topic, [slot], events), *events)
            elif self._happens(0.4):
                self._exchange(self._talk.chat)
            else:
                self._agent(self._realizer.pick(self._talk.wait))
                self._customer(self._realizer.pick(self._talk.fine))

    def _wander(self, topic: Topic) -> bool:
        """Leave the workflow for some turns or for good; return whether the topic is dropped."""
        habits = self._habits
        next_topic = next((later for later in self._topics if not later.is_raised), None)
        if next_topic and self._happens(habits.early):
            self._raise(next_topic, self._talk.also)
            self._agent(self._realizer.pick(self._talk.park))
            return False  # a drop would not say which of the two topics it means
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
        """Take an action that no topic requires."""
        required = {action for topic in self._topics for action in self._actions(topic)}
        free = [
            name
            for name in self._domain.knowledge.catalog.actions
            if name not in required and self._domain.speech.actions[name].stray
        ]
        if free:
            self._system(Done(None, free[int(self._rng.integers(len(free)))], ()))

    def _correct(self, topic: Topic, slot: str, *events: ScriptEvent) -> None:
        """The customer corrects a value."""
        label = self._domain.speech.slots[slot].label
        old = self._user.provided(topic)[slot]
        corrected: list[ScriptEvent] = []
        value = self._user.provide(topic, slot, corrected)
        text = self._realizer.pick(self._talk.correct, label=label, value=value, old=old)
        self._customer(text, *corrected, *events)

    def _exchange(self, exchanges: tuple[Exchange, ...]) -> None:
        question = self._realizer.pick(tuple(exchange.customer for exchange in exchanges))
        self._customer(question)
        self._agent(next(pair.agent for pair in exchanges if pair.customer == question))

    # Lines

    def _agent(self, text: str, *events: ScriptEvent) -> None:
        self._add_line("agent", text, *events)

    def _customer(self, text: str, *events: ScriptEvent) -> None:
        self._add_line("customer", self._realizer.style(text), *events)

    def _system(self, done: Done) -> None:
        values = ", ".join(value for _, value in done.values)
        words = self._domain.speech.actions[done.action].done
        fitting = tuple(text for text in words if values or "{values}" not in text)
        self._add_line("action", self._realizer.pick(fitting, values=values), done)

    def _add_line(self, speaker: Speaker, text: str, *events: ScriptEvent) -> None:
        self._lines.append(Line(speaker, text, events))

    # Queries

    def _actions(self, topic: Topic) -> list[str]:
        return list(self._domain.knowledge.ontology.workflows[topic.workflow].actions)

    def _parameters(self, action: str) -> tuple[Parameter, ...]:
        return self._domain.knowledge.catalog.actions[action].parameters

    def _missing(self, topic: Topic, action: str) -> list[str]:
        return [] if action in self._done_once else self._user.missing(topic, action)

    def _happens(self, chance: float) -> bool:
        return bool(self._rng.random() < chance)
