"""What an engine does about the inbox by itself, under a reflex interface."""

from timeful.environments.game import View
from timeful.environments.inbox.view import InboxView


def answer_urgent(view: View) -> str | None:
    """Handle the email of high urgency that runs out first, without asking anybody.

    It is the rule of an out-of-hours desk: what is urgent is done, all else waits for somebody
    who can judge it.
    """
    assert isinstance(view, InboxView), "the rule is for an inbox world"
    urgent = [
        letter for letter in view.waiting() if letter.urgency == "high" and not letter.set_aside
    ]
    return f"handle {urgent[0].number}" if urgent else None
