"""`timeful run proactor`, as a person uses it."""

import json
import re
import shutil
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

pytest.importorskip("yaml")
pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from tests.dialogues.material import ABCD, needs_abcd
from tests.servers.fake import Body, FakeServer, Say, Status, Step
from timeful.catalogs.catalog import write_catalog
from timeful.cli.main import app
from timeful.domains.library import load_domain
from timeful.errors import ModelRefusedError, SettingsError, TimefulError
from timeful.models.calibrate import Calibration
from timeful.reports.results import read_results

FEW = ["--dialogues", "1", "--runs", "1", "--agent", "non-reasoning", "--workers", "1"]
QUICK = [*FEW, "--no-curve", "--timing", "by-turn"]


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def play(out: Path, *arguments: str) -> str:
    return invoke("run", "proactor", *arguments, "--out", str(out))


def test_a_domain_may_be_a_folder_and_has_published_rows_that_are_like_it(tmp_path: Path) -> None:
    with as_file(files("timeful.domains") / "bundled" / "loan") as folder:
        shutil.copytree(folder, tmp_path / "my-loan")
    said = play(tmp_path / "run", *QUICK, "--domain", str(tmp_path / "my-loan"))
    assert "domain my-loan" in said
    assert "Table 5, published: Home Loan" in said


@pytest.mark.parametrize("name", ["own.jsonl", "own.json.gz"])
def test_a_file_of_ones_own(tmp_path: Path, name: str) -> None:
    path = str(tmp_path / name)
    invoke("dialogues", "make", "shop", "--n", "3", "--seed", "4", "--out", path)
    said = play(tmp_path / "run", *QUICK, "--data", path, "--split", "train")
    assert f"{name}, split train" in said
    assert ("no AC, Max AC and PRI" in said) == name.endswith(".json.gz")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--agent", "reasonning"], "unknown agent"),
        (["--agent", "assg"], "Did you mean 'asg'"),
        (["--threshold", "1.5"], "a threshold"),
        (["--timing", "by-turns"], "unknown timing"),
        (["--temperature", "3"], "from 0 to 2"),
        (["--pages", "-1"], "0 or more, all"),
        (["--pace", "no.json"], "cannot be read"),
        (["--judge", "openai:m"], "--base-url"),
        (["--judge", "judges.yaml"], "judges.yaml"),
        (["--base-url", "http://127.0.0.1:1"], "has no effect"),
        (["--abcd", "."], "cannot read"),
        (["--catalog", "c.json"], "c.json"),
        (["--ontology", "o.json"], "has no effect"),
        (["--data", "no.jsonl"], "no.jsonl"),
        (["--split", "tset"], "unknown split"),
        (["--token-ms", "-1"], "at least 0"),
        (["--model", "openai:m"], "--base-url"),
        (["--dialogues", "0"], "at least one dialogue"),
    ],
)
def test_what_cannot_be_or_changes_nothing_is_refused(
    tmp_path: Path, options: list[str], says: str
) -> None:
    with pytest.raises(TimefulError, match=says):
        play(tmp_path / "run", *options)
    assert not (tmp_path / "run" / "settings.json").exists()


def test_a_pace_may_be_one_that_was_measured(tmp_path: Path) -> None:
    Calibration(
        model="m",
        endpoint="",
        alpha_s_per_token=1 / 80,
        beta_s=0.5,
        r_squared=1.0,
        first_token_s=0.5,
        timings=(),
    ).save(tmp_path / "pace.json")
    said = play(
        tmp_path / "run", *FEW, "--no-curve", "--timing", "pace", "--pace", f"{tmp_path}/pace.json"
    )
    assert "80 +0.5 s tokens/s" in " ".join(said.split())


