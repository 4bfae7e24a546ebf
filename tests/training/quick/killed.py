"""What a process that is to be killed has loaded before it begins."""

from tests.training.quick import material
from timeful.training import grpo, reward_functions
from timeful.training.quick import steps
from timeful.training.tiny import decoder, pretrain

__all__ = ["decoder", "grpo", "material", "pretrain", "reward_functions", "steps"]
