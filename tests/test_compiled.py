"""Compiled modules: what they import is compiled as well, and no machine code outlives a source."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from timeful.compiled import _folder, compiled
from timeful.environments.deliberation import dynamics as deliberation_dynamics

RULES, LOWER, UPPER = (f"timeful._{name}_of_a_test" for name in ("rules", "lower", "upper"))

SOURCES = {
    RULES: "from typing import NamedTuple\nclass Rules(NamedTuple):\n    factor: int\n",
    LOWER: f"from {RULES} import Rules\ndef scaled(rules: Rules, x): return rules.factor * x\n",
    UPPER: f"from {LOWER} import scaled\ndef more(rules, x): return scaled(rules, x) + 1\n",
}
"""Numbers and two modules of functions; each takes something from the one before."""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    """The modules, in files that a test may change; none of them stays."""
    return {name: load(name, tmp_path, monkeypatch) for name in SOURCES}


def load(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(SOURCES[name], encoding="utf-8")
    spec = spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def change(module: ModuleType) -> None:
    path = Path(str(module.__file__))
    path.write_text(path.read_text(encoding="utf-8") + "# changed\n", encoding="utf-8")


@pytest.mark.parametrize("name", SOURCES)
def test_a_change_of_any_source_it_uses_gives_a_module_another_folder(
    sources: dict[str, ModuleType], name: str
) -> None:
    before = _folder(sources[UPPER])
    assert _folder(sources[UPPER]) == before
    change(sources[name])
    assert _folder(sources[UPPER]) != before


def test_a_change_of_a_source_it_does_not_use_leaves_a_module_its_folder(
    sources: dict[str, ModuleType],
) -> None:
    before = _folder(sources[LOWER])
    change(sources[UPPER])
    assert _folder(sources[LOWER]) == before


def test_functions_from_other_modules_are_compiled_as_well(
    sources: dict[str, ModuleType],
) -> None:
    numba = pytest.importorskip("numba")
    upper, rules = compiled(sources[UPPER]), sources[RULES].Rules(factor=3)
    for name in ("scaled", "more"):
        assert numba.extending.is_jitted(getattr(upper, name))
    assert upper.more(rules, 2) == sources[UPPER].more(rules, 2) == 7


def test_machine_code_is_kept_beside_the_source() -> None:
    folder = _folder(deliberation_dynamics)
    assert folder.parents[1] == Path(str(deliberation_dynamics.__file__)).parent