def test_a_judge_is_asked_once_and_reports_are_made_again_without_it(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    out = tmp_path / "run"
    with FakeServer([Say('{"reasoning": "so", "rating": 4}')]) as server:
        judge = ["--judge", "openai:kind", "--base-url", server.base_url]
        said = play(out, *QUICK, *judge)
        asked = len(server.work)
        assert len(server.requests) == asked + 1, "a probe"
        assert play(out, *QUICK, *judge) == said
        assert len(server.requests) == asked + 1 > 1
    assert "PR by kind (kind)" in said
    assert f"{asked:,} requests" in said.replace("\n", " ")
    assert invoke("report", str(out)) == said


def ask_judge(out: Path, server: FakeServer) -> Result:
    judge = ["--judge", "openai:kind", "--base-url", server.base_url]
    return CliRunner().invoke(app, ["run", "proactor", *QUICK, *judge, "--out", str(out)])


def test_a_judge_that_refuses_ends_the_run_at_its_first_request(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    with FakeServer([Status(401)]) as server:
        result = ask_judge(tmp_path / "run", server)
        assert len(server.requests) == 1
    assert isinstance(result.exception, ModelRefusedError)
    assert not (tmp_path / "run" / "episodes").exists()


def test_a_judge_that_refuses_after_the_episodes_leaves_a_report_and_no_failure(
    tmp_path: Path,
) -> None:
    pytest.importorskip("openai")
    out, asked = tmp_path / "run", 0

    def expire(body: Body) -> Sequence[Step]:
        nonlocal asked
        asked += 1
        good = Say('{"reasoning": "so", "rating": 4}')
        return [Status(401, "expired") if asked > 9 else good]

    with FakeServer(expire) as server:
        result = ask_judge(out, server)
        assert isinstance(result.exception, ModelRefusedError)
        assert (out / "report.html").exists()
        ratings = [json.loads(line) for line in (out / "ratings.jsonl").read_text().splitlines()]
        assert len(ratings) == 8
        assert {rating["rating"] for rating in ratings} == {4}
        assert server.requests
        asked = -1000
        assert ask_judge(out, server).exit_code == 0
        whole = len((out / "ratings.jsonl").read_text().splitlines())
        assert len({request.body["messages"][-1]["content"] for request in server.work}) == whole


def test_a_judge_that_does_not_answer_costs_neither_run_nor_many_requests(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    judges = tmp_path / "judges.yaml"

    def fail(body: Body) -> Sequence[Step]:
        return [Status(500, "no luck") if "PREDICTIONS" in str(body) else Say("ready")]

    with FakeServer(fail) as server:
        judges.write_text(
            f"judgers: [{{name: kind, model: m, base_url: '{server.base_url}', "
            "settings: {retry_on_failure: false}}]"
        )
        command = ["run", "proactor", *QUICK, "--judge", str(judges)]
        result = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
        assert len(server.work) <= 32
    assert result.exit_code == 1
    assert "Table 1" in result.stdout
    assert "does not answer, and is asked no more" in result.stdout
    again = " ".join(invoke("report", str(tmp_path / "run")).split())
    assert re.search(r"without an answer: .*status 500.*; --judge asks again\.", again)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("Sorry, I cannot.", "Unusable answers: 100 %"),
        ('{"proactive_action_opportunities": []}', ""),
    ],
)
def test_a_run_of_nothing_but_unusable_answers_does_not_look_like_a_success(
    tmp_path: Path, answer: str, says: str
) -> None:
    pytest.importorskip("openai")
    with FakeServer([Say(answer)]) as server:
        model = ["--model", "openai:kind", "--base-url", server.base_url]
        said = play(tmp_path / "run", *FEW, *model)
    assert "Nothing was predicted in time at any turn by Non-Reasoning, openai:kind." in " ".join(
        said.split()
    )
    assert ("Unusable answers" in said) == bool(says)
    assert says in said
    page = (tmp_path / "run" / "report.html").read_text()
    notices = page.split('class="notice">')[1:]
    assert any(one.startswith("Nothing was predicted in time") for one in notices)


def test_a_catalog_of_ones_own_with_its_workflows(tmp_path: Path) -> None:
    knowledge = load_domain("shop").knowledge
    write_catalog(knowledge.catalog, tmp_path / "tools.json")
    (tmp_path / "flows.json").write_bytes(msgspec.json.encode(knowledge.ontology))
    data = str(tmp_path / "own.jsonl")
    invoke("dialogues", "make", "shop", "--n", "2", "--seed", "4", "--out", data)
    own = ["--data", data, "--split", "all", "--catalog", str(tmp_path / "tools.json")]
    with pytest.raises(SettingsError, match="give --ontology"):
        play(tmp_path / "run", *QUICK, *own)
    said = play(tmp_path / "run", *QUICK, *own, "--ontology", str(tmp_path / "flows.json"))
    assert "Table 1: catalog tools.json, own.jsonl; 1 synthetic dialogue" in said


def test_a_catalog_that_is_not_that_of_the_references_is_refused(tmp_path: Path) -> None:
    catalog = load_domain("shop").knowledge.catalog.text().replace("find-account", "find_account")
    (tmp_path / "tools.json").write_text(catalog)
    data = str(tmp_path / "own.jsonl")
    invoke("dialogues", "make", "shop", "--n", "2", "--seed", "4", "--out", data)
    own = ["--data", data, "--split", "all", "--catalog", str(tmp_path / "tools.json")]
    said = "1 action that the catalog lacks: 'find-account' \\(did you mean 'find_account'"
    with pytest.raises(SettingsError, match=said):
        play(tmp_path / "run", *QUICK, *own)


def test_a_file_without_the_split_test_is_played_whole_unless_one_is_asked_for(
    tmp_path: Path,
) -> None:
    data = tmp_path / "own.jsonl"
    invoke("dialogues", "make", "shop", "--n", "2", "--seed", "4", "--out", str(data))
    data.write_text(data.read_text().replace('"split":"train"', '"split":""'))
    few = [*QUICK, "--data", str(data), "--out", str(tmp_path / "run")]
    result = CliRunner().invoke(app, ["run", "proactor", *few])
    assert "own.jsonl has no split called test: all of it counts" in result.stderr
    assert "Table 1: domain shop, own.jsonl; 1 synthetic" in result.stdout
    with pytest.raises(SettingsError, match="no dialogue has a split"):
        play(tmp_path / "other", *QUICK, "--data", str(data), "--split", "test")


@needs_abcd
def test_a_file_in_abcds_shape_with_abcds_own_workflows(tmp_path: Path) -> None:
    data = ["--data", str(ABCD / "abcd_like.json.gz"), "--abcd", str(ABCD)]
    said = play(tmp_path / "run", *QUICK, *data)
    assert "Table 1: ABCD, abcd_like.json.gz, split test; 1 synthetic" in " ".join(said.split())
    assert "no AC, Max AC and PRI" in said
    assert "EC of the references" in said
    assert max(map(len, said.split(str(tmp_path))[0].splitlines())) <= 80


def test_judges_of_a_file_rate_side_by_side(tmp_path: Path) -> None:
    pytest.importorskip("openai")
    with FakeServer([Say('{"reasoning": "so", "rating": 2}')]) as server:
        judgers = [{"name": name, "model": "m", "base_url": server.base_url} for name in "ab"]
        (tmp_path / "judges.yaml").write_bytes(msgspec.json.encode({"judgers": judgers}))
        play(tmp_path / "run", *QUICK, "--judge", str(tmp_path / "judges.yaml"))
    found = read_results(tmp_path / "run" / "results.json")
    rated = {row.metric: row.value for row in found if row.metric.startswith("PR by")}
    assert rated == {"PR by a (m)": 2, "PR by b (m)": 2}
    assert "PR by b" in (tmp_path / "run" / "report.html").read_text()
