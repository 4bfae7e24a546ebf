"""`timeful run timely`: fiction, coding and reasoning, one after the other."""

from timeful.cli.suite_command import make_group_command

timely = make_group_command(
    "timely",
    ("timely/fiction", "timely/coding", "timely/reasoning"),
    flags={"unsafe": ("timely/coding",)},
)
