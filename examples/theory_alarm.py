"""Silence is an observation: an alarm that has not rung, in ticks and in continuous time."""

import numpy as np

from timeful.theory.belief import predictive, update
from timeful.theory.bellman import search
from timeful.theory.continuous import Continuous
from timeful.theory.process import NOTHING, Process, independent, subsets

LOOK, RING = frozenset({"look"}), frozenset({"ring"})


def next_state(state: str, did: frozenset[str]) -> dict[str, float]:
    """A fire breaks out now and then, and burns until somebody looks after it."""
    if state == "fire":
        return {"calm": 1.0} if did else {"fire": 1.0}
    return {"fire": 0.1, "calm": 0.9}


house = Process.from_functions(
    {"calm": 0.8, "fire": 0.2},
    subsets(["look"]),  # do nothing, or look
    transition=next_state,
    observation=lambda state: independent({"ring": 0.7 if state == "fire" else 0.05}),
    utility=lambda state, did: (-10.0 if state == "fire" else 0.0) - (2.0 if did else 0.0),
    discount=0.95,
)
fire = house.state_at("fire")

for events, chance in predictive(house, house.start, NOTHING).items():
    belief = update(house, house.start, NOTHING, events)
    what = "it rings" if events else "silence"
    print(f"{what}, with probability {chance:.3f}: a fire is likely to {belief[fire]:.3f}")

belief, silent = house.start, 0
while search(house, 6, belief).intervention == LOOK:
    belief, silent = update(house, belief, NOTHING, NOTHING), silent + 1
print(f"after {silent} silent tick(s) it is best not to look: fire {belief[fire]:.3f}")

clock = Continuous(
    states=("calm", "fire"),
    interventions=(NOTHING,),
    impulse=np.eye(2)[np.newaxis],
    hidden=np.array([[0.0, 0.05], [0.0, 0.0]]),  # it breaks out once in 20 minutes
    told={RING: np.diag([0.02, 1.5])},
    utility=np.zeros(2),
    cost=np.zeros((1, 2)),
    decay=0.0,
    start=np.array([0.8, 0.2]),
)
for minutes in (0.5, 2.5):
    print(f"{minutes} minutes of silence: fire {clock.wait(clock.start, minutes)[1]:.3f}")
rung = clock.notice(clock.start, 2.5, RING)
print(f"and then it rings: fire {rung[1]:.3f}")

# It prints:
# > silence, with probability 0.768: a fire is likely to 0.109
# > it rings, with probability 0.232: a fire is likely to 0.845
# > after 1 silent tick(s) it is best not to look: fire 0.109
# > 0.5 minutes of silence: fire 0.123
# > 2.5 minutes of silence: fire 0.039
# > and then it rings: fire 0.755
