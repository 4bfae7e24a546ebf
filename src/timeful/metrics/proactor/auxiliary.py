"""What records tell beside the metrics of turns: IC, AD and EC (appendices C and D.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from timeful.dialogues.dialogue import Dialogue
from timeful.errors import SettingsError
from timeful.metrics.proactor.alignment import Alignment, alignment
from timeful.metrics.proactor.episodes import Conversed
from timeful.metrics.proactor.questions import (
    InformationConsistency,
    Tfidf,
    mean_information_consistency,
)
from timeful.metrics.proactor.workflow import DependencyAlignment, transitions


@dataclass(frozen=True, slots=True, kw_only=True)
class Auxiliary:
    """The auxiliary metrics over some conversations.

    Attributes:
        ic: Over all turns; None where no agent asked anything, no reference has a question, or
            scikit-learn is not installed. Words are weighed by the reference questions.
        ad: Over all turns; None where no workflow is known, or the conversations have others.
        ec: At sigma 0, of the references and not of the agents: each dialogue counts once,
            however often it was held.
    """

    ic: InformationConsistency | None
    ad: DependencyAlignment | None
    ec: Alignment


def auxiliary(conversations: Sequence[Conversed]) -> Auxiliary:
    """Score conversations together, each turn alike."""
    return Auxiliary(
        ic=_consistency(conversations),
        ad=_dependency(conversations),
        ec=alignment({c.dialogue: _dialogue(c) for c in conversations}.values(), 0),
    )


def _consistency(conversations: Sequence[Conversed]) -> InformationConsistency | None:
    pairs = [pair for conversation in conversations for pair in conversation.questions]
    corpus = sorted({text for _, reference in pairs for text in reference})
    if not corpus or not any(predicted for predicted, _ in pairs):
        return None
    try:
        similarity = Tfidf(corpus)
    except SettingsError:
        return None
    return mean_information_consistency(pairs, similarity)


def _dependency(conversations: Sequence[Conversed]) -> DependencyAlignment | None:
    domains = {(c.workflows, c.actions) for c in conversations}
    if len(domains) != 1:
        return None
    ((workflows, actions),) = domains
    if not workflows:
        return None
    return transitions(workflows, actions).mean(
        [[action.name for action in turn.predictions] for turn in conversation.turns]
        for conversation in conversations
    )


def _dialogue(conversation: Conversed) -> Dialogue:
    ranges = conversation.turns[0].ready_ranges if conversation.turns else {}
    return Dialogue(id=conversation.dialogue, turns=conversation.transcript, ready_ranges=ranges)
