"""An observation arrives inside an option: what it is worth to be allowed to act on it.

A walk takes three ticks. At each of its two stops the phone may ring, once, for one tick. Both
agents hear it at once and know all there is to know; one may begin something new at any tick, the
other only when the walk is over, as in an SMDP over options. Both values are exact.
"""

from timeful.theory.bellman import search
from timeful.theory.process import NOTHING, Process
from timeful.theory.reductions import Option, from_options

WALK, ANSWER = frozenset({"walk"}), frozenset({"answer"})
State = tuple[int, bool, bool]  # steps done, whether it rings now, whether it has rung


def next_state(state: State, did: frozenset[str]) -> dict[State, float]:
    steps, _, has_rung = state
    if did != WALK:
        return {(steps, False, has_rung): 1.0}
    steps = min(steps + 1, 3)
    if steps == 3 or has_rung:
        return {(steps, False, has_rung): 1.0}
    return {(steps, True, True): 0.3, (steps, False, False): 0.7}


def utility(state: State, did: frozenset[str]) -> float:
    steps, rings, _ = state
    return 5.0 * (steps == 2 and did == WALK) + 10.0 * (rings and did == ANSWER)


world = Process.from_functions(
    {(0, False, False): 1.0},
    [WALK, ANSWER],
    transition=next_state,
    observation=lambda state: {frozenset({"ring"}) if state[1] else NOTHING: 1.0},
    utility=utility,
    discount=0.95,
)
options = {
    "walk": Option(
        policy=dict.fromkeys(world.states, WALK),
        ends={state: float(state[0] == 3) for state in world.states},
    ),
    "answer": Option(policy=dict.fromkeys(world.states, ANSWER), ends={}),
}
for decide in ("at-boundaries", "any-tick"):
    found = search(from_options(world, options, decide=decide), horizon=6)
    print(f"{decide:13}  {found.value:.4f}")

# It prints:
# > at-boundaries  4.5125
# > any-tick       9.1427
