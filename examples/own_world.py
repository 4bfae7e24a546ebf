"""A world of your own: a door that is open every third turn, and an agent that must be on time."""

from dataclasses import dataclass

from timeful import Pace, Prompt, ScriptedModel, Session, play, tokens


@dataclass(frozen=True)
class DoorView:
    turn: int

    @property
    def is_open(self) -> bool:
        return self.turn % 3 == 2

    def text(self) -> str:
        return f"turn {self.turn}: the door is {'open' if self.is_open else 'shut'}"

    def json_state(self) -> dict[str, object]:
        return {"turn": self.turn, "is_open": self.is_open}


class Door:
    """Walking pays 1 while the door is open, and costs 1 while it is shut."""

    name = "door"
    actions = ("WALK", "WAIT")
    default_action = "WAIT"
    horizon = 9
    restarted = False

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.turn, self.score, self.done = 0, 0.0, False

    def step(self, action: str) -> float:
        reward = 0.0 if action == "WAIT" else 1.0 if self.view().is_open else -1.0
        self.turn += 1
        self.score += reward
        self.done = self.turn == self.horizon
        return reward

    def legal_actions(self) -> tuple[str, ...]:
        return self.actions

    def view(self) -> DoorView:
        return DoorView(self.turn)


async def ponder(session: Session, model: ScriptedModel) -> None:
    while not session.over:
        session.act(await session.think(model, session.view.text()))
        await session.wait_for_tick()


def score(words: int) -> float:
    """Play with a model that says so many words before it names its action."""

    def answer(prompt: Prompt) -> str:
        return "WALK" if "open" in prompt.messages[0].content else "WAIT"

    model = ScriptedModel(answer, pace=Pace(first=tokens(words), per_token=tokens(0)))
    played = play(lambda session: ponder(session, model), Door(), step=tokens(100))
    return played.score


for words in (50, 100, 150):
    print(f"thinking {words} tokens a turn of 100: score {score(words):+.0f}")

# It prints:
# > thinking 50 tokens a turn of 100: score +3
# > thinking 100 tokens a turn of 100: score +3
# > thinking 150 tokens a turn of 100: score -2
