"""docs/training-fields.md has every field as it is."""

import msgspec
import pytest

from tests.training.fields import PAGE, PARTS, TRAINERS, about, page
from timeful.training.config import Config, SftConfig


def test_the_page_of_fields_is_that_of_the_code() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m tests.training.fields"


@pytest.mark.parametrize("name", PARTS)
def test_every_field_is_explained(name: str) -> None:
    fields = {one.name for one in msgspec.structs.fields(PARTS[name])}
    assert about(PARTS[name]).keys() == {"", *fields}


def test_every_table_has_its_fields_there() -> None:
    tables = {one.name for kind in (Config, SftConfig) for one in msgspec.structs.fields(kind)}
    assert {name[1:].partition("]")[0] for name in PARTS} | TRAINERS.keys() == tables
