"""The published numbers of the inbox, and the bands in which those of the stand-in count as same.

Typed from Tables 3 and 18 of the Engagement Process (arXiv 2605.11484): mean and half-width of the
bootstrap 95 % interval, over 1,000 episodes each. The bands (engagement facts, 3.3) are for a
stand-in whose parameters were fitted to these very numbers: they say that the dynamics are
consistent with them, and not that a language model sorts emails so.
"""

from collections.abc import Iterator

from timeful.suites.engagement.comparison import Band, Published

METRICS = ("Utility", "Balanced", "Timeout", "Latency", "Main")

Key = tuple[str, str, str]
"""Decomposition, interface and metric."""

_TABLE_18 = {
    "DeepSeek-V3.2": {
        ("single", "event-driven"): "3.023 .102  .792 .010  .315 .010  6.92 .20  .984 .008",
        ("single", "polling"): "2.016 .119  .619 .013  .426 .013  10.15 .17  .983 .008",
        ("single", "loop"): "0.730 .117  .382 .014  .598 .015  13.58 .27  1.000 .000",
        ("milestones", "event-driven"): "3.113 .105  .818 .009  .305 .011  6.91 .19  .995 .002",
        ("milestones", "polling"): "1.775 .115  .606 .014  .444 .014  11.33 .21  .998 .002",
        ("milestones", "loop"): "1.591 .123  .569 .014  .467 .015  11.83 .23  1.000 .000",
    },
    "Qwen3.5-Plus": {
        ("single", "event-driven"): "3.643 .087  .834 .009  .263 .010  7.28 .20  .988 .007",
        ("single", "polling"): "2.563 .110  .660 .013  .375 .012  10.47 .17  .981 .009",
        ("single", "loop"): "0.776 .118  .383 .014  .593 .015  13.70 .28  1.000 .000",
        ("milestones", "event-driven"): "3.755 .089  .859 .007  .253 .010  7.47 .19  .995 .002",
        ("milestones", "polling"): "2.029 .108  .632 .013  .417 .014  11.62 .21  .998 .001",
        ("milestones", "loop"): "1.767 .118  .590 .014  .446 .015  12.15 .22  1.000 .000",
    },
}

MODELS = tuple(_TABLE_18)
MAIN_MODEL = "DeepSeek-V3.2"
"""The model of Table 3, beside which ours are shown."""


def _read(model: str) -> Iterator[tuple[Key, Published]]:
    # The main text prints the same values for its model, without half-widths.
    source = "Tables 3 and 18" if model == MAIN_MODEL else "Table 18"
    for (decomposition, interface), line in _TABLE_18[model].items():
        numbers = [float(number) for number in line.split()]
        pairs = zip(METRICS, numbers[::2], numbers[1::2], strict=True)
        for metric, value, half_width in pairs:
            yield (
                (decomposition, interface, metric),
                Published(value=value, half_width=half_width, source=source),
            )


PUBLISHED: dict[str, dict[Key, Published]] = {model: dict(_read(model)) for model in MODELS}
"""Every published number, by model."""

_EP = {
    "Utility": Band(low=2.5, high=3.9),
    "Balanced": Band(low=0.72, high=0.86),
    "Timeout": Band(low=0.22, high=0.38),
    "Latency": Band(low=5.5, high=9.0),
}

_BANDS: dict[str, dict[tuple[str, str], dict[str, Band]]] = {
    "stand-in": {
        ("single", "event-driven"): _EP,
        ("milestones", "event-driven"): _EP,
        ("single", "loop"): {
            "Utility": Band(low=0.4, high=1.1),
            "Balanced": Band(low=0.36, high=0.43),
            "Timeout": Band(low=0.56, high=0.63),
            "Latency": Band(low=13.0, high=14.5),
            "Main": Band(low=0.99, high=1.0),
        },
        ("milestones", "loop"): {
            "Utility": Band(low=1.2, high=2.4),
            "Timeout": Band(low=0.40, high=0.52),
            "Latency": Band(low=10.8, high=12.8),
            "Main": Band(low=0.99, high=1.0),
        },
    },
    "urgent-first": {
        ("single", "event-driven"): {"Timeout": Band(low=0.0, high=0.02)},
        ("milestones", "event-driven"): {"Timeout": Band(low=0.0, high=0.02)},
    },
}

BANDS: dict[tuple[str, Key], Band] = {
    (policy, (decomposition, interface, metric)): band
    for policy, rows in _BANDS.items()
    for (decomposition, interface), bands in rows.items()
    for metric, band in bands.items()
}
"""By policy and number."""
