"""The post of one episode: who writes when, how urgent it is, and what is to be done about it.

The words are there so that a language model has something to read; nothing is judged by them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from timeful.core.units import START, Duration, Instant, in_seconds, seconds
from timeful.environments.inbox.settings import URGENCIES, InboxSettings, Urgency

_SENDERS = (
    "Ines Falk, finance",
    "Tomas Brandt, logistics",
    "Priya Nair, legal",
    "Jonas Weber, support",
    "Mei Tanaka, sales",
    "Olu Adeyemi, platform",
    "Carla Ruiz, people",
    "Viktor Lind, facilities",
)

_MATTERS: Mapping[Urgency, tuple[tuple[str, str], ...]] = {
    "high": (
        ("Payment run stops soon", "The bank wants a release code before the batch closes."),
        ("Customer on the line", "They cannot log in and ask for the one-time link right now."),
        ("Truck at the wrong gate", "The driver waits for the dock number and a short go-ahead."),
        ("Signature missing", "The contract lapses unless your initials are on page two."),
        ("Pager keeps firing", "Please silence or confirm the disk alarm; nobody else may."),
    ),
    "medium": (
        ("Slides for this afternoon", "Could you send last week's figures so I can update them?"),
        ("Moved review", "Please say whether the new slot suits you; I hold the room meanwhile."),
        ("Quote to be checked", "One line of the offer looks wrong to me, can you have a look?"),
        ("Access for the new colleague", "She needs the shared folder some time today."),
        ("Travel dates", "Please pick one of the two connections before the fare goes up."),
    ),
    "low": (
        ("Notes from the meet-up", "In case you missed it, the recording is in the usual place."),
        ("Desk plants", "The watering list has a free week; put your name down if you like."),
        ("Survey", "Five questions about the canteen, open for a while yet."),
        ("Printer moved", "It now stands beside the window on the third floor."),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Email:
    """An email by its number, from 1 in the order of arrival.

    `recommended` is the distribution that the triage policy is given: the probabilities of
    "handle", "remind" and "ignore", which add up to 1.
    """

    number: int
    urgency: Urgency
    arrives: Instant
    deadline: Instant
    sender: str = ""
    subject: str = ""
    body: str = ""
    recommended: tuple[tuple[str, float], ...] = ()

    @property
    def slack(self) -> Duration:
        """From arrival to deadline."""
        return self.deadline - self.arrives


def draw_mail(settings: InboxSettings, rng: np.random.Generator) -> tuple[Email, ...]:
    """Draw the post of an episode: Poisson arrivals up to the horizon, the end not included.

    Urgency and slack are drawn for each email on its own. The words are drawn last, so that
    they never shift a number.
    """
    numbers: list[tuple[Instant, Urgency, Instant]] = []
    now = 0.0
    while settings.arrival_rate > 0:
        now += float(rng.exponential(1 / settings.arrival_rate))
        if seconds(now) >= settings.horizon:
            break
        urgency = URGENCIES[int(rng.choice(len(URGENCIES), p=settings.urgency))]
        least, most = settings.slack(urgency)
        slack = seconds(float(rng.uniform(in_seconds(least), in_seconds(most))))
        arrives = START + seconds(now)
        numbers.append((arrives, urgency, arrives + slack))
    emails = []
    for number, (arrives, urgency, deadline) in enumerate(numbers, start=1):
        matters = _MATTERS[urgency]
        subject, body = matters[int(rng.integers(len(matters)))]
        emails.append(
            Email(
                number=number,
                urgency=urgency,
                arrives=arrives,
                deadline=deadline,
                sender=_SENDERS[int(rng.integers(len(_SENDERS)))],
                subject=subject,
                body=body,
                recommended=recommendation(settings, urgency),
            )
        )
    return tuple(emails)


def recommendation(settings: InboxSettings, urgency: Urgency) -> tuple[tuple[str, float], ...]:
    """What is recommended about an email of an urgency, with which probability."""
    handle = settings.recommended_handle[URGENCIES.index(urgency)]
    remind = (1 - handle) * settings.recommended_remind
    return (("handle", handle), ("remind", remind), ("ignore", 1 - handle - remind))
