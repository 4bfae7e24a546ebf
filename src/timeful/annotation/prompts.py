"""What an annotating model is told, in words of our own; settings may say otherwise.

The task asks for what Figure 9 of ProActor asks for, and for several turns at once. An answer is
the JSON object of Figure 9 for each turn, alone or in a list.
"""

from collections.abc import Sequence

from timeful.catalogs.catalog import Catalog
from timeful.dialogues.dialogue import Dialogue, Turn
from timeful.dialogues.transcript import line, transcript
from timeful.models.model import Message
from timeful.models.templates import fill

NAMES = (
    "turns",
    "turn_number",
    "current_speaker",
    "current_text",
    "dialogue_context",
    "tool_catalog",
)
"""What a task may say. `{turns}` are all turns of a request, a line each; `{turn_number}`,
`{current_speaker}` and `{current_text}` are of one."""

SYSTEM = """\
You annotate conversations between an agent and a customer. A program could act in them on its
own, by the tools of a catalog. You say, turn by turn, which tools it would have been right to
prepare or to call, what was known of their inputs, and how far they were. You know how the
conversation went on, and use that to tell what was really wanted; but what is known at a turn is
only what was said or done up to it. You answer in JSON and nothing else.
"""

TASK = """\
Here is a whole conversation. Annotate the turns listed below it.

CONVERSATION
{dialogue_context}

TURNS TO ANNOTATE
{turns}

TOOLS
{tool_catalog}

ANSWER
A JSON list with one object for each turn to annotate, in their order:
[{{
  "dialogue_turn": 1,
  "proactive_annotations": [
    {{
      "action_opportunity": {{
        "name": "the name of a tool",
        "description": "what it would do here",
        "inputs": {{
          "required": [{{"input_name": "an input of it", "provided": true, "value": "as said"}}],
          "optional": [{{"input_name": "another", "provided": false, "value": null}}]
        }},
        "readiness_maturity": "low | medium | high",
        "trigger_confidence": "low | medium | high",
        "action_trigger_status": "one of the five below"
      }}
    }}
  ]
}}]

The status of a tool at a turn is
- pending: it will be wanted, and something that it needs is not known yet;
- ready_to_trigger: all that it needs is known, and it could be called now;
- triggered: it was called at this very turn;
- repeatable: it was called, and will have to be called again;
- dismissed: it had come up, and at this turn it turned out not to be wanted.

Rules
- Name only tools that this conversation gives a reason for; mostly there are none to three at a
  turn, and where there are none the list "proactive_annotations" is empty.
- A tool stays ready_to_trigger at every turn from the first at which it could be called to the one
  before it is called.
- Say ready_to_trigger only if you are sure. If in doubt, it is pending.
- Values are written as they were said. An input that was not told by then is not provided.
"""


def messages(
    system: str, task: str, *, dialogue: Dialogue, turns: Sequence[Turn], catalog: Catalog
) -> tuple[Message, Message]:
    """The question for some turns of a dialogue, with the whole dialogue in view.

    Args:
        system: The system prompt.
        task: The task, a template that says some of `NAMES`.
        dialogue: The dialogue.
        turns: The turns that are asked for, at least one.
        catalog: The tools.
    """
    first = turns[0]
    values = {
        "turns": "\n".join(map(line, turns)),
        "turn_number": str(first.number),
        "current_speaker": first.speaker,
        "current_text": first.text,
        "dialogue_context": transcript(dialogue.turns),
        "tool_catalog": catalog.text(),
    }
    return Message("system", system), Message("user", fill(task, values))
