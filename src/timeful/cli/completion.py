"""`timeful completion`: commands and options by the Tab key."""

import click

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that completes commands and options in SHELL.

    Add a line to the start-up file of the shell. ~/.bashrc: eval "$(timeful completion bash)";
    ~/.zshrc: eval "$(timeful completion zsh)"; ~/.config/fish/config.fish: timeful completion fish
    | source.
    """
    from click.shell_completion import get_completion_class

    from timeful.cli.main import app

    kind = get_completion_class(shell)
    assert kind is not None, "click has a class for each of these shells"
    script = kind(app, {}, "timeful", "_TIMEFUL_COMPLETE")
    # Not `source()`, which starts Bash to see its version.
    print(script.source_template % script.source_vars())
