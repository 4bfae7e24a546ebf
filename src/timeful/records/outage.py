"""Outages: models whose endpoint failed and that gave no token in a whole episode.

Under a wall clock the world goes on while a request is repeated. A thought that is cut in the
meantime is cancelled, as that of a slow model is, so only its record tells the difference.
"""

from collections.abc import Iterable

from timeful.records.events import Entry, ThoughtEnded, ThoughtStarted, Within

_KINDS = frozenset((ThoughtStarted, ThoughtEnded, Within))


def find_outage(events: Iterable[Entry]) -> str | None:
    """Describe the outage of a model in an episode; None if there is none.

    A model with an outage has no thought with a part of an answer, and a thought that was cut
    after a failed attempt. A failed thought, whose error the agent has handled, counts if no
    model of the episode has answered.
    """
    models: dict[tuple[str, int], str] = {}
    answered: set[str] = set()
    failures: dict[str, list[str]] = {}
    errors: dict[str, list[str]] = {}
    for entry in events:
        if type(entry) not in _KINDS:
            continue
        module, event = (entry.module, entry.what) if isinstance(entry, Within) else ("", entry)
        if isinstance(event, ThoughtStarted):
            models[module, event.thought] = event.model
        elif isinstance(event, ThoughtEnded):
            model = models.get((module, event.thought), "")
            if event.tokens or event.state == "completed":
                answered.add(model)
            elif event.state == "failed":
                errors.setdefault(model, []).append(event.cause or "")
            elif isinstance(event.failure, str):
                failures.setdefault(model, []).append(event.failure)
    if not answered:
        failures = errors | failures
    dead = [model for model in failures if model not in answered]
    if not dead:
        return None
    last = failures[dead[0]]
    return f"{dead[0]} gave no token: {len(last)} thoughts ended in failures, the last: {last[-1]}"
