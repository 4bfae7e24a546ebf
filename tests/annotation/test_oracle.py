"""An endpoint annotates: what it is asked, what counts as an answer, what becomes of the rest."""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("openai")

from tests.annotation.annotating import (
    KEY,
    annotated,
    annotation,
    asked_turns,
    good,
    opportunity,
    question,
    saved,
    talks,
    timeful,
)
from tests.servers.fake import Body, FakeServer, Say, Script, Status, Step
from timeful.annotation.response_parser import read_answer
from timeful.dialogues.jsonl import write_jsonl
from timeful.domains.library import load_domain
from timeful.errors import BudgetError, ModelError, ModelRefusedError, SettingsError

ENV = {"OPENAI_API_KEY": KEY}
CATALOG = load_domain("shop").knowledge.catalog


def once_bad(*bad: Step) -> Callable[[Body], Iterator[Step]]:
    """A script that first says something, and is good when asked again."""

    def script(body: Body) -> Iterator[Step]:
        if len(body["messages"]) == 2:
            yield from bad
        else:
            yield from good(body)

    return script


def run(folder: Path, script: Script, *options: object, n: int = 1, **sections: Any) -> Any:
    """Annotate, and return the run, the requests, and what was written about it."""
    talks(folder / "talks.jsonl", n=n)
    with FakeServer(script, answers_probes=True) as server:
        config = saved(folder, server, **sections)
        found = timeful("annotate", config, *options, env=ENV)
    meta = folder / "talks_annotated.meta.json"
    return found, server.requests, json.loads(meta.read_text()) if meta.exists() else None


def test_every_turn_gets_what_was_answered_for_it_and_the_ranges_follow(tmp_path: Path) -> None:
    found, requests, meta = run(tmp_path, good, n=3)
    assert found.exit_code == 0, found.output
    read = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert [one.id for one in read] == ["shop-1-00000", "shop-1-00001", "shop-1-00002"]
    for one in read:
        even = tuple(turn.number for turn in one.turns if turn.number % 2 == 0)
        assert one.ready_ranges == {"find-account": even}
        assert tuple(one.references) == even
        [there] = one.references[2]
        assert there.description == CATALOG.actions["find-account"].description
        assert one.annotator == "fake"
        assert one.questions, "the questions of the agent are reference questions"
    assert len(requests) == 3
    assert (meta["oracle"], meta["n_dialogues"], meta["n_requests"]) == ("llm", 3, 3)
    assert (meta["usage"]["prompt"], meta["usage"]["counted"]) == (3 * 7, "settled")
    assert "tokens " in found.output


def test_a_request_shows_the_whole_dialogue_the_tools_and_the_turns_it_is_about(
    tmp_path: Path,
) -> None:
    _, requests, _ = run(tmp_path, good, annotation={"batch_size": 4, "max_workers": 1})
    [dialogue] = annotated(tmp_path / "talks_annotated.jsonl.gz")
    numbers = [turn.number for turn in dialogue.turns]
    assert [asked_turns(one.body) for one in requests] == [
        numbers[begin : begin + 4] for begin in range(0, len(numbers), 4)
    ]
    for one in requests:
        for turn in dialogue.turns:
            assert turn.text in question(one.body)
        assert CATALOG.text() in question(one.body)


def test_a_prompt_of_the_papers_form_asks_for_one_turn_at_a_time(tmp_path: Path) -> None:
    task = (
        'Turn {turn_number}: {current_speaker} says "{current_text}"\n{dialogue_context}\n'
        '{tool_catalog}\n{{"dialogue_turn": {turn_number}, "proactive_annotations": {{{ }}}}}'
    )

    def script(body: Body) -> Iterator[Step]:
        number = int(question(body).split(":")[0].removeprefix("Turn "))
        assert f'{{"dialogue_turn": {number}, "proactive_annotations": {{' in question(body)
        yield Say(json.dumps(json.loads(annotation([number]))[0]))

    found, requests, meta = run(
        tmp_path, script, prompts={"system_prompt": "You annotate.", "task_prompt": task}
    )
    assert found.exit_code == 0, found.output
    [dialogue] = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert len(requests) == len(dialogue.turns)
    assert requests[0].body["messages"][0]["content"] == "You annotate."
    assert meta["turns_a_request"] == 1


