"""A judge of proactiveness: what it is shown, what counts as a rating, and what as failed."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Barrier, Lock
from typing import Any

import pytest

pytest.importorskip("openai")

from tests.servers.fake import Body, FakeServer, Say, Script, Status, Step, Usage
from timeful.dialogues.dialogue import Dialogue, ObservedAction, Turn
from timeful.dialogues.opportunity import Inputs, Opportunity
from timeful.errors import SettingsError
from timeful.judges.proactiveness import Case, Rubric, Verdict, judge, proactiveness
from timeful.judges.settings import JudgeFile, Judger, Retries, read_judges
from timeful.models.chat import OpenAIModel
from timeful.models.request import Timeouts

TALK = Dialogue(
    id="d1",
    turns=(
        Turn(number=1, speaker="customer", text="Where is my  parcel?"),
        Turn(
            number=2, speaker="action", text="", observed=(ObservedAction(name="x", values=("7",)),)
        ),
        Turn(number=3, speaker="customer", text="What comes later."),
    ),
)
TRACK = Opportunity(name="track-parcel", inputs=Inputs(), status="ready_to_trigger")


def cases(count: int) -> list[Case]:
    return [
        Case(dialogue=f"d{number}", turn=1, context=f"case {number}", predictions=(TRACK,))
        for number in range(count)
    ]


def rated(rating: object) -> str:
    return json.dumps({"reasoning": "so", "rating": rating})


def judged(script: Script, some: list[Case], **options: Any) -> tuple[list[Verdict], list[Any]]:
    with FakeServer(script) as server:
        model = OpenAIModel(
            model="judge",
            base_url=server.base_url,
            pace=None,
            retries=0,
            timeouts=Timeouts(backoff_s=0.001),
        )
        try:
            return judge(model, some, **options), server.requests
        finally:
            model.close()


def test_a_case_shows_the_conversation_up_to_its_turn_and_the_predictions() -> None:
    _, [request] = judged([Say(rated(4))], [Case.at(TALK, 2, [TRACK])])
    system, user = (message["content"] for message in request.body["messages"])
    assert "Turn 1, customer: Where is my parcel?\nTurn 2, action:  [took x: 7]" in user
    assert "What comes later" not in user
    assert '"name": "track-parcel"' in user
    for step in ("-1: ", " 1: ", " 2: ", " 3: ", " 4: ", " 5: "):
        assert step in system


def test_ratings_come_in_the_order_of_their_cases_whoever_is_first() -> None:
    def script(body: Body) -> Iterator[Step]:
        number = int(body["messages"][1]["content"].split("case ")[1].split()[0])
        yield Say(rated([-1, 1, 2, 3, 4, 5][number]))

    for workers in (1, 4):
        verdicts, _ = judged(script, cases(6), workers=workers)
        assert [one.rating for one in verdicts] == [-1, 1, 2, 3, 4, 5]
        assert [one.dialogue for one in verdicts] == ["d0", "d1", "d2", "d3", "d4", "d5"]
    mean, failed = proactiveness(verdicts)
    assert (mean.mean, mean.n_rated, mean.n_unjudged, failed) == (3.0, 5, 1, 0)


def test_no_more_are_asked_at_a_time_than_there_are_workers() -> None:
    lock, under_way, most = Lock(), 0, 0
    all_three = Barrier(3)

    def script(body: Body) -> Iterator[Step]:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        all_three.wait(60)  # so that as many are needed as well
        with lock:
            under_way -= 1
        yield Say(rated(3))

    judged(script, cases(6), workers=3)
    assert most == 3


def test_each_case_has_a_seed_of_its_own_the_same_every_time() -> None:
    def seeds() -> dict[str, int]:
        _, requests = judged([Say(rated(3))], cases(4))
        return {one.body["messages"][1]["content"]: one.body["seed"] for one in requests}

    first = seeds()
    assert len(set(first.values())) == 4
    assert seeds() == first


@pytest.mark.parametrize(
    "bad",
    [
        "4",
        "Rating: 4",
        rated(0),
        rated(6),
        rated("4"),
        rated(True),
        rated(3.5),
        rated(None),
        '{"rating": 4}',
        '{"reasoning": 1, "rating": 4}',
        '[{"reasoning": "so", "rating": 4}]',
        "",
    ],
)
def test_what_is_no_rating_is_asked_for_again_and_then_counted_as_failed(bad: str) -> None:
    verdicts, requests = judged([Say(bad)] if bad else [], cases(1), rubric=Rubric(tries=2))
    [one] = verdicts
    assert (one.rating, one.failure, one.tries) == (None, "answer", 2)
    assert one.error
    assert one.error in requests[1].body["messages"][3]["content"]
    mean, failed = proactiveness(verdicts)
    assert (mean.mean, mean.n_rated, failed) == (None, 0, 1)


def test_an_endpoint_that_refuses_is_a_failure_of_its_own_and_the_others_stay() -> None:
    def script(body: Body) -> Iterator[Step]:
        is_bad = "case 1" in body["messages"][1]["content"]
        yield Status(400, "too long") if is_bad else Say(rated(2))

    verdicts, _ = judged(script, cases(3))
    assert [one.rating for one in verdicts] == [2, None, 2]
    assert verdicts[1].failure == "endpoint"
    assert "too long" in verdicts[1].error


def test_settings_of_the_papers_form_make_a_judge(tmp_path: Path) -> None:
    pytest.importorskip("yaml")
    path = tmp_path / "judge.yaml"
    path.write_text(
        "judgers:\n"
        "- name: proactiveness_evaluator\n"
        '  model: "openai/gpt-4.1-mini"\n'
        "  temperature: 0.1\n"
        "  max_tokens: 4096\n"
        "  using_short_model_name: true\n"
        "  api_key_name: MY_KEY\n"
        "  base_url: http://localhost:1/v1\n"
        "  settings:\n    max_retries: 3\n    retry_on_failure: true\n"
        "system_prompt: You rate.\n"
        'task_prompt: "{dialogue_context} {proactive_action_predictions}"\n'
    )
    read = read_judges(path)
    [one] = read.judgers
    model = one.endpoint("key")
    assert model.retries == 3
    assert (model.model, model.name, one.tries) == ("gpt-4.1-mini", "proactiveness_evaluator", 4)
    assert "key" not in repr(model)
    path.write_text(path.read_text().replace("{dialogue_context}", "{dialog_context}"))
    with pytest.raises(SettingsError, match="'dialogue_context'"):
        read_judges(path)


def test_who_is_not_to_try_again_is_asked_once() -> None:
    for settings, tries in ((Retries(max_retries=2), 3), (Retries(retry_on_failure=False), 1)):
        one = Judger(model="m", base_url="http://localhost:1", settings=settings)
        assert (one.tries, one.endpoint("").retries) == (tries, tries - 1)


def test_a_task_that_does_not_show_what_is_rated_is_refused() -> None:
    judgers = (Judger(model="m", base_url="http://localhost:1"),)
    with pytest.raises(ValueError, match="proactive_action_predictions"):
        JudgeFile(judgers=judgers, task_prompt="{dialogue_context}")
    with pytest.raises(ValueError, match="unique names"):
        JudgeFile(judgers=())
    with pytest.raises(ValueError, match="unique names"):
        JudgeFile(judgers=judgers * 2)


def test_a_verdict_has_the_tokens_of_all_its_requests() -> None:
    answers = iter(["no rating", rated(4)])

    def script(_: Body) -> list[Step]:
        return [Say(next(answers)), Usage(30, prompt=50, reasoning=20)]

    [verdict], requests = judged(script, cases(1))
    assert (verdict.tries, len(requests)) == (2, 2)
    assert verdict.usage is not None
    assert (verdict.usage.prompt, verdict.usage.completion, verdict.usage.reasoning) == (
        100,
        60,
        40,
    )
