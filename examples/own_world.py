"""A world of your own: a door that is open every third turn, and an agent that must be on time."""

from timeful import EventView, Pace, Prompt, ScriptedModel, Session, play, tokens


class Door:
    """A game of turns: walking pays 1 while the door is open, and costs 1 while it is shut."""

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
        reward = 0.0 if action == "WAIT" else 1.0 if self.view().door == "open" else -1.0
        self.turn += 1
        self.score += reward
        self.done = self.turn == self.horizon
        return reward

    def legal_actions(self) -> tuple[str, ...]:
        return self.actions

    def view(self) -> EventView:
        return EventView(self.turn, {"door": "open" if self.turn % 3 == 2 else "shut"})


def slow_model(words: int) -> ScriptedModel:
    """A model that needs the time of so many tokens for its answer."""

    def answer(prompt: Prompt) -> str:
        return "WALK" if "open" in prompt.messages[0].content else "WAIT"

    return ScriptedModel(answer, pace=Pace(first=tokens(words), per_token=tokens(0)))


async def ponder(session: Session, model: ScriptedModel) -> None:
    while not session.over:
        session.act(await session.think(model, session.view.text()))
        await session.wait_for_tick()


if __name__ == "__main__":
    for words in (50, 100, 150):
        episode = play(lambda s: ponder(s, slow_model(words)), Door(), step=tokens(100))  # noqa: B023
        print(f"thinking {words} tokens a turn of 100: score {episode.score:+.0f}")

# It prints:
# > thinking 50 tokens a turn of 100: score +3
# > thinking 100 tokens a turn of 100: score +3
# > thinking 150 tokens a turn of 100: score -2
