"""The stand-in that retrieves: what it may see, how it says it, what its threshold does."""

import json
from collections.abc import Iterator
from functools import cache
from math import log
from statistics import fmean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("yaml")
pytest.importorskip("jinja2")

from tests.agents.proactive.material import Played
from timeful.agents.proactive.agent import PromptView
from timeful.agents.proactive.features import Lookup
from timeful.agents.proactive.parse import read_actions, read_questions
from timeful.agents.proactive.retrieval import CAUTIOUS, EAGER, Retrieval, retrieval
from timeful.agents.proactive.settings import load_agent
from timeful.agents.proactive.slot_filling import Finder
from timeful.core.units import milliseconds
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn
from timeful.dialogues.opportunity import Inputs, Opportunity
from timeful.domains.domain import Domain
from timeful.domains.generator import generate
from timeful.domains.library import load_domain
from timeful.environments.dialogue.timing import ByTurn, Paced
from timeful.errors import SettingsError
from timeful.metrics.proactor.files import PredictedTurn
from timeful.metrics.proactor.turns import MeanScores, mean_scores
from timeful.models.pace import Pace
from timeful.models.rules import Answer
from timeful.models.scripted import ListSource
from timeful.records.events import Wall
from timeful.seeding import child

RNG = child(0, "unused at temperature 0")
SOME = 25


@cache
def domain(name: str) -> Domain:
    return load_domain(name)


@cache
def talks(name: str) -> tuple[Dialogue, ...]:
    return tuple(generate(domain(name), n=SOME, seed=11))


@cache
def lookup(name: str) -> Lookup:
    made = domain(name)
    return Lookup(made.knowledge, observes=made.settings.observes_actions)


def rule(name: str, threshold: float, *, temperature: float = 0.0, thinking: int = 0) -> Retrieval:
    return Retrieval(lookup(name), threshold=threshold, temperature=temperature, thinking=thinking)


def shown(turns: tuple[Turn, ...], **more: object) -> PromptView:
    return PromptView(**{"asks": "actions", "reasons": False, "turns": turns} | more)  # type: ignore[arg-type]


def predicted(name: str, threshold: float) -> Iterator[PredictedTurn]:
    """What it says at each turn of each dialogue, all of it read as from a model."""
    answers, names = rule(name, threshold), domain(name).knowledge.catalog.actions
    for talk in talks(name):
        for place, turn in enumerate(talk.turns, 1):
            read = read_actions(
                answers(shown(talk.turns[:place]), RNG).text, section="", names=names
            )
            assert not read.problems
            yield PredictedTurn(
                dialogue=talk.id,
                turn=turn.number,
                predictions=read.opportunities,
                references=talk.references.get(turn.number, ()),
                ready_ranges=talk.ready_ranges,
            )


@cache
def scores(name: str, threshold: float) -> MeanScores:
    return mean_scores(turn.scores() for turn in predicted(name, threshold))


@pytest.mark.parametrize(
    ("name", "margin"),
    [
        ("shop", {"ac": 0.05, "ftr": 0.05, "rar": 0.05}),
        ("loan", {"ac": 0.05, "pt": 0.05, "ftr": 0.05, "rar": 0.05}),
    ],
)
def test_an_eager_one_readies_more_and_a_cautious_one_is_more_consistent(
    name: str, margin: dict[str, float]
) -> None:
    eager, cautious = scores(name, EAGER).means, scores(name, CAUTIOUS).means
    for metric, least in margin.items():
        one, other = eager[metric], cautious[metric]
        assert one is not None
        assert other is not None
        assert (other - one if metric == "ac" else one - other) > least, metric


def test_it_is_better_than_chance_at_names_and_values() -> None:
    """A chance of one in fifteen actions and no value would be an AC below 0.07."""
    found = scores("shop", CAUTIOUS).means["ac"]
    assert found is not None
    assert found > 0.4


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, SOME - 1), st.integers(1, 30), st.booleans(), st.sampled_from([0.0, 0.3, 1.0])
)
def test_it_answers_in_the_words_that_a_model_is_asked_for(
    index: int, place: int, reasons: bool, threshold: float
) -> None:
    knowledge = domain("shop").knowledge
    turns = talks("shop")[index].turns[:place]
    answers = rule("shop", threshold)
    said = answers(shown(turns, reasons=reasons), RNG)
    read = read_actions(
        said.text, section="action" if reasons else "", names=knowledge.catalog.actions
    )
    assert not read.problems
    assert reasons == ("<think>" in said.text)
    for one in read.opportunities:
        entry = knowledge.catalog.actions[one.name]
        assert [each.name for each in one.inputs.all()] == [
            each.name for each in entry.inputs({}).all()
        ]
    asked = answers(shown(turns, reasons=reasons, asks="questions"), RNG)
    assert not read_questions(asked.text, section="question" if reasons else "").problems
    assert answers(shown(turns, reasons=reasons), child(9, "other")) == said, "at 0"


