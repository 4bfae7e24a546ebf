"""Completion of the command line in shells."""

import pytest
from click.testing import CliRunner

from timeful.cli.completion import SHELLS
from timeful.cli.main import app


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_asks_the_command_for_completions(shell: str) -> None:
    result = CliRunner().invoke(app, ["completion", shell])
    assert result.exit_code == 0
    assert f"_TIMEFUL_COMPLETE={shell}_complete" in result.stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("timeful tr", "traces"),
        ("timeful run real", "realtime"),
        ("timeful run realtime --ag", "--agent"),
    ],
)
def test_commands_suites_and_options_are_completed(words: str, expected: str) -> None:
    count = len(words.split()) - 1
    variables = {
        "COMP_WORDS": words,
        "COMP_CWORD": str(count),
        "_TIMEFUL_COMPLETE": "bash_complete",
    }
    result = CliRunner().invoke(app, [], prog_name="timeful", env=variables)
    assert f"plain,{expected}" in result.stdout.split()


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(app, ["completion", "csh"]).exit_code == 2
