"""Suites as tasks of Inspect, runs as its logs, and paces from its logs; tested with 0.3.285."""

from importlib.util import find_spec

from timeful.errors import SettingsError

if find_spec("inspect_ai") is None:
    raise SettingsError("the bridge to Inspect needs it installed: pip install 'timeful[inspect]'")
