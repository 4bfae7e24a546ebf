"""`timeful run engagement`: toys, inbox and kitchen, one after the other."""

from pathlib import Path

import click

from timeful.cli.suite import FILE, batch_options, models_elsewhere
from timeful.errors import check_known


@click.command()
@click.option(
    "--out",
    type=FILE,
    default="runs/engagement",
    show_default=True,
    help="The folder; each experiment has its run folder in it.",
)
@click.option(
    "--preset",
    default="paper",
    help="paper: as many episodes as published (default). quick: a few of each.",
)
@batch_options
@models_elsewhere("engagement/inbox", "engagement/kitchen")
@click.pass_context
def engagement(
    context: click.Context,
    *,
    out: Path,
    preset: str,
    workers: int | None,
    replace: bool,
    retry_failed: bool,
) -> None:
    """Every experiment of the Engagement Process that needs no paid model, beside the published.

    This is `engagement/toys`, `engagement/inbox` and `engagement/kitchen` with their defaults;
    those have options of their own, the last two --model among them. When the same command is given
    again, what was stopped goes on, and the toys, a minute with numba, begin anew.
    """
    from timeful.cli.engagement_toys import toys
    from timeful.cli.suite_command import load_command

    check_known("preset", preset, ("quick", "paper"))
    common = {"workers": workers, "replace": replace, "preset": preset}
    episodes = {**common, "retry_failed": retry_failed}
    inbox, kitchen = load_command("engagement/inbox"), load_command("engagement/kitchen")
    has_failed = False
    for command, options in ((toys, common), (inbox, episodes), (kitchen, episodes)):
        name = str(command.name).removeprefix("engagement/")
        click.echo(f"\n=== engagement/{name}\n")
        try:
            context.invoke(command, out=out / name, **options)
        except SystemExit as end:  # episodes that failed; the others are played all the same
            if end.code != 1:
                raise
            has_failed = True
    if has_failed:
        raise SystemExit(1)
