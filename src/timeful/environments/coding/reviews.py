"""A default case of texts: reviews of a lending shop for tools, made of phrases by a seed.

A review is a few remarks on parts of what was lent. A remark praises or complains, in plain words
or by denying the opposite ("not at all wobbly"); what comes after "but" is what the writer means,
and counts twice. Some words are misspelt. So the words alone tell something, pairs of
words more, and pieces of words help with what is misspelt. Phrases are our own.
"""

from dataclasses import dataclass

import numpy as np

from timeful.environments.coding.dataset import Dataset, Layout, csv_bytes
from timeful.environments.coding.graders import Answers
from timeful.seeding import child

TRAIN, TEST = 900, 600
WRONG = 0.05
"""The share of wrong labels in the train split."""
MISSPELT = 0.2
"""The share of telling words that are misspelt."""
DENIED = 0.25
"""The share of remarks that deny the opposite."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_THINGS = _words(
    "drill ladder saw sander mower heater pump mixer grinder lamp jack planer welder trolley hose"
)
_PARTS = _words(
    "handle switch cable blade motor case grip wheel lid hinge filter nozzle stand belt dial"
)
_GOOD = _words("sturdy quick clean quiet sharp smooth handy bright solid powerful steady precise")
_BAD = _words("wobbly slow dirty noisy blunt jammed clumsy dim cracked weak shaky crooked")
_IS = ("is", "was", "felt", "seemed", "looked")
_DENIES = ("not {}", "never {}", "hardly {}", "far from {}")
_AFFIRMS = ("{}", "very {}", "really {}", "quite {}", "still {}", "as {} as ever")
_OPENS = ("Lent the {}.", "Had the {} for a week.", "Took the {} home.", "The {} again.", "A {}.")
_ENDS = ("", "", "Brought it back early.", "Will be back.", "Thanks.", "Paid the usual.", "So.")


@dataclass(frozen=True, slots=True)
class _Remark:
    text: str
    mood: int


def reviews(seed: int) -> Dataset:
    """Texts by AUC, in place of pizza and insults: is a review content or not?"""
    rng = child(seed, "coding", "reviews")
    corpus = [_review(rng) for _ in range(TRAIN + TEST)]
    rows = [[f"r{i:04d}", text] for i, (text, _) in enumerate(corpus)]
    content = np.array([mood for _, mood in corpus])
    noisy_labels = np.where(rng.random(len(corpus)) < WRONG, 1 - content, content)
    return Dataset(
        task=(
            "Read reviews of tools that a shop lends, and predict which customers were content. "
            "Reviews have misspelt words, and some labels of the train split are wrong."
        ),
        layout=Layout(kind="text", target="content", text="text"),
        public={
            "train.csv": csv_bytes(
                ["id", "text", "content"],
                (
                    [*row, str(label)]
                    for row, label in zip(rows[:TRAIN], noisy_labels, strict=False)
                ),
            ),
            "test.csv": csv_bytes(["id", "text"], rows[TRAIN:]),
            "sample_submission.csv": csv_bytes(
                ["id", "content"], ([row[0], "0"] for row in rows[TRAIN:])
            ),
        },
        answers=Answers(
            metric="auc",
            id_column="id",
            columns=("content",),
            ids=tuple(row[0] for row in rows[TRAIN:]),
            truth=content[TRAIN:, None] * 1.0,
        ),
    )


def _review(rng: np.random.Generator) -> tuple[str, int]:
    """A review, and 1 if its writer is content, else 0."""
    while True:
        sentences, mood = [_choose(_OPENS, rng).format(_choose(_THINGS, rng))], 0
        for _ in range(int(rng.integers(2, 5))):
            remark = _remark(rng)
            if rng.random() < 0.2:
                turn = _remark(rng)
                sentences.append(f"The {remark.text}, but the {turn.text}.")
                mood += remark.mood + 2 * turn.mood
            else:
                sentences.append(f"The {remark.text}.")
                mood += remark.mood
        sentences.append(_choose(_ENDS, rng))
        if mood:  # of two minds: nobody could tell
            return " ".join(filter(None, sentences)), int(mood > 0)


def _remark(rng: np.random.Generator) -> _Remark:
    mood = int(rng.choice([-1, 1]))
    denied = rng.random() < DENIED
    words, frames = ((_GOOD, _BAD)[(mood > 0) == denied], (_AFFIRMS, _DENIES)[denied])
    word = _choose(words, rng)
    if rng.random() < MISSPELT:
        word = _misspelt(word, rng)
    predicate = _choose(frames, rng).format(word)
    return _Remark(f"{_choose(_PARTS, rng)} {_choose(_IS, rng)} {predicate}", mood)


def _misspelt(word: str, rng: np.random.Generator) -> str:
    at = int(rng.integers(1, len(word) - 1))
    match int(rng.integers(3)):
        case 0:
            return word[:at] + word[at + 1 :]
        case 1:
            return word[:at] + word[at] + word[at:]
        case _:
            return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _choose(of: tuple[str, ...], rng: np.random.Generator) -> str:
    return of[int(rng.integers(len(of)))]