@pytest.mark.parametrize(
    "bad",
    [
        [Say("I would say find-account.")],
        [Say('[{"dialogue_turn": 1, "proactive_annot')],
        [Say("")],
        [Say("[]")],
        [Say('[{"dialogue_turn": 99, "proactive_annotations": []}]')],
        [Say("[1, 2]")],
    ],
    ids=["words", "half", "nothing", "no turn", "another turn", "numbers"],
)
def test_what_cannot_be_used_is_shown_to_the_model_which_is_asked_again(
    tmp_path: Path, bad: list[Step]
) -> None:
    found, requests, meta = run(tmp_path, once_bad(*bad))
    assert found.exit_code == 0, found.output
    first, second = (one.body["messages"] for one in requests)
    assert second[:2] == first
    assert second[2]["role"] == "assistant"
    assert "cannot be used" in second[3]["content"]
    assert (meta["n_requests"], meta["n_repairs"]) == (2, 1)


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"name": "find-acount"}, "Did you mean 'find-account'?"),
        ({"action_trigger_status": "done"}, "one of dismissed, pending, ready_to_trigger"),
        ({"inputs": {"optional": [{"input_name": "nmae", "provided": False}]}}, "input 'nmae'"),
        (
            {"inputs": {"optional": [{"input_name": "customer_name", "provided": True}]}},
            "customer_name is provided and has no value",
        ),
        ({"inputs": []}, "inputs"),
    ],
)
def test_a_tool_that_is_not_as_the_catalog_has_it_is_no_answer(
    fields: dict[str, Any], says: str
) -> None:
    text = annotation([1, 2], **fields)
    with pytest.raises(ValueError, match="turn 2, proactive_annotations") as caught:
        read_answer(text, [1, 2], CATALOG)
    assert says in str(caught.value)


def test_inputs_are_placed_and_completed_as_the_catalog_has_them() -> None:
    inputs = {"required": [{"input_name": "email", "provided": True, "value": "a@b.example"}]}
    text = annotation([2], name="verify-customer", inputs=inputs)
    [[one]] = read_answer(text, [2], CATALOG).values()
    assert one.inputs.required == ()
    assert {each.name: each.value for each in one.inputs.optional} == {
        "email": "a@b.example",
        "postcode": None,
        "birth_year": None,
    }


def test_without_validation_a_tool_may_be_any(tmp_path: Path) -> None:
    def script(body: Body) -> Iterator[Step]:
        yield Say(annotation(asked_turns(body), name="of my own"))

    annotation_ = {"validate_output": False, "batch_size": 50}
    found, _, _ = run(tmp_path, script, annotation=annotation_)
    assert found.exit_code == 0, found.output
    [one] = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert list(one.ready_ranges) == ["of my own"]


@pytest.mark.parametrize(
    "text",
    [
        '[{"dialogue_turn": 2, "proactive_annotations": [], "note": NaN}]',
        '[{"dialogue_turn": 2, "proactive_annotations": [], "note": "\\ud800"}]',
        "[" * 100_000,
        '[{"dialogue_turn": 2, "proactive_annotations": {}}]',
        '[{"dialogue_turn": 2, "proactive_annotations": [[]]}]',
        '[{"dialogue_turn": 2, "proactive_annotations": []},'
        ' {"dialogue_turn": 2, "proactive_annotations": []}]',
    ],
)
def test_garbage_is_refused_with_words_and_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_answer(text, [2], None)


def test_true_is_not_turn_one() -> None:
    with pytest.raises(ValueError, match="must be one of 1, got true"):
        read_answer('[{"dialogue_turn": true, "proactive_annotations": []}]', [1], None)


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "\n```\n{}\n```\n"])
def test_a_fence_is_left_aside_and_an_opportunity_may_stand_bare(fence: str) -> None:
    entry = {"dialogue_turn": 2, "proactive_annotations": [opportunity()]}
    text = fence.replace("{}", json.dumps(entry))
    assert list(read_answer(text, [2], CATALOG)) == [2]


def test_answers_that_never_can_be_used_are_listed_and_the_others_kept(tmp_path: Path) -> None:
    made = talks(tmp_path / "talks.jsonl", n=3)

    def script(body: Body) -> Iterator[Step]:
        if made[1].turns[3].text in question(body) and made[1].turns[5].text in question(body):
            yield Say("never")
        else:
            yield from good(body)

    found, requests, meta = run(
        tmp_path, script, n=3, annotation={"max_retries": 2, "batch_size": 50}
    )
    assert found.exit_code == 1
    assert "2 dialogues annotated, 1 failed" in found.output
    assert "failed     shop-1-00001 (number 1): turns 1 to" in found.output
    assert "it is no JSON" in found.output
    assert len(requests) == 2 + 3
    assert [one["id"] for one in meta["failed"]] == ["shop-1-00001"]
    read = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert [one.id for one in read] == ["shop-1-00000", "shop-1-00002"]


