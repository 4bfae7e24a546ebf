"""The snake's world as a player can foresee it, from what is shown alone."""

from timeful.environments.snake.levels import MOVES, SIZE
from timeful.environments.snake.view import SnakeView
from timeful.environments.snake.world import HORIZON, Crawl


def imagine(view: SnakeView) -> Crawl:
    """Rebuild the game from a view; its future is what the shown facts imply.

    Shown food vanishes when its life is over, and none appears. The score starts at 0.
    """
    crawl = Crawl(tuple(SIZE * x + y for x, y in view.obstacles))
    crawl.turn = view.turn
    crawl.body = [SIZE * x + y for x, y in view.body]
    crawl.heading = MOVES[view.heading]
    crawl.foods = [SIZE * food.x + food.y for food in view.foods]
    crawl.ends = [view.turn + food.life for food in view.foods]
    crawl.done = view.turn >= HORIZON
    return crawl
