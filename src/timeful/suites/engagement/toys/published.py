"""The published numbers of the toy experiments, and the bands in which ours count as the same.

Typed from Tables 1, 2, 8, 9 and 14 to 16 of the Engagement Process (arXiv 2605.11484). They
come from one training seed, 42; their half-widths tell how sure evaluation is, and nothing about
training, whose spread over seeds is up to forty times as wide. So no band is a published
interval. The bands were set before these runs, from the spread over training seeds in the trials
that identified the dynamics; those of hand-written policies, which do not learn, are narrow.
"""

from collections.abc import Iterator

from timeful.suites.engagement.comparison import Band, Published

Key = tuple[str, str, str]
"""Experiment, method and metric."""


_DELIBERATION = ("return", "success %", "timeout %", "mode 5 %")
_MODULE = ("return", "resolve %", "expire %", "ticks")
_STATE = ("return", "resolve %", "expire %", "cost")

SINGLE, SEQUENTIAL = "deliberation/single", "deliberation/sequential"
MODULE, DEPTH_2, DEPTH_3 = "patrol/module", "patrol/depth-2", "patrol/depth-3"

# Tables of the appendix: mean and half-width of each metric in turn.
_APPENDIX = {
    ("Table 8", SINGLE, _DELIBERATION): {
        "EP -> EP": "0.80 0.11  46.7 1.8  0.0 0.0  21.2 1.5",
        "EP -> Step": "0.77 0.11  46.1 1.8  0.0 0.0  19.3 1.4",
        "Step -> Step": "2.54 0.09  75.6 1.6  0.0 0.0  93.5 0.9",
        "Step -> EP": "-1.03 0.08  16.1 1.3  79.0 1.5  93.6 0.9",
    },
    ("Table 9", SEQUENTIAL, _DELIBERATION): {
        "EP -> EP": "10.07 0.35  50.1 0.6  3.7 0.2  15.8 0.4",
        "EP -> Step": "21.54 0.31  69.2 0.5  0.0 0.0  55.0 0.6",
        "Step -> Step": "25.63 0.29  76.0 0.5  0.0 0.0  96.5 0.2",
        "Step -> EP": "-14.98 0.24  8.4 0.4  88.9 0.5  83.9 0.5",
    },
    ("Table 14", MODULE, _MODULE): {
        "EP": "896.59 4.27  90.9 0.1  8.0 0.1  10.94 0.02",
        "Loop": "-163.55 5.53  51.5 0.2  47.1 0.2  14.39 0.02",
    },
    ("Table 15", DEPTH_2, _STATE): {
        "EP": "175.09 5.27  62.8 0.3  36.5 0.3  61.70 0.50",
        "PatchPro": "25.06 5.47  53.9 0.3  45.4 0.3  27.99 0.36",
        "Patch": "-156.54 5.65  47.6 0.3  51.6 0.3  63.73 0.49",
        "Loop": "-344.96 5.38  34.9 0.3  64.4 0.3  0.00 0.00",
    },
    ("Table 16", DEPTH_3, _STATE): {
        "EP": "143.31 5.03  62.4 0.2  36.8 0.3  80.62 0.63",
        "PatchPro": "68.84 5.50  57.2 0.3  42.0 0.3  48.44 0.53",
        "Patch": "-101.05 5.27  48.4 0.3  50.8 0.3  27.10 0.32",
        "Loop": "-298.66 5.36  37.5 0.3  61.7 0.3  0.00 0.00",
    },
}

# Tables of the main text, as printed: some digits differ from the appendix.
_MAIN = {
    ("Table 1", SINGLE, _DELIBERATION): {
        "EP -> EP": "0.800 46.7 0.0 21.2",
        "Step -> EP": "-1.032 16.1 79.0 93.6",
    },
    ("Table 1", SEQUENTIAL, _DELIBERATION): {
        "EP -> EP": "10.07 50.1 3.7 15.9",
        "Step -> EP": "-14.98 8.4 88.9 84.0",
    },
    ("Table 2a", MODULE, _MODULE): {
        "EP": "896.6 90.9 8.0 10.9",
        "Loop": "-163.5 51.5 47.1 14.4",
    },
    ("Table 2b", DEPTH_2, _STATE): {
        "EP": "175.1 62.8 36.5 61.7",
        "PatchPro": "25.1 53.9 45.4 28.0",
        "Patch": "-156.5 47.6 51.6 63.7",
        "Loop": "-345.0 34.9 64.4 0.0",
    },
    ("Table 2b", DEPTH_3, _STATE): {
        "EP": "143.3 62.4 36.8 80.6",
        "PatchPro": "68.8 57.2 42.0 48.4",
        "Patch": "-101.0 48.4 50.8 27.1",
        "Loop": "-298.7 37.5 61.7 0.0",
    },
}


