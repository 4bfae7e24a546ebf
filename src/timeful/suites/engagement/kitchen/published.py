"""The published numbers of the kitchen, and the bands in which those of the stand-in count as same.

Typed from Tables 4 and 20 to 24 of the Engagement Process (arXiv 2605.11484), DeepSeek-V3.2: mean
and half-width of the bootstrap 95 % interval, over 128 and 72 episodes. The bands (engagement
facts, 4.3) were set before these runs, for a rule whose calls cost 12 ticks. No band is set for
the loop and the polls' utility in the multi-dish setting, nor for switches, priority, deferral and
resume delays: there a language model does what no simple rule does.
"""

from collections.abc import Iterator
from math import inf

from timeful.suites.engagement.comparison import Band, Published

MODEL = "DeepSeek-V3.2"

Key = tuple[str, str, str, str]
"""Setting, family ("all" for all), method and metric."""

ALL = "all"
ONE, MULTI = "one-dish", "multi-dish"

UTILITY, DISH, CRITICAL, SOFT = "Utility", "Dish done", "Critical", "Soft qual."
SEEN, FINISHED, SWITCHES = "Vis. delay", "Fin. delay", "Switches"
PRIORITY, DEFER, RESUME = "Priority", "Soft defer", "Resume del."
INTERRUPTED, RESUMED, OVERLAP, RESTART = "Interrupted", "Resumed", "Overlap", "Restart"

METHODS = ("AgentLoop", "Periodic Poll", "ReflexPatch", "EP")

_LINES: dict[tuple[str, str, tuple[str, ...]], dict[str, tuple[str, str, str, str]]] = {
    ("Tables 4 and 20", ONE, (UTILITY, DISH, SEEN, FINISHED, SWITCHES)): {
        ALL: (
            "3.604 .414  0.266 .075  224.849 50.247  227.750 49.467  2.000 .000",
            "5.598 .335  0.922 .043  4.659 1.540  17.151 1.596  3.273 .192",
            "5.254 .306  0.938 .043  4.468 3.625  15.960 3.137  3.891 .176",
            "5.731 .313  0.938 .043  3.057 2.789  15.484 3.000  3.352 .207",
        )
    },
    ("Table 21", ONE, (UTILITY, SEEN, FINISHED)): {
        "critical_medium": (
            "3.463 .812  182.105 93.947  194.105 92.448",
            "5.871 .641  3.161 2.903  15.161 2.952",
            "5.203 .594  2.759 4.138  14.759 4.138",
            "6.189 .638  2.500 3.750  14.500 3.750",
        ),
        "critical_narrow": (
            "3.731 .877  232.286 88.738  214.542 83.980",
            "5.123 1.023  5.844 3.516  17.844 3.484",
            "5.447 .383  0.000 .000  12.000 .000",
            "6.306 .595  3.161 4.742  14.750 5.063",
        ),
        "critical_wide": (
            "3.339 .721  193.333 122.600  205.333 122.767",
            "5.605 .320  2.875 1.844  14.875 1.844",
            "4.917 .892  11.774 13.307  21.742 10.936",
            "5.217 .691  6.387 8.065  19.484 8.742",
        ),
        "soft_keepwarm": (
            "3.884 .836  287.556 92.973  299.556 93.417",
            "5.791 .355  6.774 3.452  20.774 3.871",
            "5.447 .314  3.406 3.938  15.406 4.078",
            "5.211 .449  0.000 .000  13.103 1.655",
        ),
    },
    (
        "Tables 4 and 22",
        MULTI,
        (UTILITY, CRITICAL, SOFT, SEEN, FINISHED, PRIORITY, DEFER, RESUME),
    ): {
        ALL: (
            "19.671 1.290  .745 .068  .833 .079  74.108 18.466  91.691 18.819  .870 .131  .119 .046"
            "  146.210 31.160",
            "18.981 1.235  .718 .076  .971 .032  17.987 5.877  37.625 8.398  .857 .215  .084 .039"
            "  83.651 18.810",
            "21.202 1.009  .913 .051  .952 .046  17.897 9.010  28.568 8.614  - -  .069 .063"
            "  93.647 22.277",
            "21.288 .852  .936 .043  .957 .040  9.693 6.548  28.537 8.157  .722 .195  .098 .044"
            "  88.605 15.303",
        )
    },
    ("Table 23", MULTI, (UTILITY, CRITICAL, SOFT, DEFER, RESUME)): {
        "resume_pressure": (
            "21.103 2.527  .785 .108  .917 .104  .111 .080  155.136 55.870",
            "19.133 2.390  .715 .116  .958 .063  .097 .080  96.717 33.321",
            "22.226 1.489  .965 .045  1.000 .000  .000 .000  79.465 20.468",
            "21.784 1.284  .979 .031  .938 .084  .146 .094  88.335 25.339",
        ),
        "soft_vs_critical_conflict": (
            "18.243 1.455  .674 .112  .806 .122  .172 .083  123.927 43.707",
            "20.351 1.245  .847 .104  .979 .031  .090 .066  63.421 9.035",
            "20.572 1.815  .944 .063  .903 .097  .208 .167  64.033 11.049",
            "21.078 1.591  .958 .052  .938 .063  .076 .063  70.010 11.129",
        ),
        "staggered_criticals": (
            "19.668 2.296  .778 .125  .773 .159  .073 .063  159.567 56.769",
            "17.460 2.502  .590 .142  .977 .034  .066 .059  90.815 41.924",
            "20.809 1.922  .830 .124  .955 .068  .000 .000  137.442 58.092",
            "21.003 1.566  .872 .101  1.000 .000  .073 .063  107.469 34.424",
        ),
    },
    ("Table 24", ONE, (INTERRUPTED, RESUMED, OVERLAP, RESTART)): {
        ALL: (
            "0.000 .000  0.000 .000  - -  - -",
            "0.312 .079  0.297 .082  0.000 .000  0.026 .040",
            "0.297 .078  0.297 .082  0.073 .077  0.079 .092",
            "0.344 .082  0.344 .078  0.001 .001  0.000 .000",
        )
    },
    ("Table 24", MULTI, (INTERRUPTED, RESUMED, OVERLAP, RESTART)): {
        ALL: (
            "0.000 .000  0.000 .000  - -  - -",
            "2.014 .236  1.986 .236  0.018 .019  0.017 .020",
            "1.903 .285  1.903 .278  0.023 .031  0.021 .028",
            "2.028 .257  2.028 .250  0.016 .018  0.015 .018",
        )
    },
}


