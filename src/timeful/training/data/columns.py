"""The columns of data sets, and what each holds."""

from collections.abc import Mapping
from typing import Literal

from timeful.training.data.writing import Columns

Kind = Literal["sft", "preference", "prompts"]

_ORIGIN: Columns = {
    "case": "text",
    "conditions": "text",
    "budget_s": "number",
    "alpha": "number",
    "split": "text",
    "purpose": "text",
    "tools": "text",
}
COLUMNS: Mapping[Kind, Columns] = {
    "sft": {
        "messages": "messages",
        "reward": "number",
        "tokens": "integer",
        "model": "text",
        "episode": "text",
        **_ORIGIN,
    },
    "preference": {
        "prompt": "messages",
        "chosen": "messages",
        "rejected": "messages",
        "chosen_reward": "number",
        "rejected_reward": "number",
        "chosen_episode": "text",
        "rejected_episode": "text",
        **_ORIGIN,
    },
    "prompts": {"prompt": "messages", "answer": "text", **_ORIGIN},
}

_SAYS = {
    "messages": "the conversation: role and content of each message",
    "prompt": "what came before the first word of the one who is to learn",
    "chosen": "how the better one went on",
    "rejected": "how the worse one went on",
    "reward": "what it was worth",
    "chosen_reward": "what the better one was worth",
    "rejected_reward": "what the worse one was worth",
    "answer": "the right answer, where there is one",
    "tokens": "how many were generated",
    "model": "who spoke",
    "episode": "the record it was made of",
    "chosen_episode": "the record of the better one",
    "rejected_episode": "the record of the worse one",
    "case": "which problem, game or dialogue",
    "conditions": "budget, latency and so on, as JSON",
    "budget_s": "the budget in seconds, where there is one",
    "alpha": "how much thinking counted: the scale of time",
    "split": "the side its case is on, by a hash",
    "purpose": "what was thought about",
    "tools": "tools of the API as JSON; null where the messages describe them",
    "problem": "the name of the problem",
    "jitter_s": "the standard deviation of the timer, in seconds",
}


def told(columns: Columns) -> dict[str, object]:
    """What columns hold, for a card."""
    return {name: _SAYS[name] for name in columns}
