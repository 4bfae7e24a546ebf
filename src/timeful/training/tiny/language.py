"""A language of a few dozen words, for problems of levels under a budget of time.

The model reads ordinary conversations: the chat template of its tokenizer translates them. Of a
problem it keeps the start and the events, of a budget which of a few steps it reaches, of the
timer's reply how many eighths of the budget are gone. What it says needs no translation. The budget
stands last, next to the answer: read first, a model this small forgets to look back at it.

    <bos> L4 + + - ... ? <t8>  by6 L5 L3 L4 L4 <eos>

A *way* of solving a problem says a word that names it, then the level after every so many events;
the longest way spells each event out as well. So a way has a length that is known, and the more
steps it takes the less has to be done in one. The word for a level, `L4` above, reads
`<answer>4</answer>`: each is the answer so far, and the last one counts. Had the last one words of
its own, the decoder would have to learn each level twice, and in as many steps learns neither.

A language with an *opening* has a timer on the way. The first events are gone through one by one,
then the timer is called, the world says a word, and a way for all other events begins:

    <bos> L4 + + - ... ? <t28>  by1 L5 L6 L5 L4 <timer>  <u3>  by4 L3 L4 L4 L5 L6 <eos>

There thinking counts more or less, by a *device* that the model is not told of. So the budget does
not tell how many tokens there is room for; how much of it is gone at a known point does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from timeful.core.units import in_seconds
from timeful.environments.reasoning.levels import SIGNS, Course
from timeful.errors import SettingsError
from timeful.models.pace import Pace

BOS, EOS, PAD, ASK = "<bos>", "<eos>", "<pad>", "?"
TIMER_CALL = '<tool_call>{"name":"get_duration"}</tool_call>'
"""A call of the timer, as one word."""

EIGHTHS = 8
SPELL = 0
"""The way that spells every event out, as a stride."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """The words, and what is said in them.

    Attributes:
        levels: How many levels there are, at most 10.
        events: How many events a problem has.
        strides: The ways, each by how many events one step of it takes, longest step first;
            `SPELL` is the last of them.
        budgets: Steps of a budget, in tokens, ascending.
        pace: What a token costs.
        opening: How many events are gone through one by one before the timer is asked; 0 if it
            never is.
        rooms: How many tokens there is room for in lessons and rollouts; none for the budgets.
        devices: How much thinking counts there (Timely Machine, section 4.3); what is told as the
            budget is a room times a device, and a step of the budget.

    Raises:
        SettingsError: If a stride does not divide the events after the opening, the budgets do not
            ascend, or a room and a device make a budget that is none of them.
    """

    levels: int
    events: int
    strides: tuple[int, ...]
    budgets: tuple[int, ...]
    pace: Pace
    opening: int = 0
    rooms: tuple[int, ...] = ()
    devices: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        if not 2 <= self.levels <= 10:
            raise SettingsError(f"there are 2 to 10 levels, got {self.levels}")
        if self.opening and not (1 in self.strides and 0 < self.opening < self.events):
            raise SettingsError(
                f"an opening is some of {self.events} events, one by one, and there is a way of "
                f"that name; got {self.opening} and the ways {self.strides}"
            )
        for stride in self.strides:
            if stride != SPELL and (stride < 1 or self.remaining_events % stride):
                raise SettingsError(
                    f"a stride divides {self.remaining_events} events, got {stride}"
                )
        if sorted(set(self.budgets)) != list(self.budgets) or not self.budgets:
            raise SettingsError(f"budgets ascend, got {self.budgets}")
        budgets = {room * device for room in self.allowed for device in self.devices}
        if not budgets <= set(self.budgets):
            raise SettingsError(f"each room times a device is a budget, got {sorted(budgets)}")

    @property
    def remaining_events(self) -> int:
        """The events after the opening."""
        return self.events - self.opening

    @property
    def allowed(self) -> tuple[int, ...]:
        """How many tokens an answer may have room for."""
        return self.rooms or self.budgets

    # --- words -----------------------------------------------------------------------------------

    @property
    def words(self) -> tuple[str, ...]:
        """All words, each with its place as its id."""
        return (
            *(PAD, BOS, EOS, ASK, *SIGNS.values()),
            *(answer(level) for level in range(self.levels)),
            *(self.way(stride) for stride in self.strides),
            *(tag(budget) for budget in self.budgets),
            *map(eighths, range(EIGHTHS + 1)),
            TIMER_CALL,
        )

    @staticmethod
    def way(stride: int) -> str:
        """The word that names a way."""
        return "spell" if stride == SPELL else f"by{stride}"

    # --- texts -----------------------------------------------------------------------------------

    def question(self, course: Course, budget: int) -> list[str]:
        """What the model reads: a problem under a budget of so many tokens."""
        signs = [SIGNS[sign] for sign in course.events]
        return [BOS, answer(course.start), *signs, ASK, tag(self.reached(budget))]

    def solution(self, course: Course, stride: int, clock: int | None = None) -> list[str]:
        """What it may say, in one of its ways, to the end.

        Args:
            course: The problem.
            stride: The way; after the opening, if there is one.
            clock: The eighths that the timer tells after the opening; None if it is not asked.
        """
        levels = [answer(level) for level in course.levels]
        tokens = [self.way(1), *levels[: self.opening]] if self.opening else []
        if clock is not None:
            tokens += [TIMER_CALL, eighths(clock)]
        tokens.append(self.way(stride))
        for at, (event, level) in enumerate(zip(course.events, levels, strict=True), 1):
            if at <= self.opening:
                continue
            if stride == SPELL:
                tokens.append(SIGNS[event])
            if stride == SPELL or (at - self.opening) % stride == 0:
                tokens.append(level)
        return [*tokens, EOS]

    @property
    def before(self) -> int:
        """How many tokens are said by the time the timer answers; 0 if it is never asked."""
        return self.opening + 2 if self.opening else 0

    def length(self, stride: int) -> int:
        """How many tokens a way takes; with an opening, all of the answer, the call included."""
        steps = 2 * self.remaining_events if stride == SPELL else self.remaining_events // stride
        return self.before + 2 + steps

    def clock(self, room: float) -> int:
        """The eighths that the timer tells after the opening, on any device.

        Args:
            room: How many tokens there is room for.
        """
        return min(EIGHTHS, int(EIGHTHS * self.before / room))

    def longest_within(self, budget: int) -> int:
        """The longest way that a budget has room for; the shortest where it has room for none."""
        strides = [stride for stride in self.strides if self.length(stride) <= budget]
        return max(strides, key=self.length) if strides else min(self.strides, key=self.length)

    def reached(self, budget: int) -> int:
        """The largest step that a budget reaches; the smallest where it reaches none."""
        return max((step for step in self.budgets if step <= budget), default=self.budgets[0])

    # --- the tokenizer ---------------------------------------------------------------------------

    def tokenizer(self) -> Any:
        """A tokenizer of transformers with these words and the template that translates."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra
        from tokenizers.models import WordLevel  # noqa: PLC0415
        from tokenizers.pre_tokenizers import WhitespaceSplit  # noqa: PLC0415
        from transformers import PreTrainedTokenizerFast  # noqa: PLC0415

        words = {word: i for i, word in enumerate(self.words)}
        inner = Tokenizer(WordLevel(words, unk_token=PAD))
        inner.pre_tokenizer = WhitespaceSplit()
        tokenizer = PreTrainedTokenizerFast(
            tokenizer_object=inner,
            bos_token=BOS,
            eos_token=EOS,
            pad_token=PAD,
            clean_up_tokenization_spaces=False,
        )
        tokenizer.chat_template = self.template()
        return tokenizer

    def template(self) -> str:
        """The chat template, in Jinja.

        A budget that is not named is read as the largest. Whatever is no problem of levels, such
        as a greeting, is read as a problem without events: the model answers, and is wrong.
        """
        steps = "\n".join(
            f"{{%- if s.budget >= {in_seconds(self.pace(budget)):.9g} - 0.005 -%}}"
            f"{{%- set s.tag = '{tag(budget)}' -%}}{{%- endif -%}}"
            for budget in self.budgets
        )
        return _TEMPLATE.replace("STEPS", steps).replace("FIRST", tag(self.budgets[0]))


