"""Result rows and their files."""

import csv
from pathlib import Path

import msgspec
import pytest

from tests.viewer.material import HOSTILE
from timeful.errors import RecordError
from timeful.reports.results import ResultRow, read_results, write_csv, write_json

ROW = ResultRow(
    suite="realtime",
    experiment="load",
    setting="snake, hard, 8192 tokens/step",
    method="agile",
    metric="score",
    value=0.1 + 0.2,
    low=None,
    high=None,
    n=1,
    published=0.3906,
    source='Table 6, "as printed"',
    stand_in=True,
)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_results_are_read_as_they_were_written(count: int, tmp_path: Path) -> None:
    path = write_json([ROW] * count, tmp_path / "results.json")
    assert read_results(path) == [ROW] * count


@pytest.mark.parametrize("content", ["", "[{}]", '{"suite": 1}', "\xff"])
def test_a_file_that_is_no_results_is_named(content: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(RecordError, match=r"results\.json"):
        read_results(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"none\.json"):
        read_results(tmp_path / "none.json")


def test_a_spreadsheet_reads_the_csv(tmp_path: Path) -> None:
    path = write_csv([ROW], ResultRow, tmp_path / "table.csv")
    with path.open(encoding="utf-8", newline="") as file:
        (read,) = csv.DictReader(file)
    assert read["setting"] == ROW.setting
    assert read["source"] == ROW.source
    assert float(read["value"]) == ROW.value
    assert (read["low"], read["stand_in"]) == ("", "true")


def test_hostile_texts_of_a_table_are_one_cell_each(tmp_path: Path) -> None:
    texts = (f'{HOSTILE.replace(chr(0), "")},\n;"', "=" + "x" * 10_000_000)
    row = msgspec.structs.replace(ROW, setting=texts[0], method=texts[1])
    path = write_csv([row], ResultRow, tmp_path / "table.csv")
    limit = csv.field_size_limit(1 << 24)
    with path.open(encoding="utf-8", newline="") as file:
        (read,) = csv.DictReader(file)
    csv.field_size_limit(limit)
    assert (read["setting"], read["method"]) == (texts[0], f"'{texts[1]}")


def test_an_empty_csv_still_names_its_columns(tmp_path: Path) -> None:
    path = write_csv([], ResultRow, tmp_path / "table.csv")
    assert path.read_text(encoding="utf-8") == ",".join(ResultRow.__struct_fields__) + "\n"


def test_a_tuple_is_spaced_out(tmp_path: Path) -> None:
    class Pair(msgspec.Struct):
        name: str
        lengths: tuple[int, ...]

    path = write_csv([Pair(name="a", lengths=(3, 5))], Pair, tmp_path / "pairs.csv")
    assert path.read_text(encoding="utf-8") == "name,lengths\na,3 5\n"
