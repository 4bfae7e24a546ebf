"""Agents of one's own in `timeful run proactor`: an endpoint, a key and a catalog for each."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
pytest.importorskip("openai")

from tests.servers.fake import FakeServer, Say
from timeful.agents.proactive.settings import load_agent
from timeful.catalogs.catalog import write_catalog
from timeful.cli.main import app
from timeful.domains.library import load_domain
from timeful.errors import SettingsError
from timeful.reports.results import read_results

NOTHING = Say('{"proactive_action_opportunities": []}')


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def play(out: Path, agents: list[Path | str], *arguments: str) -> str:
    few = ["--dialogues", "1", "--runs", "1", "--workers", "1"]
    named = [part for agent in agents for part in ("--agent", str(agent))]
    return invoke("run", "proactor", *few, *named, *arguments, "--out", str(out))


def write_agent(path: Path, **changes: object) -> Path:
    """The agent of the package that does not reason, with other entries in its file."""
    said = msgspec.to_builtins(load_agent("non-reasoning"))
    path.write_bytes(msgspec.json.encode(said | changes))
    return path


def llm(name: str, server: FakeServer, **changes: object) -> dict[str, object]:
    return {
        "model": f"maker/{name}",
        "using_short_model_name": True,
        "base_url": server.base_url,
        "api_key_name": f"KEY_OF_{name.upper()}",
        "temperature": 0.5,
        **changes,
    }


@pytest.fixture
def servers() -> Iterator[tuple[FakeServer, FakeServer]]:
    with ExitStack() as stack:
        first, second = (stack.enter_context(FakeServer([NOTHING])) for _ in range(2))
        yield first, second


def spoken_with(server: FakeServer) -> set[tuple[str, str, float | None]]:
    return {
        (one.body["model"], one.headers["authorization"], one.body.get("temperature"))
        for one in server.requests
    }


def test_a_report_of_a_language_model_has_no_settings_of_the_stand_in(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer]
) -> None:
    live = ["--model", "openai:m", "--base-url", servers[0].base_url]
    play(tmp_path / "live", ["non-reasoning"], *live)
    play(tmp_path / "rules", ["non-reasoning"])
    pages = [(tmp_path / name / "report.html").read_text() for name in ("live", "rules")]
    assert ["stand_in_temperature" in page for page in pages] == [False, True]


def test_two_agents_have_two_models_and_two_keys_and_a_third_is_offline(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ada", "bob"):
        monkeypatch.setenv(f"KEY_OF_{name.upper()}", f"secret-of-{name}")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-of-nobody")
    ada = write_agent(tmp_path / "first.yaml", llm=llm("ada", servers[0], extra={"top_k": 20}))
    bob = write_agent(tmp_path / "second.yaml", llm=llm("bob", servers[1], temperature=None))
    said = play(tmp_path / "run", [ada, bob, "non-reasoning"], "--threshold", "0.7")
    assert spoken_with(servers[0]) == {("ada", "Bearer secret-of-ada", 0.5)}
    assert spoken_with(servers[1]) == {("bob", "Bearer secret-of-bob", None)}
    assert {one.body.get("top_k") for one in servers[0].requests} == {20}
    assert {one.body.get("top_k") for one in servers[1].requests} == {None}
    for title in ("first, openai:ada", "second, openai:bob", "Non-Reasoning, cautious 0.7"):
        assert title in said
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"secret-of" not in path.read_bytes(), path
    assert "Some rows are stand-ins" in said
    settings = json.loads((tmp_path / "run" / "settings.json").read_text())
    assert [str(ada), "openai:ada", servers[0].base_url] in settings["voices"]
    asked = [len(server.requests) for server in servers]
    again = play(tmp_path / "run", [ada, bob, "non-reasoning"], "--threshold", "0.7")
    assert again == said
    assert [len(server.requests) for server in servers] == asked, "what was played is kept"


def test_a_model_on_the_command_line_wins_over_files_and_so_does_an_address(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "common")
    monkeypatch.setenv("KEY_OF_ADA", "hers")
    first, second = servers
    ada = write_agent(tmp_path / "first.yaml", llm=llm("ada", first))
    play(tmp_path / "model", [ada], "--model", "openai:eve", "--base-url", second.base_url)
    assert spoken_with(second) == {("eve", "Bearer common", 0.5)}
    second.requests.clear()
    play(tmp_path / "address", [ada], "--base-url", second.base_url, "--temperature", "0.9")
    assert spoken_with(second) == {("ada", "Bearer hers", 0.9)}
    play(tmp_path / "rules", [ada], "--model", "rules", "--timing", "by-turn", "--no-curve")
    assert not first.requests


def test_a_model_without_an_address_is_asked_where_the_files_say_with_their_keys(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "common")
    monkeypatch.setenv("KEY_OF_ADA", "hers")
    ada = write_agent(tmp_path / "first.yaml", llm=llm("ada", servers[0]))
    said = play(tmp_path / "run", [ada], "--model", "openai:maker/eve")
    assert spoken_with(servers[0]) == {("maker/eve", "Bearer hers", 0.5)}
    assert "first, openai:maker/eve" in said
    with pytest.raises(SettingsError, match="--base-url"):
        play(tmp_path / "no", [ada, "reasoning"], "--model", "openai:eve")


def test_a_judge_beside_agents_with_endpoints_leaves_them_where_they_are(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer]
) -> None:
    ada = write_agent(tmp_path / "first.yaml", llm=llm("ada", servers[0]))
    with FakeServer([Say('{"reasoning": "so", "rating": 4}')]) as judge:
        play(tmp_path / "run", [ada], "--judge", "openai:kind", "--base-url", judge.base_url)
        assert {one.body["model"] for one in judge.requests} == {"kind"}
    assert {one.body["model"] for one in servers[0].requests} == {"ada"}


def test_what_an_endpoint_of_a_file_said_is_replayed_from_a_cassette(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer]
) -> None:
    ada = write_agent(tmp_path / "first.yaml", llm=llm("ada", servers[0]))
    tape = tmp_path / "said.jsonl"
    said = play(tmp_path / "run", [ada], "--record", str(tape))
    asked = len(servers[0].requests)
    again = play(tmp_path / "again", [ada], "--model", f"replay:{tape}")
    assert len(servers[0].requests) == asked > 0
    table = said.partition("Table 1")[2].splitlines()[2].split()[-6:]
    assert again.partition("Table 1")[2].splitlines()[2].split()[-6:] == table


def test_a_file_without_an_address_is_offline_and_one_without_a_model_is_refused(
    tmp_path: Path, servers: tuple[FakeServer, FakeServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", servers[0].base_url)
    mine = write_agent(tmp_path / "mine.yaml")
    assert "mine, cautious 0.7" in play(tmp_path / "run", [mine], "--timing", "by-turn")
    assert not servers[0].requests
    unnamed = write_agent(tmp_path / "unnamed.yaml", llm={"base_url": servers[0].base_url})
    with pytest.raises(SettingsError, match=r"unnamed.yaml: llm.model is missing"):
        play(tmp_path / "no", [unnamed])


# --- catalogs -----------------------------------------------------------------------------------


def test_the_domain_of_a_file_counts_unless_another_is_given(tmp_path: Path) -> None:
    loan = write_agent(tmp_path / "mine.yaml", tool_catalog={"domain": "loan"})
    quick = ["--timing", "by-turn", "--no-curve"]
    assert "domain loan" in play(tmp_path / "1", [loan, "reasoning"], *quick)
    assert "domain shop" in play(tmp_path / "2", [loan], "--domain", "shop", *quick)


def test_the_catalog_of_a_file_is_found_from_its_folder_and_needs_dialogues(
    tmp_path: Path,
) -> None:
    knowledge = load_domain("shop").knowledge
    (tmp_path / "mine").mkdir()
    write_catalog(knowledge.catalog, tmp_path / "mine" / "tools.json")
    (tmp_path / "flows.json").write_bytes(msgspec.json.encode(knowledge.ontology))
    agent = write_agent(tmp_path / "mine" / "own.yaml", tool_catalog={"catalog": "tools.json"})
    data = str(tmp_path / "own.jsonl")
    invoke("dialogues", "make", "shop", "--n", "2", "--seed", "4", "--out", data)
    with pytest.raises(SettingsError, match="give --data or --domain"):
        play(tmp_path / "run", [agent])
    flows = ["--ontology", str(tmp_path / "flows.json")]
    own = ["--data", data, "--split", "all", "--timing", "by-turn", "--no-curve"]
    assert "catalog tools.json" in play(tmp_path / "run", [agent], *own, *flows)
    assert "domain shop" in play(tmp_path / "other", [agent], *own, "--domain", "shop")
    with pytest.raises(SettingsError, match="has no effect"):
        play(tmp_path / "idle", [agent], *own, "--domain", "shop", *flows)


def test_files_that_name_several_catalogs_are_no_one_run(tmp_path: Path) -> None:
    loan = write_agent(tmp_path / "a.yaml", tool_catalog={"domain": "loan"})
    shop = write_agent(tmp_path / "b.yaml", tool_catalog={"domain": "shop"})
    with pytest.raises(SettingsError, match=r"a.yaml: loan, .*b.yaml: shop.*--domain"):
        play(tmp_path / "run", [loan, shop])
    both = write_agent(tmp_path / "c.yaml", tool_catalog={"domain": "shop", "catalog": "t.json"})
    with pytest.raises(SettingsError, match="not from both"):
        play(tmp_path / "run", [both])


# --- paces --------------------------------------------------------------------------------------


def test_how_fast_people_are_is_an_option_and_slower_people_are_easier(tmp_path: Path) -> None:
    def lost(name: str, *options: str) -> float:
        slow = ["--timing", "pace", "--no-curve", "--token-ms", "60", "--threshold", "0.2"]
        play(tmp_path / name, ["non-reasoning"], *slow, *options)
        found = read_results(tmp_path / name / "results.json")
        return next(
            row.value for row in found if row.metric == "lost turns" and row.value is not None
        )

    usual = lost("usual")
    same = ["--speaking-wpm", "40", "--reading-wpm", "240", "--pause", "1", "--spread", "0.25"]
    assert lost("same", *same) == usual
    assert lost("patient", "--pause", "60") == 0 < usual
    assert lost("hasty", "--speaking-wpm", "400", "--reading-wpm", "0", "--spread", "0") > usual


def test_how_fast_people_are_changes_nothing_where_the_conversation_waits(tmp_path: Path) -> None:
    for option, timing in (("--speaking-wpm", "by-turn"), ("--pause", "timestamps")):
        with pytest.raises(SettingsError, match=f"{option} has no effect"):
            play(tmp_path / "run", ["non-reasoning"], "--timing", timing, option, "50")
    with pytest.raises(SettingsError, match="spread"):
        play(tmp_path / "run", ["non-reasoning"], "--timing", "pace", "--spread", "3")
    with pytest.raises(SettingsError, match="pause"):
        play(tmp_path / "run", ["non-reasoning"], "--timing", "pace", "--pause", "nan")