def test_it_is_priced_by_its_words_and_its_thinking() -> None:
    turns = talks("shop")[0].turns[:6]
    said = rule("shop", EAGER)(shown(turns), RNG)
    assert said.tokens == -(-len(said.text.encode()) // 4)
    plain = rule("shop", EAGER, thinking=300)
    assert plain(shown(turns), RNG).tokens == said.tokens, "it is not asked to think"
    thought = rule("shop", EAGER)(shown(turns, reasons=True), RNG)
    assert plain(shown(turns, reasons=True), RNG).tokens == thought.tokens + 300


def said(*lines: tuple[str, str, str]) -> tuple[Turn, ...]:
    """Turns from who spoke, what, and the action that was done."""
    return tuple(
        Turn(
            number=number,
            speaker=who,  # type: ignore[arg-type]
            text=text,
            observed=(ObservedAction(name=done),) if done else (),
        )
        for number, (who, text, done) in enumerate(lines, 1)
    )


def test_what_was_done_speaks_against_workflows_that_have_no_place_for_it() -> None:
    """A voucher or a missing part: that a voucher was tried decides it."""
    asks = ("customer", "My voucher is refused, and a part is missing.", "")
    found = [
        {one.name: one.confidence for one in rule("shop", EAGER).chances(turns, RNG)}
        for turns in (said(asks), said(asks, ("action", "done", "apply-voucher")))
    ]
    before, after = (one.get("open-order", 0.0) for one in found)
    assert 0 < after < before / 2


def test_the_likeliest_action_is_named_first_and_asked_for_first() -> None:
    turns = said(("customer", "My voucher is refused, and a part is missing.", ""))
    answers = rule("shop", EAGER)
    chances = [one.confidence for one in answers.chances(turns, RNG)]
    assert chances == sorted(chances, reverse=True)
    asked = read_questions(answers(shown(turns, asks="questions"), RNG).text, section="")
    assert asked.questions == ("May I have your customer name?",)


def test_what_was_ready_stays_ready_where_states_are_shown() -> None:
    turns = said(("customer", "My name is Tove Moreau, a voucher is refused.", ""))

    def status(*states: Opportunity) -> str:
        answer = rule("shop", 1.0)(shown(turns, states=states), RNG)
        names = domain("shop").knowledge.catalog.actions
        found = read_actions(answer.text, section="", names=names).opportunities
        return next(one.status for one in found if one.name == "find-account")

    ready = Opportunity(name="find-account", inputs=Inputs(), status="ready_to_trigger")
    assert (status(), status(ready)) == ("pending", "ready_to_trigger")


def test_a_temperature_is_chance_by_the_seed_and_none_at_0() -> None:
    warm, same, cold = (rule("shop", EAGER, temperature=t) for t in (0.5, 0.5, 0.0))
    seeds = range(20)
    differs = 0
    for talk in talks("shop")[:5]:
        turns = talk.turns[:6]

        def ask(answers: Retrieval, seed: int, turns: tuple[Turn, ...] = turns) -> Answer:
            return answers(shown(turns), child(seed, "thought"))

        assert [ask(warm, seed) for seed in seeds] == [ask(same, seed) for seed in seeds]
        assert len({ask(cold, seed) for seed in seeds}) == 1
        differs += len({ask(warm, seed) for seed in seeds}) > 1
    assert differs > 0


def test_the_noise_is_even_handed_and_grows_with_the_temperature() -> None:
    """z is normal: the logarithm of the odds of two workflows has the deviation T sqrt(2)."""
    turns = said(("customer", "My voucher is refused, and a part is missing.", ""))

    def odds(temperature: float, seed: int) -> float:
        answers = rule("shop", EAGER, temperature=temperature)
        found = {one.name: one.confidence for one in answers.chances(turns, child(seed, "odds"))}
        return log(found["apply-voucher"] / found["open-order"])

    for temperature in (0.1, 0.5):
        every = [odds(temperature, seed) for seed in range(400)]
        assert fmean(every) == pytest.approx(odds(0.0, 0), abs=4 * temperature / 20)
        assert 0.1 * temperature < stdev(every) < 2 * temperature


def test_where_nothing_is_recorded_a_report_tells_what_was_done() -> None:
    def done(*texts: str) -> dict[str, int]:
        return dict(lookup("loan")(said(*(("agent", text, "") for text in texts))).done)

    assert done("Your file is open now.", "The rate is locked.") == {
        "open-client-file": 1,
        "lock-rate": 2,
    }
    again = done("Your file is open now.", "Your file is open now.")
    assert again["open-client-file"] == 1, "once"
    assert done("Shall I lock that rate for you?") == {}, "a question"
    assert done("Let me open your file.") == {}, "not yet"
    assert done("Mine does the same.") == {}, "like nothing"
    customer = said(("customer", "The rate is locked.", ""))
    assert lookup("loan")(customer).done == {}, "not what the customer says"


def test_in_talks_without_recorded_actions_most_of_them_are_heard() -> None:
    """Of what the agent reports in 25 made conversations, more is heard than missed."""
    heard = missed = wrong = 0
    for talk in talks("loan"):
        found = lookup("loan")(talk.turns).done
        due = {
            one.name
            for some in talk.references.values()
            for one in some
            if one.status == "triggered"
        }
        heard += len(due & found.keys())
        missed += len(due - found.keys())
        wrong += len(found.keys() - due)
    assert heard > 2 * missed
    assert heard > 3 * wrong


def test_it_sees_no_reference() -> None:
    """The same words without a reference, a subflow and a scenario give the same record but one."""

    def play(talk: Dialogue) -> list[str]:
        made = domain("shop")
        model = retrieval(made.knowledge, threshold=EAGER)
        played = Played(
            model,
            talk,
            ByTurn(),
            file=load_agent("reasoning-asg"),
            catalog=made.knowledge.catalog,
            asks=True,
            actions=made.knowledge.catalog.actions,
        )
        assert not played.failed
        return [
            repr(event)
            for event in played.events
            if not isinstance(event, Wall) and "over" not in repr(event)
        ]

    talk = talks("shop")[0]
    bare = Dialogue(id=talk.id, turns=talk.turns)
    assert play(talk) == play(bare)


def test_who_thinks_longer_loses_more_turns() -> None:
    """Result: at 20 ms a token, 500 tokens of thinking are 10 s, and turns are open for a few."""
    made = domain("shop")

    def lost(thinking: int) -> int:
        model = retrieval(
            made.knowledge,
            threshold=CAUTIOUS,
            thinking=thinking,
            pace=Pace(per_token=milliseconds(5)),
        )
        count = 0
        for talk in talks("shop")[:5]:
            played = Played(
                model,
                talk,
                Paced(),
                file=load_agent("reasoning"),
                catalog=made.knowledge.catalog,
                actions=made.knowledge.catalog.actions,
            )
            count += len(played.conversed.lost)
        return count

    few, some, most = lost(0), lost(400), lost(4000)
    assert few < some < most == sum(len(talk.turns) for talk in talks("shop")[:5])


def test_values_are_found_by_lists_by_counts_by_names_and_by_questions() -> None:
    finder = Finder(domain("shop").knowledge.catalog)

    def known(*lines: tuple[str, str]) -> dict[str, str]:
        return finder.find(
            [
                Turn(number=n, speaker=who, text=text)  # type: ignore[arg-type]
                for n, (who, text) in enumerate(lines, 1)
            ]
        )

    assert known(("customer", "My name is Tove Moreau. Customer number GE719099.")) == {
        "customer_name": "Tove Moreau",
        "customer_number": "GE719099",
    }
    assert known(("customer", "order 57214946, a RAIN BARREL")) == {
        "order_number": "57214946",
        "product": "rain barrel",
    }
    assert known(("agent", "What is your name?"), ("customer", "it's yara vogel.")) == {
        "customer_name": "yara vogel"
    }
    assert known(("agent", "57214946")) == {}, "what an agent says is not told by the customer"
    loan = Finder(domain("loan").knowledge.catalog)
    told = "I was born on the 3rd of May, 1960, and the house is at 26 Castle Hill."
    assert loan.find([Turn(number=1, speaker="customer", text=told)]) == {
        "birth_date": "3rd of May, 1960",
        "property_address": "26 Castle Hill",
    }, "and a year is no sum of what is not spoken of"
    asks = Turn(number=1, speaker="customer", text="What, 45 of them?")
    assert loan.find([asks]) == {}, "what is no word that a sum is of"
    assert known(("customer", "My voucher is invalid.")) == {}, "a lid is no part of that word"
    assert known(("customer", "The amount of order 57214946")) == {"order_number": "57214946"}
    assert known(("customer", "The amount of order 57214946 is 50 euros"))["amount"] == "50"
    told = known(("customer", "It is 11111111."), ("customer", "Sorry, 22222222."))
    assert told == {"order_number": "22222222"}


def test_settings_out_of_range_are_refused() -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(SettingsError, match="from 0 to 1"):
            rule("shop", wrong)
    for wrong in (-0.1, 2.1, float("nan")):
        with pytest.raises(SettingsError, match="from 0 to 2"):
            rule("shop", 0.5, temperature=wrong)
    with pytest.raises(SettingsError, match="0 or more"):
        rule("shop", 0.5, thinking=-1)


def test_a_model_is_named_by_its_threshold() -> None:
    model = retrieval(domain("shop").knowledge, threshold=0.25)
    assert model.name == "retrieval(0.25)"
    turns = talks("shop")[0].turns[:2]
    from timeful.models.model import Prompt

    source = model.open(
        Prompt(label="react", render=list, view=shown(turns)), max_tokens=None, seed=0
    )
    assert isinstance(source, ListSource)
    assert json.loads(source.pull().text)  # type: ignore[union-attr]
