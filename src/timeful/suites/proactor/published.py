"""The published numbers of ProActor: Tables 1, 5 and 8, typed from the paper.

No model of them was run here, and the data are others: they stand beside ours as an orientation
and are never compared number by number. PRI is as printed, within the paper's own groups. Of
GPT-4.1-mini on ABCD+, the Difference is printed with the very values of AC, which equation 3 does
not give from the two columns before it.
"""

from dataclasses import dataclass

SOURCE = "Table 5"


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A row of Table 5: PRI, and mean and deviation of each column by its name."""

    name: str
    pri: float
    means: dict[str, float]
    stds: dict[str, float]


_COLUMNS = ("ac", "max_ac", "difference", "pt", "ftr", "rar")

_KINDS = {"NR": "Non-Reasoning", "R": "Reasoning", "ASG": "Reasoning + ASG"}

_ROWS = {
    "ABCD+": """
GPT-4.1-mini NR | .4405 .363 .097 .524 .040 .363 .097 .0989 .0703 .0080 .0060 .161 .115
GPT-4.1-mini R | .3986 .315 .111 .550 .036 .315 .111 .0587 .0766 .0044 .0062 .214 .003
GPT-4.1-mini ASG | .4092 .303 .072 .537 .058 .303 .072 .0625 .0864 .0067 .0095 .281 .003
GPT-5.1 NR | .5104 .318 .005 .706 .012 .717 .013 .2023 .0019 .0460 .0009 .419 .010
GPT-5.1 R | .6003 .429 .006 .789 .002 .839 .026 .1643 .0018 .0165 .0002 .214 .003
GPT-5.1 ASG | .5547 .420 .004 .733 .007 .712 .063 .1874 .0022 .0647 .0019 .281 .003
Gemini-2.5-flash NR | .6251 .417 .004 .834 .001 1.000 .019 .2133 .0030 .0399 .0006 .288 .003
Gemini-2.5-flash R | .6216 .430 .001 .813 .002 .891 .006 .1782 .0011 .0245 .0006 .252 .001
Gemini-2.5-flash ASG | .5257 .384 .001 .737 .001 .919 .006 .1715 .0015 .0286 .0005 .241 .004
Claude-4 NR | .6216 .427 .001 .831 .001 .946 .005 .2119 .0013 .0526 .0012 .297 .001
Claude-4 R | .6318 .421 .001 .749 .004 .779 .010 .2136 .0023 .0482 .0023 .314 .003
Claude-4 ASG | .6031 .403 .005 .852 .004 1.114 .028 .2269 .0022 .0634 .0032 .360 .002
Qwen2.5-14B NR | .2996 .295 .004 .564 .002 .914 .004 .2237 .0012 .0773 .0010 .515 .002
Qwen2.5-14B R | .6246 .423 .005 .449 .006 .062 .019 .1842 .0012 .0307 .0008 .279 .003
Qwen2.5-14B ASG | .4331 .316 .004 .385 .004 .218 .020 .1918 .0043 .0432 .0011 .359 .004
ProActor-Q4 + Custom RULER | .7293 .426 .015 .484 .019 .136 .048 .2347 .0201 .0708 .0078 .546 .036
ProActor-Q4 + Adaptive RULER | .6842 .431 .022 .586 .044 .320 .123 .2515 .0272 .1089 .0083 .521 .052
""",
    "Home Loan": """
GPT-4.1-mini NR | .4835 .237 .011 .265 .010 .118 .067 .0219 .0015 .0009 .0002 .074 .006
GPT-4.1-mini R | .4882 .300 .010 .329 .013 .097 .057 .0118 .0026 .0003 .0002 .057 .002
GPT-4.1-mini ASG | .4652 .188 .002 .232 .005 .234 .030 .0281 .0098 .0012 .0010 .151 .013
GPT-5.1 NR | .5047 .272 .001 .467 .003 .717 .013 .0462 .0013 .0049 .0002 .116 .003
GPT-5.1 R | .5047 .363 .007 .579 .004 .595 .033 .0186 .0026 .0003 .0003 .031 .002
GPT-5.1 ASG | .5010 .281 .007 .481 .013 .712 .063 .0374 .0061 .0034 .0004 .105 .010
Gemini-2.5-flash NR | .6165 .349 .004 .688 .004 .972 .024 .0632 .0011 .0072 .0005 .173 .005
Gemini-2.5-flash R | .7303 .345 .004 .527 .006 .528 .024 .0757 .0011 .0001 .0001 .241 .002
Gemini-2.5-flash ASG | .6067 .283 .007 .479 .002 .693 .042 .0764 .0039 .0063 .0018 .251 .012
Claude-4 NR | .5416 .224 .003 .347 .004 .549 .024 .0811 .0029 .0118 .0008 .332 .002
Claude-4 R | .7039 .332 .006 .472 .003 .422 .028 .0742 .0027 .0063 .0016 .261 .003
Claude-4 ASG | .7262 .375 .002 .607 .006 .619 .022 .0760 .0031 .0127 .0013 .307 .005
Qwen2.5-14B NR | .4288 .253 .002 .383 .003 .514 .017 .0120 .0006 .0003 .0004 .054 .005
Qwen2.5-14B R | .4012 .217 .005 .239 .009 .101 .049 .0037 .0010 .0006 .0001 .032 .003
Qwen2.5-14B ASG | .3223 .113 .011 .144 .006 .274 .133 .0184 .0083 .0033 .0022 .090 .014
ProActor-Q4 + Custom RULER | .5603 .206 .024 .234 .021 .137 .161 .0846 .0095 .0355 .0079 .465 .074
ProActor-Q4 + Adaptive RULER | .6232 .395 .029 .466 .038 .180 .129 .0501 .0055 .0131 .0013 .156 .009
""",
}


def _read(line: str) -> Published:
    name, _, rest = line.partition(" | ")
    pri, *numbers = (float(number) for number in rest.split())
    model, _, kind = name.rpartition(" ")
    return Published(
        name=f"{model} {_KINDS[kind]}" if kind in _KINDS else name,
        pri=pri,
        means=dict(zip(_COLUMNS, numbers[::2], strict=True)),
        stds=dict(zip(_COLUMNS, numbers[1::2], strict=True)),
    )


PUBLISHED: dict[str, tuple[Published, ...]] = {
    data: tuple(map(_read, rows.strip().splitlines())) for data, rows in _ROWS.items()
}
"""All rows of Table 5, by data; Table 1 has all of them but those of GPT-4.1-mini."""

READY: dict[str, tuple[float, ...]] = {
    "ABCD+": (4533, 0.96, 0.61, 0.0, 1.0, 1.0, 1.0, 10.0),
    "Home Loan": (806, 0.65, 0.53, 0.0, 0.0, 0.5, 1.0, 3.0),
}
"""Table 8, ready actions a turn of the trained model on the test sets: count, mean, deviation,
minimum, quartiles and maximum."""


def nearest_data(title: str) -> str:
    """The published data that a domain is like, for what is shown beside it."""
    return "Home Loan" if "loan" in title.lower() else "ABCD+"
