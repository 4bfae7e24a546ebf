"""`timeful new`: each template works, and so does its test."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from timeful.cli.new import KINDS, new
from timeful.errors import SettingsError


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_file_passes_its_own_test(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(new, [kind, "mine"], catch_exceptions=False)
    assert result.exit_code == 0
    command = [sys.executable, "-m", "pytest", "-q", "test_mine.py"]
    test = subprocess.run(command, capture_output=True, text=True, check=False)
    assert test.returncode == 0, test.stdout
    with pytest.raises(SettingsError):
        CliRunner().invoke(new, [kind, "mine"], catch_exceptions=False)


@pytest.mark.parametrize("arguments", [["thing", "x"], ["agent", "not a name"]])
def test_an_unknown_kind_or_a_bad_name_is_refused(arguments: list[str]) -> None:
    with pytest.raises(SettingsError):
        CliRunner().invoke(new, arguments, catch_exceptions=False)
