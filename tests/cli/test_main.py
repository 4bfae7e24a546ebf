"""`timeful` as a whole: what ends it, before any command has begun."""

import pytest

from timeful.cli import main


@pytest.mark.parametrize("arguments", [["list"], ["run", "proactor"], ["metrics", "proactor"]])
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
