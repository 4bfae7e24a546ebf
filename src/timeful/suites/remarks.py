"""Sentences that the reports of several suites share."""


def count_unusable(count: int, answers: int) -> str:
    """How many answers of a model could not be used."""
    share = 100 * count / max(answers, 1)
    return f"Unusable answers: {share:.0f} % ({count} of {answers})."
