"""What a process that is to be killed has loaded before it begins."""

from tests.training.quick import material
from timeful.training import learning, rewarding
from timeful.training.quick import grading
from timeful.training.tiny import decoder, teaching

__all__ = ["decoder", "grading", "learning", "material", "rewarding", "teaching"]