def _read() -> Iterator[tuple[Key, Published]]:
    for (source, setting, metrics), families in _LINES.items():
        # The main text prints only the first columns of each setting.
        main = {UTILITY, DISH, CRITICAL, SOFT, SEEN, FINISHED}
        for family, rows in families.items():
            for method, row in zip(METHODS, rows, strict=True):
                numbers = row.split()
                for metric, value, half in zip(metrics, numbers[::2], numbers[1::2], strict=True):
                    if value == "-":
                        continue
                    table = source if metric in main else source.replace("Tables 4 and", "Table")
                    yield (
                        (setting, family, method, metric),
                        Published(value=float(value), half_width=float(half), source=table),
                    )


PUBLISHED: dict[Key, Published] = dict(_read())
"""Every published number."""

_LOOP = {DISH: Band(low=0.15, high=0.70), SEEN: Band(low=100, high=inf)}
_QUICK = {DISH: Band(low=0.92, high=1.0), SEEN: Band(low=0, high=5)}
_MULTI_QUICK = {CRITICAL: Band(low=0.86, high=0.98), UTILITY: Band(low=20, high=23)}

BANDS: dict[Key, Band] = {
    (setting, ALL, method, metric): band
    for (setting, method), bands in {
        (ONE, "AgentLoop"): _LOOP,
        (ONE, "AgentLoop, quits"): _LOOP,
        (ONE, "Periodic Poll"): {DISH: Band(low=0.75, high=0.95), SEEN: Band(low=3, high=12)},
        (ONE, "ReflexPatch"): _QUICK,
        (ONE, "EP"): _QUICK,
        (MULTI, "Periodic Poll"): {SEEN: Band(low=14, high=22)},
        (MULTI, "ReflexPatch"): _MULTI_QUICK,
        (MULTI, "EP"): _MULTI_QUICK,
    }.items()
    for metric, band in bands.items()
}
"""Where the means of the stand-in over all cases count as reproduced."""
