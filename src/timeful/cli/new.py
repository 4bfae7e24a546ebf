"""`timeful new`: write a small working file with its test."""

from pathlib import Path

import click

from timeful.errors import SettingsError, check_known

KINDS = ("agent", "world", "task", "suite")
_TEMPLATES = Path(__file__).with_name("templates")


@click.command()
@click.argument("kind")
@click.argument("name")
def new(kind: str, name: str) -> None:
    """Write NAME.py with a small working agent, world, task or suite, and test_NAME.py.

    KIND is agent, world, task or suite.
    """
    check_known("kind", kind, KINDS)
    if not name.isidentifier():
        raise SettingsError(f"a name is letters, digits and _, got {name!r}")
    files = {Path(f"{name}.py"): f"{kind}.txt", Path(f"test_{name}.py"): f"test_{kind}.txt"}
    for path in files:
        if path.exists():
            raise SettingsError(f"{path} exists; choose another name")
    for path, template in files.items():
        text = (_TEMPLATES / template).read_text(encoding="utf-8")
        path.write_text(text.replace("NAME", name), encoding="utf-8", newline="\n")
        print(path)
    runs = {
        "agent": f"timeful run realtime --agent {name}.py:agent --game snake --difficulty easy",
        "suite": f"timeful run {name}.py",
    }
    print(f"next     {runs.get(kind, f'python {name}.py')}")
