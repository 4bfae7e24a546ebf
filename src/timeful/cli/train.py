"""`timeful train`: a training from a file of settings, or one that has a name."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from timeful.cli.main import Lazy
from timeful.cli.options import rate_options, spending_options
from timeful.cli.train_hints import next_command
from timeful.cli.train_progress import GracefulInterrupt, NullProgress, TrainingProgress
from timeful.errors import SettingsError

if TYPE_CHECKING:
    from timeful.models.ledger import Expense
    from timeful.training.config import Config, SftConfig
    from timeful.training.loading import EmptyModel
    from timeful.training.rollout_tasks import RolloutTask
    from timeful.training.rollouts import RewardFunction

NAMED: dict[str, str] = {"quick": "timeful.cli.train_quick:quick"}
"""Trainings with commands of their own, by the place that defines them; they precede files."""

RECIPES: dict[str, str] = {
    "ep": "Engagement Process: right within the budget.",
    "proactor": "ProActor: turns of dialogues, judged.",
    "timely": "Timely Machine: Timely-RL, with a timer.",
}
"""The settings in the package."""


class Trainings(Lazy):
    """The trainings that have a name; any other name is a file."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The named trainings, and the settings in the package."""
        from timeful.training.config_io import recipes

        return [*super().list_commands(ctx), *recipes()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """A named training, or the training of a file."""
        command = super().get_command(ctx, cmd_name)
        if command is not None:
            return command
        return click.Command(
            cmd_name,
            params=list(_PARAMETERS),
            callback=partial(from_file, Path(cmd_name)),
            help="Train by the settings in this file.",
            short_help=RECIPES.get(cmd_name),
        )


_PARAMETERS = (
    click.Option(["--dry-run"], is_flag=True, help="Check and describe it; load no weights."),
    click.Option(["--replace"], is_flag=True, help="Delete the training in the folder first."),
    click.Option(
        ["--set", "changes"],
        multiple=True,
        metavar="TABLE.FIELD=VALUE",
        help="Another value of a field, such as run.out=runs/mine; repeatable.",
    ),
    click.Option(["--print", "is_printed"], is_flag=True, help="Print the file; train nothing."),
    *rate_options(),
    *spending_options(),
    click.Option(["--yes"], is_flag=True, help="Ask an expensive judge without a question."),
)

train = Trainings(
    NAMED,
    name="train",
    help="""Train a model to meet deadlines: `timeful train CONFIG.toml`.

    CONFIG.toml is a file, or one of the settings in the package. Settings are checked before
    the model is loaded. The same command resumes a training that was stopped. On several
    devices: `torchrun --nproc-per-node N -m timeful train CONFIG.toml`.

    \b
    timeful train ep --print > mine.toml      settings to change
    timeful train mine.toml --dry-run         checks and describes the training
    timeful train mine.toml --set run.out=runs/mine --set grpo.max_steps=10
    timeful report runs/mine                  the report, also of a training that is not done
    """,
    subcommand_metavar="CONFIG.toml [OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88},
)


def from_file(
    path: Path,
    *,
    changes: tuple[str, ...],
    dry_run: bool,
    replace: bool,
    is_printed: bool,
    **values: Any,
) -> None:
    """Train by a file of settings; `values` are those of the options of a judge."""
    from timeful.cli.train_judge import check_judge, refuse_judge_options
    from timeful.files import read_text
    from timeful.training.checks import check_settings, check_task_count
    from timeful.training.config import Config
    from timeful.training.config_io import read_config, recipe, recipes
    from timeful.training.folder import check_training, done
    from timeful.training.rollout_tasks import make_rollout_tasks

    if is_printed:
        is_recipe = str(path) in recipes() and not path.exists()
        print(recipe(str(path)) if is_recipe else read_text(path), end="")
        return
    config = read_config(path, changes, commands=list(NAMED))
    refuse_judge_options(config)
    processes = _processes()
    check_settings(config, processes=processes)
    if not replace:
        check_training(config)
    tasks = make_rollout_tasks(config) if isinstance(config, Config) else {}
    if isinstance(config, Config):
        check_task_count(config, len(tasks))
    is_first = os.environ.get("RANK", "0") == "0"
    is_due = replace or not done(Path(config.run.out))
    values |= {"dry_run": dry_run, "replace": replace}
    if dry_run:
        if is_first:
            try:
                _describe(config, tasks, processes)
            finally:
                check_judge(config, tasks, values)
        return
    probes: Sequence[Expense] = ()
    if is_due and is_first:
        probes = check_judge(config, tasks, values)
    if is_due:
        _load_empty(config, processes)
    _train(config, tasks, values, probes, is_first=is_first)


def _load_empty(config: "Config | SftConfig", processes: int) -> "EmptyModel":
    """Check this machine, and load all of a training but its weights."""
    from timeful.training.checks import check_machine

    check_machine(config)
    _quieten()
    from timeful.training.loading import load_empty
    from timeful.training.trainer_arguments import trainer_arguments

    trainer_arguments(config, processes=processes)
    return load_empty(config)


def _processes() -> int:
    """The number of processes that train together, which torchrun sets."""
    text = os.environ.get("WORLD_SIZE", "1")
    if not text.isdecimal() or not int(text):
        raise SettingsError(
            f"WORLD_SIZE is the number of processes that train together, which torchrun sets; got "
            f"{text!r}. Unset it, or start the training by torchrun"
        )
    return int(text)


def _describe(
    config: "Config | SftConfig", tasks: "Mapping[str, RolloutTask]", processes: int
) -> None:
    """Print a dry run, then raise the error of what this machine lacks for the training."""
    from timeful.training.config import Config
    from timeful.training.dry_run import describe_sft, describe_training

    empty, error = None, None
    try:
        empty = _load_empty(config, processes)
    except SettingsError as problem:
        error = problem
    if isinstance(config, Config):
        paragraphs = describe_training(config, tasks, empty, processes=processes)
    else:
        paragraphs = describe_sft(config, empty, processes=processes)
    print("\n\n".join(paragraphs), flush=True)
    if error is not None:
        raise error


def _train(
    config: "Config | SftConfig",
    tasks: "Mapping[str, RolloutTask]",
    values: Mapping[str, Any],
    probes: "Sequence[Expense]",
    *,
    is_first: bool,
) -> None:
    from timeful.cli.train_judge import limit_judge
    from timeful.training.config import Config

    with _open_folder(config, is_first=is_first, replace=values["replace"]) as progress:
        if progress is None:
            return
        if isinstance(config, Config):
            from timeful.training.grpo import train_grpo

            key = os.environ.get(config.rollout.api_key_name, "")
            rewards = _rewards(config)
            with limit_judge(config, values, probes) if is_first else nullcontext():
                policy = train_grpo(config, tasks, rewards, observer=progress, api_key=key)
        else:
            from timeful.training.sft import train_sft

            policy = train_sft(config, observer=progress)
        progress.end(policy, next_command(config, policy))


def _rewards(config: "Config") -> "RewardFunction":
    from timeful.rewards.registry import Reward
    from timeful.training.folder import EPISODES, RULER
    from timeful.training.reward_functions import JudgeReward, RecordReward

    out, judge = Path(config.run.out), config.judge
    reward = Reward(name=config.reward.name, parameters=config.reward.parameters)
    if judge is None:
        return RecordReward(reward, out / EPISODES)
    # Each process has a log of its own, since each asks for its own groups.
    rank = os.environ.get("RANK", "0")
    name = RULER if rank == "0" else RULER.replace(".", f"-{rank}.")
    model = judge.endpoint(os.environ.get(judge.key_name, ""))
    return JudgeReward(reward, model, judge, log=out / name)


@contextmanager
def _open_folder(
    config: "Config | SftConfig", *, is_first: bool, replace: bool
) -> "Iterator[TrainingProgress | None]":
    """The folder of a training, locked until it is over; None if the training is done."""
    from timeful.training.folder import CHECKPOINTS, POLICY, done, open_training

    out = Path(config.run.out)
    interrupt = GracefulInterrupt(is_loud=is_first)
    progress = (TrainingProgress if is_first else NullProgress)(out, interrupt)
    with open_training(config, replace=replace) if is_first else nullcontext() as is_resumed:
        if is_resumed and not done(out):
            print(f"resuming in {out}", file=sys.stderr)
        if done(out) and not (replace and not is_first):
            progress.end(out / POLICY, next_command(config, out / POLICY), is_old=True)
            yield None
            return
        try:
            with interrupt:
                yield progress
        except KeyboardInterrupt:
            progress.stopped(any((out / CHECKPOINTS).glob("checkpoint-*")))
            raise SystemExit(130) from None
        except Exception as error:
            if type(error).__module__.startswith("wandb"):
                raise SettingsError(
                    f"run.report_to = 'wandb': {error} Or keep its numbers here, with "
                    "WANDB_MODE=offline"
                ) from error
            if _is_peer_gone(error):  # the other process printed the reason
                print("timeful: another process of this training has ended", file=sys.stderr)
                raise SystemExit(1) from None
            raise
        finally:
            progress.end_bar()


def _is_peer_gone(error: Exception) -> bool:
    """Whether Gloo or NCCL reports that another process of the training is gone."""
    words = ("closed by peer", "reset by peer", "remote process exited")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def _quieten() -> None:
    """Silence libraries: warnings about each other, and a line of each update."""
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
