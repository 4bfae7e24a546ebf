"""`timeful train`: a training from a file of settings, or one that has a name."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from timeful.cli.main import Lazy
from timeful.cli.train_hints import next_command
from timeful.cli.train_progress import GracefulInterrupt, NullProgress, TrainingProgress
from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.training.config import Config, SftConfig
    from timeful.training.rollouts import RewardFunction

NAMED: dict[str, str] = {"quick": "timeful.cli.train_quick:quick"}
"""Trainings with commands of their own, by the place that defines them; looked up before files."""

RECIPES: dict[str, str] = {
    "ep": "Engagement Process: right within the budget.",
    "proactor": "ProActor: turns of dialogues, judged.",
    "timely": "Timely Machine: Timely-RL, with a timer.",
}
"""What the settings in the package are of."""


class Trainings(Lazy):
    """The trainings that have a name; any other name is that of a file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Those with a name, and the settings in the package."""
        from timeful.training.config_io import recipes

        return [*super().list_commands(ctx), *recipes()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """One with a name, or the training of a file."""
        named = super().get_command(ctx, cmd_name)
        if named is not None:
            return named
        return click.Command(
            cmd_name,
            params=list(_PARAMETERS),
            callback=partial(from_file, Path(cmd_name)),
            help="Train as the settings in this file say.",
            short_help=RECIPES.get(cmd_name),
        )


_PARAMETERS = (
    click.Option(["--dry-run"], is_flag=True, help="Load all but the weights, and say what is up."),
    click.Option(["--replace"], is_flag=True, help="Forget the training that the folder holds."),
    click.Option(
        ["--set", "changes"],
        multiple=True,
        metavar="TABLE.FIELD=VALUE",
        help="Another value of a field, such as run.out=runs/mine; repeatable.",
    ),
    click.Option(["--print", "is_printed"], is_flag=True, help="Print the file, and do nothing."),
)

train = Trainings(
    NAMED,
    name="train",
    help="""Train a model to be on time: `timeful train CONFIG.toml`.

    CONFIG.toml is a file, or one of the settings in the package. Everything is checked before
    anything heavy is loaded. A training that was stopped goes on when the same command is given
    again. On several devices: `torchrun --nproc-per-node N -m timeful train CONFIG.toml`.

    \b
    timeful train ep --print > mine.toml      settings to be changed
    timeful train mine.toml --dry-run         what would run, checked
    timeful train mine.toml --set run.out=runs/mine --set optimiser.steps=10
    timeful report runs/mine                  what it learnt, also on the way
    """,
    subcommand_metavar="CONFIG.toml [OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)


def from_file(
    path: Path, *, changes: tuple[str, ...], dry_run: bool, replace: bool, is_printed: bool
) -> None:
    """Train as a file of settings says."""
    from timeful.training.checks import check, check_settings, lacks
    from timeful.training.config import Config
    from timeful.training.config_io import read_config, recipe, recipes
    from timeful.training.doubts import doubts
    from timeful.training.folder import check_folder

    if is_printed:
        is_ours = str(path) in recipes() and not path.exists()
        print(recipe(str(path)) if is_ours else path.read_text(encoding="utf-8"), end="")
        return
    config = read_config(path, changes, named=list(NAMED))
    processes = _processes()
    offline = os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")
    if dry_run:
        check_settings(config, processes=processes)
    else:
        check(config, processes=processes, is_offline=offline)
    if not replace:
        check_folder(config)
    is_first = os.environ.get("RANK", "0") == "0"
    if dry_run:
        if is_first:
            _tell_outlook(config, processes, lacks(config, is_offline=offline))
        return
    if is_first:
        for doubt in doubts(config):
            print(f"warning: {doubt}", file=sys.stderr)
    if isinstance(config, Config):
        _learn(config, is_first=is_first, replace=replace)
    else:
        _imitate(config, is_first=is_first, replace=replace)


def _processes() -> int:
    """How many train together, as torchrun says it."""
    said = os.environ.get("WORLD_SIZE", "1")
    if not said.isdecimal() or not int(said):
        raise SettingsError(
            f"WORLD_SIZE is the number of processes that train together, which torchrun sets; got "
            f"{said!r}. Unset it, or start the training by torchrun"
        )
    return int(said)


def _tell_outlook(
    config: "Config | SftConfig", processes: int, lacking: dict[str, SettingsError]
) -> None:
    from timeful.training.cases import make_rollout_tasks
    from timeful.training.checks import check_task_count
    from timeful.training.config import Config

    scenes = make_rollout_tasks(config) if isinstance(config, Config) else {}
    if isinstance(config, Config):
        check_task_count(config, len(scenes))
    _quieten()
    from timeful.training.dry_run import describe_training

    for n, paragraph in enumerate(
        describe_training(config, scenes, processes=processes, lacking=lacking)
    ):
        print(f"\n{paragraph}" if n else paragraph)
    sys.stdout.flush()


def _learn(config: "Config", *, is_first: bool, replace: bool) -> None:
    from timeful.training.cases import make_rollout_tasks
    from timeful.training.checks import check_task_count

    scenes = make_rollout_tasks(config)
    check_task_count(config, len(scenes))
    with _opened(config, is_first=is_first, replace=replace) as opened:
        if opened is None:
            return
        told, stops = opened
        from timeful.training.grpo import train_grpo

        policy = train_grpo(
            config,
            scenes,
            _rewards(config),
            progress=told.advance,
            warn=told.warn,
            measured=told.measured,
            stops=stops,
            api_key=os.environ.get(config.rollout.api_key_name, ""),
        )
        told.end(policy, next_command(config, policy))


def _imitate(config: "SftConfig", *, is_first: bool, replace: bool) -> None:
    with _opened(config, is_first=is_first, replace=replace) as opened:
        if opened is None:
            return
        told, stops = opened
        from timeful.training.sft import train_sft

        policy = train_sft(
            config,
            progress=told.advance,
            warn=told.warn,
            measured=told.measured,
            stops=stops,
        )
        told.end(policy, next_command(config, policy))


def _rewards(config: "Config") -> "RewardFunction":
    from timeful.rewards.registry import Reward
    from timeful.training.folder import EPISODES, RULER
    from timeful.training.reward_functions import reward_by_judge, reward_by_record

    reward = Reward(name=config.reward.name, parameters=config.reward.parameters)
    judge = config.judge
    if judge is None:
        return reward_by_record(reward, out=Path(config.run.out) / EPISODES)
    # Each process has a log of its own, since each asks for its own groups.
    rank = os.environ.get("RANK", "0")
    name = RULER if rank == "0" else RULER.replace(".", f"-{rank}.")
    model = judge.endpoint(os.environ.get(judge.api_key_name, ""))
    return reward_by_judge(reward, model, judge, log=Path(config.run.out) / name)


@contextmanager
def _opened(
    config: "Config | SftConfig", *, is_first: bool, replace: bool
) -> "Iterator[tuple[TrainingProgress, GracefulInterrupt] | None]":
    """The folder of a training, held until it is over; None if there is nothing to do."""
    from timeful.records.folder import locked
    from timeful.training.folder import CHECKPOINTS, POLICY, done, open_folder

    out = Path(config.run.out)
    told = TrainingProgress(out) if is_first else NullProgress(out)
    with locked(out) if is_first else nullcontext():
        if is_first and open_folder(config, replace=replace) and not done(out):
            print(f"going on in {out}", file=sys.stderr)
        if done(out) and not (replace and not is_first):
            told.end(out / POLICY, next_command(config, out / POLICY), is_old=True)
            yield None
            return
        _quieten()
        try:
            with GracefulInterrupt(speaks=is_first) as patience:
                yield told, patience
        except KeyboardInterrupt:
            told.stopped(any((out / CHECKPOINTS).glob("checkpoint-*")))
            raise SystemExit(130) from None
        except Exception as error:
            if type(error).__module__.startswith("wandb"):
                raise SettingsError(
                    f"run.track = 'wandb': {error} Or keep its numbers here, with "
                    "WANDB_MODE=offline"
                ) from error
            if _is_left_alone(error):  # whoever left has said why
                print("timeful: another process of this training has ended", file=sys.stderr)
                raise SystemExit(1) from None
            raise
        finally:
            told.leave()


def _is_left_alone(error: Exception) -> bool:
    """Whether it says, in Gloo's words or NCCL's, that a process which trains along is gone."""
    words = ("closed by peer", "reset by peer", "remote process exited")
    return isinstance(error, RuntimeError) and any(one in str(error) for one in words)


def _quieten() -> None:
    """Keep libraries from saying what is no news here: about each other, and of each update."""
    import logging
    import warnings

    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", message="fan_in_fan_out")

    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_DATASETS_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    for name in ("transformers", "trl", "peft"):  # rollouts without a reward are counted by us
        logging.getLogger(name).setLevel(logging.ERROR)
