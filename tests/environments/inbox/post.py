"""Small posts, written by hand, and a world that is played by a list of actions."""

from collections.abc import Sequence

from timeful.core.units import Instant, seconds
from timeful.environments.environment import Observation
from timeful.environments.inbox.mail import Email
from timeful.environments.inbox.settings import InboxSettings, Urgency
from timeful.environments.inbox.world import Inbox

SETTINGS = InboxSettings()


def at(when: float) -> Instant:
    return Instant(seconds(when))


def email(number: int, arrives: float, slack: float, urgency: Urgency = "high") -> Email:
    return Email(
        number=number,
        urgency=urgency,
        arrives=at(arrives),
        deadline=at(arrives + slack),
        sender="Ada",
        subject=f"matter {number}",
        body=f"secret {number}",
    )


def world(*emails: Email, units: Sequence[int] = (4,), settings: InboxSettings = SETTINGS) -> Inbox:
    return Inbox(settings, emails, units)


def do(inbox: Inbox, action: str, when: float) -> list[Observation]:
    """Let the world move to an instant, act, and wait for the end of the action."""
    seen = list(inbox.advance(Instant(at(when) - 1)))
    inbox.intervene((action,), at=at(when))
    while inbox.busy:
        change = inbox.next_change()
        assert change is not None
        seen += inbox.advance(change)
    return seen