def _read(*, has_widths: bool) -> Iterator[tuple[str, Key, Published]]:
    """Read the lines: the table, whose number it is, and the number."""
    for (source, experiment, metrics), lines in (_APPENDIX if has_widths else _MAIN).items():
        for method, line in lines.items():
            numbers = [float(number) for number in line.split()]
            values = numbers[::2] if has_widths else numbers
            widths = numbers[1::2] if has_widths else [None] * len(values)
            for metric, value, width in zip(metrics, values, widths, strict=True):
                entry = Published(value=value, half_width=width, source=source)
                yield source, (experiment, method, metric), entry


PUBLISHED: dict[Key, Published] = {key: entry for _, key, entry in _read(has_widths=True)}
"""All numbers of the appendix's tables."""

PUBLISHED_MAIN: dict[Key, Published] = {key: entry for _, key, entry in _read(has_widths=False)}
"""All numbers of the main text's tables."""

# Learned rows: the least and the greatest mean over seeds, by metric.
_LEARNED: dict[tuple[str, str], dict[str, tuple[float, float]]] = {
    (SINGLE, "EP -> EP"): {
        "return": (0.65, 0.90),
        "success %": (44.5, 48.5),
        "timeout %": (0.0, 0.1),
        "mode 5 %": (12, 22),
    },
    (SINGLE, "Step -> Step"): {"return": (2.40, 2.65), "mode 5 %": (80, 100)},
    (SINGLE, "Step -> EP"): {"return": (-1.15, -0.80), "timeout %": (72, 81)},
    (SEQUENTIAL, "EP -> EP"): {
        "return": (9.0, 11.1),
        "success %": (48, 52),
        "timeout %": (0, 7),
        "mode 5 %": (8, 24),
    },
    (SEQUENTIAL, "EP -> Step"): {"return": (17, 22.5)},
    (SEQUENTIAL, "Step -> Step"): {"return": (22, 26.3), "mode 5 %": (70, 100)},
    (SEQUENTIAL, "Step -> EP"): {
        "return": (-18, -13),
        "success %": (3.5, 11),
        "timeout %": (80, 96),
    },
    (MODULE, "EP"): {
        "return": (780, 1065),
        "resolve %": (86, 95.5),
        "expire %": (3.5, 13),
        "ticks": (10.2, 11.6),
        "alarms": (55, 60),
    },
    (MODULE, "Loop"): {
        "return": (-180, -100),
        "resolve %": (51, 54.5),
        "expire %": (44, 48),
        "ticks": (14.2, 14.5),
        "alarms": (47, 49.5),
    },
    (DEPTH_2, "EP"): {
        "return": (140, 300),
        "resolve %": (61.5, 68.5),
        "cost": (45, 75),
        "alarms": (45, 47),
    },
    (DEPTH_3, "EP"): {
        "return": (110, 290),
        "resolve %": (61, 69),
        "cost": (55, 95),
        "alarms": (45, 47),
    },
}

_FIXED = {"return": 15.0, "resolve %": 1.0, "expire %": 1.0, "cost": 2.0}
"""How far a hand-written policy may be from its published number."""

_FIXED_LOOP_3 = {"return": 25.0, "resolve %": 1.5, "expire %": 1.5}
"""The same for Loop at depth 3, whose difference is unexplained."""


def _bands() -> Iterator[tuple[Key, Band]]:
    for (experiment, method), metrics in _LEARNED.items():
        for metric, (low, high) in metrics.items():
            yield (experiment, method, metric), Band(low=low, high=high)
    for key, entry in PUBLISHED.items():
        experiment, method, metric = key
        if experiment not in (DEPTH_2, DEPTH_3) or method == "EP":
            continue
        width = _FIXED[metric]
        if method == "Loop":
            # It leaves between two phases only, which costs nothing.
            width = 0.0 if metric == "cost" else width
            width = _FIXED_LOOP_3.get(metric, width) if experiment == DEPTH_3 else width
        yield key, Band(low=entry.value - width, high=entry.value + width)
        if metric == "return":
            yield (experiment, method, "alarms"), Band(low=45, high=47)


BANDS: dict[Key, Band] = dict(_bands())
"""The band of every number that has one."""
