"""What is wrong in a file, with what would have been right."""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from timeful.dialogues.explaining import explain

Word = Literal["early", "late"]


class Inner(msgspec.Struct, forbid_unknown_fields=True, rename={"word": "a_word"}):
    word: Word | None = None
    count: int = 0


class Outer(msgspec.Struct, forbid_unknown_fields=True):
    inner: Inner = msgspec.field(default_factory=Inner)
    many: list[Inner] = []
    named: dict[str, tuple[Inner, ...]] = {}
    keyed: dict[Word, int] = {}
    short: Annotated[tuple[Word, ...], msgspec.Meta(max_length=3)] = ()
    anything: Any = None


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"iner": {}}, "unknown field `iner`; there are anything, inner, keyed, many, named, "
                       "short. Did you mean 'inner'?"),
        ({"inner": {"cuont": 1}}, "; there are a_word, count. Did you mean 'count'?"),
        ({"inner": {"a_word": "eraly"}}, "; one of early, late. Did you mean 'early'?"),
        ({"many": [{}, {"a_word": "x"}]}, "$.many[1].a_word`; one of early, late"),
        ({"named": {"x": [{"words": 1}]}}, "; there are a_word, count. Did you mean 'a_word'?"),
        ({"keyed": {"soon": 1}}, "`key` in `$.keyed`; one of early, late"),
        ({"short": ["late", "lat"]}, "; one of early, late. Did you mean 'late'?"),
        ({"inner": ["x"]}, "; it looks like {a_word, count}"),
        ({"many": {"x": 1}}, "; it looks like [{a_word, count}, ...]"),
        ({"named": []}, "; it looks like {NAME: [{a_word, count}, ...]}"),
    ],
)  # fmt: skip
def test_what_there_is_follows_what_is_unknown(data: object, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(data, Outer)
    assert explain(error.value, Outer).endswith(said)


@pytest.mark.parametrize(
    "data", [{"inner": {"count": "x"}}, {"keyed": {"late": []}}, {"short": ["late"] * 4}]
)
def test_other_errors_are_said_as_they_are(data: object) -> None:
    with pytest.raises(msgspec.ValidationError) as error:
        msgspec.convert(data, Outer)
    assert explain(error.value, Outer) == str(error.value)
    assert explain(ValueError("no JSON"), Outer) == "no JSON"
