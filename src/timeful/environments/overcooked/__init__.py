"""Overcooked: two cooks in one kitchen, one of them a partner with a mind of his own."""

from timeful.environments.overcooked.imagine import ImaginedKitchen, imagine
from timeful.environments.overcooked.view import OvercookedView
from timeful.environments.overcooked.world import Overcooked

__all__ = ["ImaginedKitchen", "Overcooked", "OvercookedView", "imagine"]
