"""The inbox as a world of events: emails come, run out of time, and are dealt with.

An email is on time if it is handled no later than its deadline; `late` if it is only being
handled then; and timed out if it is not. What can be done stands in `actions.py`.
(Engagement Process, 5.2.1, Appendix D.)
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from timeful.core.units import NO_TIME, START, Duration, Instant
from timeful.environments.environment import Observation
from timeful.environments.event_queue import EventQueue
from timeful.environments.inbox.actions import IN_INBOX, Doing, read_action
from timeful.environments.inbox.mail import Email
from timeful.environments.inbox.scoring import Tally, utility
from timeful.environments.inbox.settings import InboxSettings
from timeful.environments.inbox.view import InboxView, Letter
from timeful.errors import IllegalActionError, SettingsError


@dataclass(frozen=True, slots=True)
class _Due:
    """Something that will happen to an email."""

    kind: str
    number: int


@dataclass(slots=True, kw_only=True)
class _State:
    view: InboxView
    queue: EventQueue[_Due | Doing]
    activity: Doing | None = None
    writing_since: Instant = START
    """When the main task, on which the attention is, was begun or taken up again."""
    tally: Tally = field(default_factory=Tally)
    score: float = 0.0
    over: bool = False


class Inbox:
    """An `Environment` with one main task and an inbox; its score is the utility.

    Events are "email", "reminder", "expired" and "over", and the ends of actions: "checked",
    "opened", "handled", "late", "reminded", "ignored", "returned" and "delivered".

    Args:
        settings: The world in numbers.
        mail: The post of the one episode, numbered from 1 in the order of arrival.
        units: The progress that each part of the main task is worth; together, the target.

    Raises:
        SettingsError: If the parts of the main task are not worth its target, or the post is
            out of order.
    """

    def __init__(
        self, settings: InboxSettings, mail: Sequence[Email], units: Sequence[int]
    ) -> None:
        if not units or min(units) < 1 or sum(units) != settings.scoring.target:
            raise SettingsError(
                f"the parts of the main task must be worth its target, "
                f"{settings.scoring.target}, together; got {tuple(units)}"
            )
        arrivals = [email.arrives for email in mail]
        if [email.number for email in mail] != list(range(1, len(mail) + 1)):
            raise SettingsError("emails are numbered from 1")
        if arrivals != sorted(arrivals) or any(email.slack < 0 for email in mail):
            raise SettingsError("emails are in the order of arrival, each before its deadline")
        self._settings = settings
        self._mail = tuple(mail)
        self._units = tuple(units)
        self.reset()

    def reset(self) -> None:
        """Go back to the start of the same episode, with the attention on the main task."""
        view = InboxView(
            at=START,
            turn=0,
            horizon=START + self._settings.horizon,
            focus="main",
            units=self._units,
            written=0,
            letters=(),
        )
        self._state = _State(view=view, queue=EventQueue())
        for email in self._mail:
            self._state.queue.add(email.arrives, _Due("email", email.number))

    # --- interventions -----------------------------------------------------------------------

    def intervene(self, actions: Sequence[str], *, at: Instant) -> None:
        """Begin an action; only one at a time can be under way.

        Raises:
            IllegalActionError: If it is no action of this world or cannot be done now, or there
                is more than one.
        """
        if len(actions) > 1:
            raise IllegalActionError(f"one action at a time, got {', '.join(map(repr, actions))}")
        for action in actions:
            state, activity = self._state, read_action(action)
            if state.over:
                raise IllegalActionError(f"illegal action {action!r}; the episode is over")
            if state.activity is not None:
                raise IllegalActionError(
                    f"illegal action {action!r}; {state.activity.verb!r} is still under way"
                )
            self._check(action, activity)
            to_inbox = activity.verb in IN_INBOX and state.view.focus == "main"
            state.activity = replace(
                activity,
                switched=to_inbox or (activity.verb == "return" and state.view.focus == "inbox"),
                interrupted=to_inbox and not state.view.is_written and at > state.writing_since,
            )
            state.queue.add(at + self._span(activity), state.activity)

    def _check(self, action: str, activity: Doing) -> None:
        """Refuse what makes no sense now.

        Raises:
            IllegalActionError: If it does not.
        """
        view = self._state.view
        why = ""
        if activity.verb == "deliver":
            if view.focus != "main":
                why = "the attention is on the inbox; `return` first"
            elif activity.number != view.written + 1 or view.is_written:
                why = f"{view.written} of {len(view.units)} parts are written, in order"
        elif activity.verb in IN_INBOX and activity.verb != "check":
            if activity.number > len(view.letters):
                why = "there is no such email"
            elif view.letter(activity.number).state != "open":
                why = f"email {activity.number} is {view.letter(activity.number).state}"
        if why:
            raise IllegalActionError(f"illegal action {action!r}; {why}")

    def _span(self, activity: Doing) -> Duration:
        """How long an action takes, with what must come before it."""
        settings, view, verb = self._settings, self._state.view, activity.verb
        if verb == "return":
            return settings.back
        if verb not in IN_INBOX:
            return NO_TIME
        look = settings.check if verb == "check" or view.focus == "main" else NO_TIME
        is_closed = verb in ("open", "handle", "remind") and (
            verb == "open" or not view.letter(activity.number).opened
        )
        own = {"handle": settings.handle, "remind": settings.remind}.get(verb, NO_TIME)
        return look + settings.open * is_closed + own

    # --- what happens ------------------------------------------------------------------------

    def advance(self, to: Instant) -> tuple[Observation, ...]:
        """Let emails come and run out, and actions end, through an instant."""
        state, observations = self._state, list[Observation]()
        horizon = START + self._settings.horizon
        while not state.over and (due := state.queue.take(min(to, horizon))) is not None:
            at, event = due
            observations += (
                self._end(event, at) if isinstance(event, Doing) else self._fall_due(event, at)
            )
        if to >= horizon and not state.over:
            observations.append(self._finish(horizon, "horizon"))
        return tuple(observations)

    def _fall_due(self, due: _Due, at: Instant) -> list[Observation]:
        """An email comes, or its deadline or its reminder has."""
        state = self._state
        email = self._mail[due.number - 1]
        if due.kind == "email":
            state.queue.add(email.deadline, _Due("expiry", email.number))
            letter = Letter(
                number=email.number,
                urgency=email.urgency,
                arrived=at,
                deadline=email.deadline,
                sender=email.sender,
                subject=email.subject,
                recommended=email.recommended,
            )
            data = {"email": email.number, "urgency": email.urgency, "deadline": email.deadline}
            return [self._happen("email", at, data, letter=letter)]
        letter = state.view.letter(due.number)
        activity = state.activity
        if letter.state != "open" or (
            activity is not None and activity.verb == "handle" and activity.number == letter.number
        ):
            return []  # what is being handled at its deadline is on time, or late
        if due.kind == "expiry":
            state.tally.timed_out += 1
            letter = replace(letter, state="expired")
            # Nobody needs to be told: the deadline was known when the email came.
            return [self._happen("expired", at, {"email": letter.number}, letter, is_quiet=True)]
        if letter.set_aside != "remind":
            return []
        letter = replace(letter, set_aside="")
        return [self._happen("reminder", at, {"email": letter.number}, letter)]

    def _end(self, activity: Doing, at: Instant) -> list[Observation]:
        state = self._state
        state.activity = None
        state.tally.switches += activity.switched
        state.tally.interruptions += activity.interrupted
        data: dict[str, Any] = {"switched": activity.switched, "interrupted": activity.interrupted}
        if activity.verb == "end":
            return [self._finish(at, "ended")]
        if activity.verb in IN_INBOX:
            state.view = replace(state.view, focus="inbox")
            if activity.verb == "check":
                return [self._happen("checked", at, data, is_quiet=True)]
            return [self._end_letter(activity, at, data)]
        state.writing_since = at
        if activity.verb == "return":
            state.view = replace(state.view, focus="main")
            return [self._happen("returned", at, data, is_quiet=True)]
        progress = self._units[activity.number - 1]
        state.tally.progress += progress
        state.view = replace(state.view, written=activity.number)
        data = {"unit": activity.number, "progress": progress}
        return [self._happen("delivered", at, data, is_quiet=True)]

    def _end_letter(self, activity: Doing, at: Instant, data: dict[str, Any]) -> Observation:
        """Something was done with an email; if it has run out meanwhile, in vain."""
        state = self._state
        letter = state.view.letter(activity.number)
        event = {"open": "opened", "remind": "reminded", "ignore": "ignored"}.get(activity.verb, "")
        if activity.verb in ("open", "handle", "remind"):
            letter = replace(letter, opened=True, body=self._mail[activity.number - 1].body)
        if activity.verb == "handle":
            on_time = at <= letter.deadline
            event = "handled" if on_time else "late"
            state.tally.on_time += on_time
            state.tally.late += not on_time
            letter = replace(letter, state="handled" if on_time else "late")
        elif activity.verb in ("remind", "ignore") and letter.state == "open":
            letter = replace(letter, set_aside=activity.verb)
            if activity.after is not None:
                state.queue.add(at + activity.after, _Due("reminder", activity.number))
        return self._happen(event, at, {"email": activity.number, **data}, letter, is_quiet=True)

    def _finish(self, at: Instant, why: str) -> Observation:
        self._state.over = True
        return self._happen("over", at, {"why": why})

    def _happen(
        self,
        event: str,
        at: Instant,
        data: Mapping[str, Any],
        letter: Letter | None = None,
        *,
        is_quiet: bool = False,
    ) -> Observation:
        """Show what has changed, and what it was worth."""
        state = self._state
        letters = state.view.letters
        if letter is not None:
            index = letter.number - 1
            letters = (*letters[:index], letter, *letters[index + 1 :])
        state.view = replace(state.view, at=at, turn=state.view.turn + 1, letters=letters)
        before, state.score = state.score, utility(self._settings.scoring, state.tally)
        return Observation(
            at=at,
            event=event,
            view=state.view,
            reward=state.score - before,
            data=data,
            is_quiet=is_quiet,
        )

    def next_change(self) -> Instant | None:
        """The next event or the horizon; None once the episode is over."""
        if self._state.over:
            return None
        horizon, due = START + self._settings.horizon, self._state.queue.next
        return horizon if due is None else min(due, horizon)

    # --- what can be seen --------------------------------------------------------------------

    def view(self) -> InboxView:
        """The letters that have come, and the main task."""
        return self._state.view

    @property
    def next_tick(self) -> None:
        """Nobody knows when an email comes."""
        return

    @property
    def busy(self) -> bool:
        """Whether an action is under way."""
        return self._state.activity is not None

    @property
    def score(self) -> float:
        """The utility so far."""
        return self._state.score
