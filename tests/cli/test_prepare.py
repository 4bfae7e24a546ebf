"""`timeful prepare`: what it prints, and what it never prints."""

import pytest
from click.testing import CliRunner, Result

from tests.environments.coding.archives import SHAPES, archive
from timeful.cli.main import app
from timeful.cli.prepare import prepare
from timeful.environments.coding.cases import open_case
from timeful.errors import SettingsError


def invoke(*arguments: str) -> Result:
    return CliRunner().invoke(prepare, arguments)


@pytest.mark.parametrize("name", SHAPES)
def test_it_says_how_many_rows_there_are_and_shows_no_label(tmp_path, name):
    out = tmp_path / "made"
    result = invoke(name, "--zip", str(archive(tmp_path, name)), "--out", str(out))
    assert result.exit_code == 0
    case = open_case(name, data=out)
    count = len(case.answers.ids)
    assert result.stdout.endswith(f"rows with labels, {count} in the test split\n")
    assert result.stderr.startswith(f"warning: {name}.zip has the MD5 sum")
    for one in case.answers.ids:
        assert one not in result.output or len(one) < 4


def test_the_folder_is_named_after_the_case(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = "spaceship-titanic"
    result = invoke(name, "--zip", str(archive(tmp_path, name)))
    assert result.stdout == "spaceship-titanic: 36 rows with labels, 4 in the test split\n"
    assert (tmp_path / name / "private").stat().st_mode & 0o777 == 0o700


def test_the_nearest_case_is_offered(tmp_path):
    result = invoke("leaf-clasification", "--zip", str(tmp_path))
    assert isinstance(result.exception, SettingsError)
    assert "Did you mean 'leaf-classification'" in str(result.exception)


def test_a_missing_archive_is_named(tmp_path):
    result = invoke("leaf-classification", "--zip", str(tmp_path / "none.zip"))
    assert "there is no file" in str(result.exception)


def test_the_command_is_there():
    assert CliRunner().invoke(app, ["prepare", "--help"]).exit_code == 0