def answer(level: int) -> str:
    """The word for a level: the answer so far."""
    return f"<answer>{level}</answer>"


def tag(budget: int) -> str:
    """The word for a budget of so many tokens."""
    return f"<t{budget}>"


def eighths(count: int) -> str:
    """The word of the world for so many eighths of the budget that are gone."""
    return f"<u{count}>"


def ids(words: Sequence[str], language: Language) -> list[int]:
    """Words as ids.

    Raises:
        KeyError: If there is no such word.
    """
    word_ids = _word_ids(language)
    return [word_ids[word] for word in words]


@cache
def _word_ids(language: Language) -> dict[str, int]:
    return {word: i for i, word in enumerate(language.words)}


# A budget is told with two decimals, so that one that is 5 ms short of a step may have reached it.
# A message of the assistant is its own words; the first one of the user is the problem, and what
# comes later, or from a tool, holds what the timer said.
_TEMPLATE = """\
{%- set s = namespace(budget=1e9, tag='FIRST', asked=false) -%}
{%- for m in messages -%}
{%- set text = m.content or '' -%}
{%- if m.role == 'assistant' -%}
{{ ' ' + text }}
{%- for c in m.tool_calls or [] %} <tool_call>{"name":"{{ (c.function or c).name }}"}</tool_call>
{%- endfor -%}
{%- elif m.role == 'tool' or m.role == 'user' and s.asked -%}
{%- for word in text.replace('<tool_response>', ' ').split() -%}
{%- if loop.nextitem is defined and loop.nextitem.startswith('seconds') -%}
{{ ' <u' + ([8, (8 * (word | float) / s.budget) | int] | min | string) + '>' }}
{%- endif -%}
{%- endfor -%}
{%- elif m.role == 'user' -%}
{%- set s.asked = true -%}
{%- if 'Finish within ' in text -%}
{%- set s.budget = text.split('Finish within ')[1].split(' seconds')[0] | float -%}
{%- endif -%}
STEPS
{{- bos_token -}}
{%- if ' starts at ' in text -%}
{{- ' <answer>' + text.split(' starts at ')[1][0] + '</answer>' }}
{{- ' ' + text.split(' in the end, after ')[1].split(' ?')[0] }}
{%- endif -%}
{{- ' ? ' + s.tag -}}
{%- endif -%}
{%- endfor -%}
"""
