"""Variables and functions are nouns of their type and verbs, not pronouns and participles."""

import ast
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "timeful"
_TEXT = """
one ones other others another who whom whose what which whatever whoever such these those them
they it its itself mine ours theirs each both none nothing anything something everything nobody
anybody somebody everybody found said say says asked told made given taken seen known shown
heard held kept left drawn spoken chosen joined merged listed counted noted spoiled alike
further changed wanted needed meant built begun began brought bought gone came come went got had
ran written sent put played answered passed missed lost spent waited moved turned tried used
planned opened named called wished allowed expected added removed parsed loaded saved stored cut
unknown unseen untold unsaid unasked undone rest much many few enough like likes alone together
apart beside laid goes place places part parts deed deeds doing doings dear stayed owed paid
learnt learned taught finding saying asking telling making giving taking seeing knowing showing
"""
WORDS = frozenset(_TEXT.split())
LIMIT = 0.01
"""The largest share of such names among all bindings."""


def bindings(tree: ast.AST) -> Iterator[str]:
    """The names that a module binds: variables, parameters, functions, caught errors."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
            case ast.ExceptHandler(name=str(name)):
                yield name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield name


def test_fewer_than_one_in_a_hundred_names_are_pronouns_or_participles() -> None:
    names = [n for path in SOURCE.rglob("*.py") for n in bindings(ast.parse(path.read_text()))]
    count = sum(name.strip("_") in WORDS for name in names)
    assert count < LIMIT * len(names), f"{count} of {len(names)}"