def test_nothing_is_asked_again_where_that_is_not_wanted(tmp_path: Path) -> None:
    never = [Say("never")]
    found, requests, _ = run(
        tmp_path, never, annotation={"retry_on_failure": False, "batch_size": 50}
    )
    assert (found.exit_code, len(requests)) == (1, 1)


def test_a_dialogue_that_gets_no_answer_is_asked_for_by_the_next_run(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=1)
    answers = iter([[Status(400, "too long")], None])

    def script(body: Body) -> Iterator[Step]:
        yield from next(answers) or good(body)

    with FakeServer(script, answers_probes=True) as server:
        config = saved(tmp_path, server)
        first = timeful("annotate", config)
        again = timeful("annotate", config)
    assert (first.exit_code, again.exit_code) == (1, 0)
    assert "status 400" in first.output
    assert len(annotated(tmp_path / "talks_annotated.jsonl.gz")) == 1


def test_answers_that_could_not_be_used_are_asked_for_only_if_that_is_wanted(
    tmp_path: Path,
) -> None:
    talks(tmp_path / "talks.jsonl", n=2)
    words = ["never"]

    def script(body: Body) -> Iterator[Step]:
        yield from [Say(word) for word in words] or good(body)

    with FakeServer(script, answers_probes=True) as server:
        config = saved(tmp_path, server, annotation={"max_retries": 0, "batch_size": 50})
        assert timeful("annotate", config).exit_code == 1
        words.clear()
        asked = len(server.requests)
        assert timeful("annotate", config).exit_code == 1
        assert len(server.requests) == asked
        assert timeful("annotate", config, "--retry-failed").exit_code == 0
    assert len(annotated(tmp_path / "talks_annotated.jsonl.gz")) == 2


def test_an_endpoint_that_refuses_everybody_ends_the_run(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=30)
    with FakeServer([Status(401, "no such key")]) as server:
        found = timeful("annotate", saved(tmp_path, server), env=ENV)
        assert len(server.requests) == 1
    assert isinstance(found.exception, ModelRefusedError)
    assert not (tmp_path / "talks_annotated.jsonl.gz.work").exists()


@pytest.mark.parametrize("workers", [1, 4])
def test_a_refusal_in_the_middle_keeps_what_is_done_and_no_failure(
    tmp_path: Path, workers: int
) -> None:
    calls = iter(range(99))

    def expire(body: Body) -> Iterator[Step]:
        if next(calls) >= 5:
            yield Status(401, "expired")
        yield from good(body)

    talks(tmp_path / "talks.jsonl", n=12)
    log = tmp_path / "talks_annotated.jsonl.gz.work" / "log.jsonl"
    with FakeServer(expire, answers_probes=True) as server:
        settings = {"batch_size": 50, "max_workers": workers}
        config = saved(tmp_path, server, annotation=settings)
        found = timeful("annotate", config, env=ENV)
        assert isinstance(found.exception, ModelRefusedError)
        assert len(server.requests) <= 5 + workers
        assert len(log.read_bytes().splitlines()) == 5
        assert b'"failure"' not in log.read_bytes()
        calls = iter([0] * 99)
        assert timeful("annotate", config, env=ENV).exit_code == 0
    assert len(annotated(tmp_path / "talks_annotated.jsonl.gz")) == 12


def test_an_endpoint_without_answers_ends_the_run(tmp_path: Path) -> None:
    broken = [Status(400, "too long")]
    calls = iter(range(99))

    def script(body: Body) -> Iterator[Step]:
        yield from broken if next(calls) else good(body)

    found, requests, meta = run(tmp_path, script, n=30)
    assert isinstance(found.exception, ModelError)
    assert "10 dialogues in a row" in str(found.exception)
    assert len(requests) < 20
    assert meta is None


def test_a_larger_budget_resumes_an_annotation(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=6)
    with FakeServer(good, answers_probes=True) as server:
        config = saved(tmp_path, server)
        small = timeful("annotate", config, "--max-tokens-total", 20)
        assert isinstance(small.exception, BudgetError)
        asked = len(server.requests)
        assert 0 < asked < 6
        whole = timeful("annotate", config, "--max-tokens-total", 10_000)
        assert whole.exit_code == 0, whole.output
        assert len(server.requests) == 6
    assert len(annotated(tmp_path / "talks_annotated.jsonl.gz")) == 6


def test_dialogues_without_an_answer_that_others_stand_between_do_not_end_it(
    tmp_path: Path,
) -> None:
    calls = iter(range(99))

    def script(body: Body) -> Iterator[Step]:
        if next(calls) % 2:
            yield Status(400, "too long")
        yield from good(body)

    found, requests, meta = run(tmp_path, script, n=30)
    assert (found.exit_code, len(requests), meta["n_failed"]) == (1, 30, 15)


