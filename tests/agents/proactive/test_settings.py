"""Agents as YAML files."""

import json
import re
from pathlib import Path

import msgspec
import pytest

from tests.agents.proactive.material import agent_file
from timeful.agents.proactive.settings import AgentFile, Prompts, agent_names, load_agent
from timeful.dialogues.opportunity import read_opportunity, write_opportunities
from timeful.errors import SettingsError
from timeful.models.templates import fill

pytest.importorskip("yaml")


def test_three_agents_lie_in_the_package_and_differ_as_in_the_paper() -> None:
    assert agent_names() == ("non-reasoning", "reasoning", "reasoning-asg")
    plain, reasoning, asg = map(load_agent, agent_names())
    assert [each.reasons for each in (plain, reasoning, asg)] == [False, True, True]
    assert [each.tracks for each in (plain, reasoning, asg)] == [False, False, True]
    for each in (plain, reasoning, asg):
        assert each.question_prompts is not None
        for prompts, section, field in (
            (each.action_prompts, "action", "proactive_action_opportunities"),
            (each.question_prompts, "question", "raised_questions"),
        ):
            text = prompts.system_prompt + prompts.task_prompt
            assert ("<think>" in text and f"<{section}>" in text) == each.reasons
            assert ("{action_states}" in text) == each.tracks
            assert all(name in text for name in ("{tool_catalog}", "{dialogue_context}", field))
    assert {status: set(after) for status, after in asg.transitions.items()} == {
        status: set(asg.transitions) for status in asg.transitions
    }, "fully connected, as the paper has it"


def test_a_file_of_ones_own_restricts_the_graph(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\ntransitions: {pending: [ready_to_trigger], triggered: []}\n"
        'action_prompts: {system_prompt: "{tool_catalog}", task_prompt: "{dialogue_context}"}\n'
    )
    file = load_agent(path)
    assert file.transitions == {"pending": ("ready_to_trigger",), "triggered": ()}
    assert file.question_prompts is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("name: 5", r"name.*Expected `str`"),
        ("nmae: x", "unknown field `nmae`"),
        ("llm: {temperature: 3}", r"llm.temperature.*<= 2"),
        ("llm: {api_key: secret}", "unknown field `api_key`"),
        ("transitions: {soon: []}", "(?=.*transitions).*Invalid enum value 'soon'"),
        ("transitions: {pending: [soon]}", "transitions.*Invalid enum value 'soon'"),
        (
            'question_prompts: {system_prompt: "", task_prompt: "{dialogue_contxt}"}',
            "name in question_prompts 'dialogue_contxt'.*Did you mean 'dialogue_context'",
        ),
        (
            'question_prompts: {system_prompt: "", task_prompt: "What?"}',
            "must contain {dialogue_context}",
        ),
        ("question_prompts: [", "not valid YAML"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(tmp_path: Path, change: str, said: str) -> None:
    path = tmp_path / "mine.yaml"
    head = "" if change.startswith("name:") else "name: mine\n"
    prompts = '{system_prompt: "{tool_catalog}", task_prompt: "{dialogue_context}"}'
    path.write_text(f"{head}action_prompts: {prompts}\n{change}\n")
    with pytest.raises(SettingsError, match=said) as error:
        load_agent(path)
    assert "mine.yaml" in str(error.value)


@pytest.mark.parametrize("missing", ["tool_catalog", "dialogue_context"])
def test_prompts_for_actions_must_show_the_catalog_and_the_conversation(missing: str) -> None:
    text = "{tool_catalog} {dialogue_context}".replace(f"{{{missing}}}", missing)
    with pytest.raises(ValueError, match=rf"action_prompts must contain \{{{missing}\}}"):
        AgentFile(name="mine", action_prompts=Prompts(system_prompt="", task_prompt=text))


def test_states_that_only_questions_are_shown_are_tracked_as_well() -> None:
    actions = Prompts(system_prompt="{tool_catalog}", task_prompt="{dialogue_context}")
    asked = Prompts(system_prompt="{action_states}", task_prompt="{dialogue_context}")
    assert not AgentFile(name="mine", action_prompts=actions).tracks
    assert AgentFile(name="mine", action_prompts=actions, question_prompts=asked).tracks


def test_an_agent_can_be_written_down_and_read_back() -> None:
    file = agent_file(tracks=True)
    assert msgspec.json.decode(msgspec.json.encode(file), type=AgentFile) == file


def test_the_answers_that_prompts_show_are_json_with_the_fields_of_an_answer() -> None:
    for name in agent_names():
        file = load_agent(name)
        assert file.question_prompts is not None
        for prompts, section in (
            (file.action_prompts, "action"),
            (file.question_prompts, "question"),
        ):
            shown = fill(prompts.system_prompt, {}).partition("## ANSWER")[2]
            found = re.search(rf"<{section}>(.*)</{section}>", shown, re.DOTALL)
            assert (found is not None) == file.reasons
            answer = json.loads(found[1] if found else shown)
            if section == "question":
                assert list(answer) == ["raised_questions"]
                continue
            (one,) = answer["proactive_action_opportunities"]
            # Its words stand for what is to be chosen; with one of them chosen it can be read.
            levels = {"readiness_maturity": "low", "trigger_confidence": "low"}
            read = read_opportunity(one | levels | {"action_trigger_status": "pending"})
            assert list(write_opportunities([read])[0]) == list(one)
