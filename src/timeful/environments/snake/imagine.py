"""The snake's world as a player can foresee it, from what is shown alone."""

from timeful.environments.snake.crawl import Crawl
from timeful.environments.snake.view import SnakeView, crawl_of, show


class ImaginedSnake(Crawl):
    """A snake for which no food appears."""

    __slots__ = ()

    def view(self) -> SnakeView:
        """What a player would be shown."""
        return show(self)


def imagine(view: SnakeView) -> ImaginedSnake:
    """Rebuild the game from a view; its future is what the shown facts imply.

    Shown food vanishes when its life is over, and none appears. The score starts at 0.
    """
    return crawl_of(view, ImaginedSnake)