def test_questions_that_are_there_stay(tmp_path: Path) -> None:
    made = talks(tmp_path / "talks.jsonl", n=1)
    own = msgspec.structs.replace(made[0], questions={1: ("My own?",)})
    write_jsonl(tmp_path / "talks.jsonl", [own])
    with FakeServer(good, answers_probes=True) as server:
        assert timeful("annotate", saved(tmp_path, server)).exit_code == 0
    [one] = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert one.questions == {1: ("My own?",)}


def test_credentials_in_an_address_are_not_written(tmp_path: Path) -> None:
    talks(tmp_path / "talks.jsonl", n=1)
    with FakeServer(good, answers_probes=True) as server:
        secret = server.base_url.replace("http://", "http://me:hidden@")
        assert timeful("annotate", saved(tmp_path, llm={"base_url": secret})).exit_code == 0
    for one in tmp_path.rglob("*"):
        if one.is_file() and one.name != "annotate.yaml":
            assert b"hidden" not in one.read_bytes()


def test_the_key_is_sent_and_stands_in_no_file(tmp_path: Path) -> None:
    calls = iter(range(99))

    def script(body: Body) -> Iterator[Step]:
        if next(calls) % 2:
            yield Status(400, f"the key {KEY} is not good for this")
        yield from good(body)

    logging = {"log_file": "annotation.log", "level": "DEBUG", "log_to_console": True}
    found, requests, _ = run(tmp_path, script, n=4, logging=logging)
    assert found.exit_code == 1
    assert "the key <key> is not good" in found.output
    assert {one.headers["authorization"] for one in requests} == {f"Bearer {KEY}"}
    assert KEY not in found.output
    files = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert any(one.name == "annotation.log" for one in files)
    for one in files:
        assert KEY.encode() not in one.read_bytes(), one
    for one in annotated(tmp_path / "talks_annotated.jsonl.gz"):
        assert KEY not in str(one)


def test_each_turn_has_a_line_where_that_is_wanted(tmp_path: Path) -> None:
    run(tmp_path, good, output={"save_individual_turns": True, "output_suffix": "_annotated"})
    lines = gzip.decompress((tmp_path / "talks_annotated.turns.jsonl.gz").read_bytes()).splitlines()
    [dialogue] = annotated(tmp_path / "talks_annotated.jsonl.gz")
    assert len(lines) == len(dialogue.turns)
    second = json.loads(lines[1])
    assert second["dialogue_turn"] == 2
    assert read_answer(lines[1].decode(), [2], CATALOG)[2] == dialogue.references[2]


@pytest.mark.parametrize(
    ("sections", "says"),
    [
        ({"annotation": {"batchsize": 4}}, "batchsize"),
        ({"annotation": {"max_workers": 0}}, "annotation.max_workers"),
        ({"llm": {"model": ""}}, "give --model"),
        ({"llm": {"base_url": ""}}, "give --base-url"),
        ({"llm": {"api_key": "x"}}, "api_key"),
        ({"tool_catalog": {"domain": ""}}, "tools are required"),
        ({"tool_catalog": {"catalog": "c.json"}}, "one of catalog, domain"),
        ({"prompts": {"task_prompt": "{turns} {tool_catalogue}"}}, "'tool_catalog'"),
        ({"prompts": {"task_prompt": "{dialogue_context}"}}, "must contain {turns}"),
        ({"dialogues": {"file": "none.jsonl"}}, "none.jsonl"),
        ({"annotation": {"start_index": 5}}, "the file has 2 dialogues"),
    ],
)
def test_settings_that_cannot_work_are_named_before_anybody_is_asked(
    tmp_path: Path, sections: dict[str, Any], says: str
) -> None:
    talks(tmp_path / "talks.jsonl", n=2)
    with FakeServer(good, answers_probes=True) as server:
        found = timeful(
            "annotate", saved(tmp_path, server, **sections), env={"OPENAI_BASE_URL": ""}
        )
    assert isinstance(found.exception, SettingsError)
    assert says in str(found.exception)
    assert not server.requests


def test_tools_of_ones_own_join_the_common_ones(tmp_path: Path) -> None:
    custom = {"send-flowers": {"description": "Send flowers.", "parameters": [{"name": "what"}]}}
    for common, count in ((True, 16), (False, 1)):
        found, requests, meta = run(
            tmp_path,
            once_bad(Say("no")),
            "--replace",
            tool_catalog={"use_common_tools": common, "custom_tools": custom},
            annotation={"max_retries": 0},
        )
        assert found.exit_code == 1
        assert meta["tools"]["actions"] == count
        assert "Send flowers." in question(requests[0].body)
        assert ("find-account" in question(requests[0].body).split("TOOLS")[1]) == common
