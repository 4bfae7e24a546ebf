"""Freeway, a road to be crossed in time."""

from timeful.environments.freeway.imagine import imagine
from timeful.environments.freeway.view import CarView, FreewayView
from timeful.environments.freeway.world import Crossing, Freeway, minimum_crossing

__all__ = ["CarView", "Crossing", "Freeway", "FreewayView", "imagine", "minimum_crossing"]
