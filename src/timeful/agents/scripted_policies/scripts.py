"""Scripts for machine learning tasks, from quick to slow.

Each script is a complete program that reads the public files and writes a submission. Slower
scripts usually score better.

| rung | tabular data | texts | warm duration |
| --- | --- | --- | --- |
| prior | class frequencies | class frequencies | 0.05 s |
| bayes | naive Bayes | naive Bayes on words | 0.06 s |
| middle | trees on all columns, bagged | logistic regression on words, tuned | 0.4 s |
| forest | extremely randomised trees | trees on words and pairs | 1 s |
| search | cells times flags; best 3 of several models | character n-grams; best 3 | 2 s |
"""

from dataclasses import dataclass

from timeful.environments.coding.cases import Case
from timeful.environments.coding.dataset import PUBLIC, SUBMISSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Rung:
    """A script, with its reference duration: measured warm on a default case."""

    name: str
    seconds: float
    code: str


def ladder(case: Case) -> tuple[Rung, ...]:
    """The scripts for a case, in rising order of duration."""
    rungs = _TEXT if case.layout.kind == "text" else _TABLE
    return tuple(
        Rung(name=name, seconds=duration, code=_script(case, body))
        for name, duration, body in rungs
    )


def _script(case: Case, body: str) -> str:
    layout, metric = case.layout, case.answers.metric
    read = "read_json" if layout.train.endswith(".json") else "read_csv"
    inputs = _TEXTS.format(text=layout.text) if layout.kind == "text" else _CELLS
    head = _HEAD.format(
        read=read,
        public=PUBLIC,
        train=layout.train,
        test=layout.test,
        sample=layout.sample,
        target=layout.target,
        id=case.answers.id_column,
        scoring=_SCORING[metric],
    )
    return "\n".join(
        [head + inputs, body, _TAIL[metric].format(target=layout.target, file=SUBMISSION)]
    )


_SCORING = {"accuracy": "accuracy", "log_loss": "neg_log_loss", "auc": "roc_auc"}

_HEAD = """\
import time
import warnings

import numpy as np
import pandas as pd

began = time.perf_counter()
warnings.simplefilter("ignore")
train = pd.{read}("{public}/{train}")
test = pd.{read}("{public}/{test}")
sample = pd.read_csv("{public}/{sample}")
y = train["{target}"].to_numpy()
if y.dtype.kind not in "biuf":
    y = y.astype(str)
scoring = "{scoring}"
"""

_CELLS = """\
both = pd.concat([train, test])[[c for c in test.columns if c not in sample.columns]]
cells = both.select_dtypes("number")
cells = ((cells - cells.mean()) / cells.std().replace(0, 1)).fillna(0).to_numpy(float)
words = both.select_dtypes(exclude="number").astype("str")
words = words[[c for c in words.columns if words[c].nunique() <= 20]]
flags = np.hstack([cells[:, :0], *[pd.get_dummies(words[c], dtype=float) for c in words]])
X = np.hstack([cells, flags])
A, B = X[: len(train)], X[len(train) :]
"""

_TEXTS = """\
A, B = train["{text}"].fillna("").astype("str"), test["{text}"].fillna("").astype("str")
"""

_PROBABLE = """\
model.fit(A, y)
classes, given = model.classes_, model.predict_proba(B)
"""

_TAIL = {
    "accuracy": """\
sample["{target}"] = classes[given.argmax(axis=1)]
sample.to_csv("{file}", index=False)
print(f"took {{time.perf_counter() - began:.3f}} s")
""",
    "auc": """\
sample["{target}"] = given[:, 1]
sample.to_csv("{file}", index=False)
print(f"took {{time.perf_counter() - began:.3f}} s")
""",
    "log_loss": """\
given = np.clip(given, 1e-15, 1)
sample[list(classes)] = given / given.sum(axis=1, keepdims=True)
sample.to_csv("{file}", index=False)
print(f"took {{time.perf_counter() - began:.3f}} s")
""",
}

_PRIOR = f"""\
from sklearn.dummy import DummyClassifier

model = DummyClassifier(strategy="prior")
{_PROBABLE}"""

_BEST_THREE = """\
folds = StratifiedKFold(4, shuffle=True, random_state=0)
held_out = [cross_val_score(model, A, y, scoring=scoring, cv=folds).mean() for model in models]
given = 0
for place in np.argsort(held_out)[-3:]:
    model = models[place].fit(A, y)
    classes, given = model.classes_, given + model.predict_proba(B) / 3
"""

_TABLE = (
    ("prior", 0.05, _PRIOR),
    (
        "bayes",
        0.06,
        f"""\
from sklearn.naive_bayes import GaussianNB

model = GaussianNB(var_smoothing=1e-2)
{_PROBABLE}""",
    ),
    (
        "middle",
        0.3,
        f"""\
from sklearn.ensemble import BaggingClassifier

model = BaggingClassifier(n_estimators=30, random_state=0)
{_PROBABLE}""",
    ),
    (
        "forest",
        0.9,
        f"""\
from sklearn.ensemble import ExtraTreesClassifier

model = ExtraTreesClassifier(600, min_samples_leaf=2, random_state=0)
{_PROBABLE}""",
    ),
    (
        "search",
        2.0,
        f"""\
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

# A cell can mean another thing under each of two words.
two = [pd.factorize(words[c])[0][:, None] for c in words if words[c].nunique() == 2]
X = np.hstack([X, *[X * (1 - 2 * one) for one in two[:3]]])
A, B = X[: len(train)], X[len(train) :]
models = [LogisticRegression(C=C, max_iter=300) for C in (0.003, 0.01, 0.03, 0.1)]
models += [CalibratedClassifierCV(SVC(C=C), ensemble=False, cv=4) for C in (0.7, 1.5, 3)]
models += [ExtraTreesClassifier(80, min_samples_leaf=2, max_features=0.2, random_state=0)]
{_BEST_THREE}""",
    ),
)

_TEXT = (
    ("prior", 0.03, _PRIOR),
    (
        "bayes",
        0.06,
        f"""\
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

model = make_pipeline(CountVectorizer(), MultinomialNB())
{_PROBABLE}""",
    ),
    (
        "middle",
        0.45,
        f"""\
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

pipe = make_pipeline(TfidfVectorizer(), LogisticRegression(max_iter=300))
tried = {{"logisticregression__C": [0.3, 1, 3, 10]}}
model = GridSearchCV(pipe, tried, scoring=scoring, cv=4)
{_PROBABLE}""",
    ),
    (
        "forest",
        0.8,
        f"""\
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

words = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
model = make_pipeline(words, ExtraTreesClassifier(150, random_state=0))
{_PROBABLE}""",
    ),
    (
        "search",
        2.0,
        f"""\
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_union
from sklearn.svm import LinearSVC

words = TfidfVectorizer(ngram_range=(1, 3), sublinear_tf=True)
pieces = TfidfVectorizer(ngram_range=(2, 5), analyzer="char_wb", sublinear_tf=True)
features = make_union(words, pieces).fit(pd.concat([A, B]))
A, B = features.transform(A), features.transform(B)
models = [LogisticRegression(C=C, max_iter=300) for C in (1, 3, 10, 30, 100)]
models += [MultinomialNB(alpha=alpha) for alpha in (0.1, 0.5)]
models += [CalibratedClassifierCV(LinearSVC(C=C), cv=4) for C in (0.1, 0.3, 1)]
{_BEST_THREE}""",
    ),
)
