"""The options of a suite, derived from the fields of its episode dataclass.

A field gives one option: its name is the flag, its type how a value is read, the docstring under it
the help. A swept field can be repeated; a swept range, such as seeds, is given as a count.
`option` declares what a field cannot say by itself.
"""

import ast
import inspect
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from dataclasses import replace as replace_fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from timeful.core.units import Duration, in_seconds, seconds
from timeful.errors import SettingsError, check_known
from timeful.experiments.suite import Suite, Values
from timeful.models.counting import Counting
from timeful.models.kinds import kind_of
from timeful.models.model_spec import ModelSpec, read_spec
from timeful.models.role import ModelRole, read_role


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """The options of an endpoint, which all models of a run share."""

    base_url: str | None = None
    openai_url: str | None = None
    temperature: float | None = None
    record: str | None = None
    extra: str | None = None
    counting: Counting = "auto"

    def url_for(self, model: str) -> str | None:
        """The address for a model; that of the environment is for OpenAI's kinds alone."""
        kind = kind_of(model)
        is_openai = kind is not None and kind.key_name == "OPENAI_API_KEY"
        return self.base_url or (self.openai_url if is_openai else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a suite.

    Attributes:
        name: The name of the field.
        flag: The name on the command line, without dashes.
        kind: The type of the field.
        help: The text for `--help`.
        default: The default of the field; None if it has none.
        is_swept: Whether it can be given several times.
        is_count: Whether it is the number of values, from 0.
        needs: What an episode must be like for the option to have an effect, and that in words.
        is_hidden: Whether there is no such option; `--set` still reaches the field.
        is_main_model: Whether `--model` sets this role if its own option is not given; of a swept
            role, it adds a model.
        read: Reads a value from text; None reads it by its type.
        stand_ins: The names of the stand-ins of a role; that of the default alone if empty.
    """

    name: str
    flag: str
    kind: Any
    help: str
    default: Any
    is_swept: bool
    is_count: bool
    needs: tuple[Callable[[Any], bool], str] | None
    is_hidden: bool
    is_main_model: bool
    read: Callable[[str], Any] | None
    stand_ins: tuple[str, ...]

    @property
    def is_model(self) -> bool:
        """Whether the value is the model of a role."""
        return self.kind in (ModelRole, ModelSpec)

    @property
    def is_list(self) -> bool:
        """Whether the value is a tuple whose items are given one by one."""
        return self.read is not None and get_origin(self.kind) is tuple


def option(  # noqa: PLR0913 - one argument for each property of an option
    default: Any = MISSING,
    *,
    factory: Any = MISSING,
    flag: str = "",
    needs: tuple[Callable[[Any], bool], str] | None = None,
    read: Callable[[str], Any] | None = None,
    hidden: bool = False,
    main_model: bool = False,
    stand_ins: Sequence[str] = (),
    identifies: bool = True,
    of_stand_in: bool = False,
) -> Any:
    """Declare a field of an episode with more than its type, default and docstring.

    Args:
        default: The default.
        factory: Makes the default.
        flag: The name of the option, without dashes; the field's name with "-" for "_" by default.
        needs: What an episode must be like for the option to have an effect, and that in words.
        read: Reads a value, or an item of a tuple, from text; it may raise a ValueError.
        hidden: Leave the option out; `--set` still reaches the field.
        main_model: Let `--model` set this role where its own option is not given.
        stand_ins: The names of the stand-ins of a role.
        identifies: Whether a run with another value is another run.
        of_stand_in: Whether it has an effect on stand-ins alone; a report of language models
            leaves it out.
    """
    metadata = {
        "flag": flag,
        "needs": needs,
        "read": read,
        "hidden": hidden,
        "main_model": main_model,
        "stand_ins": tuple(stand_ins),
        "identifies": identifies,
        "of_stand_in": of_stand_in,
    }
    return field(default=default, default_factory=factory, metadata=metadata)


def suite_options(suite: Suite) -> list[Option]:
    """All options of a suite, in the order of the fields."""
    swept = set(suite.sweep)
    for values in suite.parts.values():
        swept |= {name for name, options in values.items() if len(options) > 1}
    counts = {name for name, values in suite.sweep.items() if isinstance(values, range)}
    return episode_options(suite.episode, swept=swept, counts=counts)


def episode_options(
    episode: type[Any], *, swept: Collection[str] = (), counts: Collection[str] = ()
) -> list[Option]:
    """The options of an episode.

    Args:
        episode: The dataclass.
        swept: The fields that vary.
        counts: The fields that are given as a number of values.
    """
    kinds, texts = get_type_hints(episode), attribute_docstrings(episode)
    return [
        Option(
            name=f.name,
            flag=f.metadata.get("flag")
            or f.name.replace("_", "-") + ("s" if f.name in counts else ""),
            kind=kinds[f.name],
            help=texts.get(f.name, ""),
            default=_default(f),
            is_swept=f.name in swept,
            is_count=f.name in counts,
            needs=f.metadata.get("needs"),
            is_hidden=f.metadata.get("hidden", False),
            is_main_model=f.metadata.get("main_model", False),
            read=f.metadata.get("read"),
            stand_ins=f.metadata.get("stand_ins", ()),
        )
        for f in fields(episode)
    ]


def load_presets(path: Path, episode: type[Any]) -> dict[str, Values]:
    """Read the presets in a TOML file: lists of values as options take them, or their number."""
    options = {option.name: option for option in episode_options(episode)}
    presets = tomllib.loads(path.read_text(encoding="utf-8"))["presets"]
    return {
        name: {
            field_name: range(values)
            if isinstance(values, int)
            else [read_value(options[field_name], text) for text in values]
            for field_name, values in preset.items()
        }
        for name, preset in presets.items()
    }


def _default(f: Field[Any]) -> Any:
    if f.default_factory is not MISSING:
        return f.default_factory()
    return None if f.default is MISSING else f.default


def attribute_docstrings(kind: type[Any]) -> dict[str, str]:
    """The docstrings under the attributes of a class and of its bases, where there is source."""
    texts: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        texts |= _own_docstrings(base)
    return texts


def _own_docstrings(kind: type[Any]) -> dict[str, str]:
    try:
        tree = ast.parse(dedent(inspect.getsource(kind)))
    except (OSError, TypeError, SyntaxError):
        return {}
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    texts = {}
    for statement, following in pairwise(body):
        if (
            isinstance(statement, ast.AnnAssign)
            and isinstance(statement.target, ast.Name)
            and isinstance(following, ast.Expr)
            and isinstance(following.value, ast.Constant)
            and isinstance(following.value.value, str)
        ):
            texts[statement.target.id] = " ".join(following.value.value.split())
    return texts


def choose_values(
    options: Sequence[Option], values: Mapping[str, Any], endpoint: Endpoint
) -> tuple[dict[str, Sequence[Any]], dict[str, Any]]:
    """Read what options were given: the values of fields that vary, and single values.

    Args:
        options: The options of a suite.
        values: What was given by the name of the field; several texts of a swept field. "model" is
            the model of roles that are not given.
        endpoint: The options that all models share.

    Raises:
        SettingsError: If a value cannot be read.
    """
    chosen: dict[str, Sequence[Any]] = {}
    fixed: dict[str, Any] = {}
    for option in options:
        value = values.get(option.name)
        if option.is_main_model and (model := values.get("model")) is not None:
            value = (*(value or ()), model) if option.is_swept else value or model
        if value in (None, ()):
            continue
        if option.is_count:
            if value < 1:
                raise SettingsError(f"--{option.flag} must be at least 1, got {value}")
            chosen[option.name] = range(value)
        elif option.is_swept:
            chosen[option.name] = [read_value(option, text, endpoint) for text in value]
        elif option.is_list:
            fixed[option.name] = tuple(read_value(option, text, endpoint) for text in value)
        else:
            fixed[option.name] = (
                value if isinstance(value, bool) else read_value(option, str(value), endpoint)
            )
    return chosen, fixed


def read_value(option: Option, text: str, endpoint: Endpoint | None = None) -> Any:
    """Read one value of an option.

    Raises:
        SettingsError: If the text is no value of the field's type.
    """
    if option.is_model:
        return read_model(option, text, endpoint or Endpoint())
    if option.read is not None:
        return read_text(f"--{option.flag}", text, option.read)
    return read_field(f"--{option.flag}", text, option.kind)


def read_model(option: Option, text: str, endpoint: Endpoint) -> Any:
    """Read the model of a role."""
    if option.kind is ModelRole:
        return read_role(
            text,
            stand_in=option.stand_ins or option.default.stand_in,
            base_url=endpoint.url_for(text),
            temperature=endpoint.temperature,
            record=endpoint.record,
            extra=endpoint.extra,
            counting=endpoint.counting,
        )
    return read_spec(
        text,
        base_url=endpoint.url_for(text),
        temperature=endpoint.temperature,
        record=endpoint.record,
        extra=endpoint.extra,
        counting=endpoint.counting,
    )


def read_field(name: str, text: str, kind: Any) -> Any:
    """Read a value of a type from text.

    Raises:
        SettingsError: If it cannot be read.
    """
    if get_origin(kind) is Literal:
        choices = {str(choice): choice for choice in get_args(kind)}
        check_known(name.lstrip("-"), text, choices)
        return choices[text]
    return read_text(name, text, _reader(kind))


def read_text(name: str, text: str, read: Callable[[str], Any]) -> Any:
    """Read a value from text.

    Raises:
        SettingsError: If it cannot be read.
    """
    try:
        return read(text)
    except ValueError as error:
        raise SettingsError(f"{name} cannot be {text!r}: {error}") from None


def _reader(kind: Any) -> Callable[[str], Any]:
    if kind is Duration:
        return lambda text: seconds(float(text))
    if kind is bool:
        return _read_bool
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType) and NoneType in arguments:
        inner = next(argument for argument in arguments if argument is not NoneType)
        return lambda text: None if text == "none" else _reader(inner)(text)
    if origin is tuple:
        return partial(_read_tuple, kinds=arguments)
    if kind in (int, float, str):
        reader: Callable[[str], Any] = kind
        return reader
    return str


def _read_bool(text: str) -> bool:
    choices = {"true": True, "yes": True, "false": False, "no": False}
    if text.lower() not in choices:
        raise ValueError("give true or false")
    return choices[text.lower()]


def _read_tuple(text: str, *, kinds: tuple[Any, ...]) -> tuple[Any, ...]:
    items = text.split(",")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        kinds = (kinds[0],) * len(items)
    if len(items) != len(kinds):
        raise ValueError(f"it takes {len(kinds)} values with commas between them")
    return tuple(_reader(kind)(item) for kind, item in zip(kinds, items, strict=True))


def read_changes(
    episode: type[Any], changes: Sequence[str], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Read `--set NAME=VALUE`: fields of an episode, or of the settings inside them.

    `world.arrival-rate=0.3` names a field of a field; the first part may be left out where one
    field only has such a setting.

    Args:
        episode: The dataclass.
        changes: The texts.
        defaults: The values of the fields that are changed inside.

    Raises:
        SettingsError: If a name is unknown or given twice, or a value cannot be read.
    """
    targets = _targets(episode, defaults)
    names = {path.replace("_", "-"): path for path in targets}
    short: dict[str, list[str]] = {}
    for path in targets:
        short.setdefault(path.rpartition(".")[2].replace("_", "-"), []).append(path)
    names |= {name: paths[0] for name, paths in short.items() if len(paths) == 1}
    values: dict[str, Any] = {}
    for change in changes:
        label, mark, text = (piece.strip() for piece in change.partition("="))
        if not mark:
            raise SettingsError(f"a setting is given as NAME=VALUE, got {change!r}")
        name = label.replace("_", "-")
        check_known("setting", name, names)
        if names[name] in values:
            raise SettingsError(f"the setting {label!r} is given twice")
        kind, read = targets[names[name]]
        if read is None:
            values[names[name]] = read_field(label, text, kind)
        else:
            value = read_text(label, text, read)
            values[names[name]] = (value,) if get_origin(kind) is tuple else value
    return _nest(values, defaults)


def _targets(
    kind: type[Any], defaults: Mapping[str, Any], prefix: str = ""
) -> dict[str, tuple[Any, Callable[[str], Any] | None]]:
    """The type of each setting and its reader, if it has one of its own, by its path."""
    targets: dict[str, tuple[Any, Callable[[str], Any] | None]] = {}
    readers = {f.name: f.metadata.get("read") for f in fields(kind)}
    for name, inner in get_type_hints(kind).items():
        value = defaults.get(name)
        if is_dataclass(value) and not isinstance(value, ModelRole | ModelSpec):
            nested = {f.name: getattr(value, f.name) for f in fields(value)}
            targets |= _targets(type(value), nested, f"{prefix}{name}.")
        else:
            targets[prefix + name] = inner, readers.get(name)
    return targets


def _nest(values: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Put changed settings into the values that hold them; all at once, since each is checked."""
    nested: dict[str, Any] = {}
    inside: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        name, dot, inner_path = path.partition(".")
        if dot:
            inside.setdefault(name, {})[inner_path] = value
        else:
            nested[name] = value
    for name, changes in inside.items():
        value = defaults[name]
        current = {f.name: getattr(value, f.name) for f in fields(value)}
        nested[name] = replace_fields(value, **_nest(changes, current))
    return nested


def show_default(option: Option) -> str:
    """The default of an option, as it is given on the command line."""
    value = option.default
    if option.is_model:
        return str(value.spec)
    if value is None or value is MISSING or is_dataclass(value):
        return ""
    if option.kind is Duration:
        return f"{in_seconds(value):g}"
    return str(value)
