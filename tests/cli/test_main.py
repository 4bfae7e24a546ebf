"""`timeful` as a whole: what ends it, before any command has begun."""

from pathlib import Path

import pytest

from timeful.cli import main
from timeful.cli.progress import Progress
from timeful.errors import SettingsError


@pytest.mark.parametrize("arguments", [["list"], ["train"], ["metrics", "proactor"]])
def test_ctrl_c_while_a_command_is_loaded_ends_with_130_and_without_a_word(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = main.import_module

    def interrupted(name: str) -> object:
        if name != "timeful.cli.main":
            raise KeyboardInterrupt
        return load(name)

    monkeypatch.setattr(main, "import_module", interrupted)
    with pytest.raises(SystemExit) as left:
        main.app(arguments)
    assert left.value.code == 130
    assert capsys.readouterr() == ("", "")


def test_what_is_said_after_ctrl_c_fits_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.start(1940)
    progress.stopped(Path("runs/proactor"))
    assert max(map(len, capsys.readouterr().err.splitlines())) <= 80


@pytest.mark.parametrize(("typed", "meant"), [(["trian"], "train"), (["run", "timley"], "timely")])
def test_a_command_that_is_misspelt_is_answered_with_the_nearest(
    typed: list[str], meant: str
) -> None:
    with pytest.raises(SettingsError, match=f"unknown command .* Did you mean {meant!r}"):
        main.app(typed, standalone_mode=False)


@pytest.mark.parametrize("suite", ["timely", "engagement"])
def test_several_experiments_at_once_name_those_that_take_a_model(suite: str) -> None:
    with pytest.raises(SettingsError, match=f"--model is an option of {suite}/"):
        main.app(["run", suite, "--model", "local:policy"], standalone_mode=False)
