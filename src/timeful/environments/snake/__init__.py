"""Snake, among food that does not last."""

from timeful.environments.snake.crawl import Crawl
from timeful.environments.snake.imagine import imagine
from timeful.environments.snake.view import Food, SnakeView
from timeful.environments.snake.world import Snake

__all__ = ["Crawl", "Food", "Snake", "SnakeView", "imagine"]
