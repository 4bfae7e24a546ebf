"""docs/training-fields.md, made of the settings and their docstrings.

    python -m tests.training.fields

writes it again; `test_fields.py` fails where it is another.
"""

import json
import re
from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from timeful.judges.ruler_settings import RulerJudge
from timeful.training.config import (
    GRPO_DEFAULTS,
    SFT_DEFAULTS,
    CasesPart,
    ExamplesPart,
    ModelPart,
    RewardPart,
    RolloutPart,
    RunPart,
    TurnsPart,
)

PAGE = Path(__file__).parents[2] / "docs" / "training-fields.md"

PARTS: Mapping[str, type[msgspec.Struct]] = {
    "[model]": ModelPart,
    '[cases], `kind = "timely"`': CasesPart,
    '[cases], `kind = "turns"`': TurnsPart,
    "[reward]": RewardPart,
    "[judge]": RulerJudge,
    "[rollout]": RolloutPart,
    "[run]": RunPart,
    "[examples]": ExamplesPart,
}

TRAINERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "grpo": ("GRPOConfig", GRPO_DEFAULTS),
    "sft": ("SFTConfig", SFT_DEFAULTS),
}

HEAD = """\
# Fields of a training

Every field of the files of [training.md](training.md), with its value where it is left out. Made of
`timeful.training.config` by `python -m tests.training.fields`; a test holds them equal.

Paths start at the folder of the file, also those that `--set` gives; with settings of the package
they start where the command is given. TOML has no null: it is `"none"`, in `--set` too.
"""


def page() -> str:
    """The page."""
    tables = [table(name, part) for name, part in PARTS.items()]
    return "\n".join([HEAD, *tables, *map(trainer, TRAINERS)])


def trainer(name: str) -> str:
    """The defaults of a table of TRL's fields."""
    kind, defaults = TRAINERS[name]
    lines = [
        f"## [{name}]",
        "",
        f"Fields of TRL's `{kind}`, by their names there. Defaults that are",
    ]
    lines += ["timeful's own:", "", "| field | default |", "| --- | --- |"]
    lines += [
        f"| `{field}` | `{json.dumps('none' if value is None else value)}` |"
        for field, value in defaults.items()
    ]
    return "\n".join(lines) + "\n"


def table(name: str, part: type[msgspec.Struct]) -> str:
    """The fields of a table of the file."""
    said = about(part)
    lines = [f"## {name}", "", said[""], "", "| field | default | what |", "| --- | --- | --- |"]
    lines += [
        f"| `{one.name}` | {default(one)} | {said[one.name]} |"
        for one in msgspec.structs.fields(part)
    ]
    return "\n".join(lines) + "\n"


def about(part: type[msgspec.Struct]) -> dict[str, str]:
    """What docstrings say of each field, and of all under "".

    Raises:
        KeyError: If they speak of what is no field.
    """
    found: dict[str, str] = {}
    known = {one.name for one in msgspec.structs.fields(part)}
    for kind in reversed(part.__mro__):
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__doc__):
            continue
        head, _, rest = cleandoc(kind.__doc__).partition("\n\nAttributes:\n")
        found[""] = " ".join(head.split())
        for field in re.split(r"\n(?=    \w)", rest.rstrip()) if rest else ():
            name, _, text = field.strip().partition(": ")
            if name not in known:
                raise KeyError(f"{kind.__name__} has no field {name}")
            text = " ".join(text.split()).rstrip(".").replace("|", "\\|")
            found[name] = text[:1].upper() + text[1:] if not text.startswith('"') else text
    return found


def default(field: Any) -> str:
    """A field's value where it is left out, as TOML writes it."""
    if field.required:
        return "must be given"
    made = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    return f"`{json.dumps('none' if made is None else made)}`"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
