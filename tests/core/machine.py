"""A machine whose clock the tests move: waiting costs no real time."""

import threading
from collections import Counter, deque
from math import ceil, inf

from timeful.core.clock import WallClock
from timeful.core.instruments import EventLog

REAL_WORK = "call"  # calls of this name are waited for in real time, while the clock stands


class FakeMachine:
    """A monotonic counter that moves when it is waited for.

    Args:
        overshoot: How many nanoseconds every wait takes longer than asked.
        read_cost: How many nanoseconds pass with every look at the clock.
    """

    def __init__(self, *, overshoot=0, read_cost=0):
        self.shown = 123_456_789  # the beginning of a machine's counter is arbitrary
        self.waits = 0
        self._overshoot = overshoot
        self._read_cost = read_cost
        self._under_way = Counter()
        self._agenda = deque()

    def clock(self, scale=1.0):
        return WallClock(scale, read=self.read, wait=self.wait)

    def at(self, instant, action, *, until_notified=False):
        """Let something happen outside while the kernel waits, in order of these calls."""
        self._agenda.append((self.shown + instant, action, until_notified))

    def log(self, events: EventLog):
        """A log that also tells the machine which real work is under way."""

        def keep(at, what, name):
            events(at, what, name)
            if name == REAL_WORK:
                self._under_way[name] += 1 if what == "start" else -1

        return keep

    def read(self):
        self.shown += self._read_cost
        return self.shown

    def wait(self, condition: threading.Condition, timeout_s):
        self.waits += 1
        # The clock asks for a nanosecond more than it needs, so as not to wake early.
        span = inf if timeout_s is None else ceil(timeout_s * 1e9 - 1.001)
        if self._agenda and self._agenda[0][0] <= self.shown + span:
            self.shown, action, until_notified = self._agenda.popleft()
            action()
            if until_notified:
                assert condition.wait(30), "nothing came"
        elif timeout_s is None or self._under_way[REAL_WORK]:
            assert condition.wait(30), "nothing came"
        else:
            self.shown += span + self._overshoot
