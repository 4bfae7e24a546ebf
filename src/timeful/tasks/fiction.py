"""Opening games of interactive fiction."""

from timeful.environments.fiction.library import check_extras, check_game, open_game
from timeful.environments.fiction.task import FictionTask
from timeful.errors import SettingsError
from timeful.seeding import child_seed
from timeful.tasks.episode import TaskEpisode, TaskSource, group_of
from timeful.tasks.families import OpenTask


class FictionOpener:
    """Opens games; keeps nothing."""

    def select(self, names: tuple[str, ...], source: TaskSource, seed: int) -> tuple[str, ...]:
        """Check the names of games."""
        for name in names:
            check_game(name)
        columns = [group_of("fiction", name) for name in names]
        if len(set(columns)) < len(set(names)):
            raise SettingsError(f"two story files have the same name: {', '.join(names)}")
        for name in names:
            check_extras(name)
        return names

    def open(self, episode: TaskEpisode) -> OpenTask:
        """Open the game of an episode."""
        seed = child_seed(episode.shared.seed, "game", episode.case, episode.run)
        task = FictionTask(open_game(episode.case, seed=seed))
        game = OpenTask(task=task, rule=lambda player: player.make())
        game.resources.callback(task.close)
        return game

    def close(self) -> None:
        """Do nothing."""
