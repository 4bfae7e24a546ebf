"""The inbox through an endpoint: equal records, cassettes, prices and refusals."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.servers.fake import Body, FakeServer, Say, Step, Wait
from timeful.core.units import seconds
from timeful.experiments.sweep import encode
from timeful.models.role import read_role
from timeful.records.events import Noted, ThoughtEnded, ThoughtStarted
from timeful.records.recorder import Recorder
from timeful.suites.engagement.inbox.episode import InboxEpisode
from timeful.suites.engagement.inbox.play import play
from timeful.suites.engagement.inbox.rows import summarize

LIKE = InboxEpisode(transcripts="answers")


# --- through an endpoint -------------------------------------------------------------------------


def answers(delay_ms: float) -> object:
    """Write when asked to write; else handle what is urgent, and mumble about what is low."""

    def script(body: Body) -> Iterator[Step]:
        asked = body["messages"][-1]["content"]
        if asked.startswith("The document"):
            for word in range(300):
                if word % 100 == 0:
                    yield Wait(delay_ms)
                yield Say(f"word{word} ", tokens=word + 1)
            return
        yield Wait(delay_ms)
        number = asked.split("Email ")[1].split(",")[0]
        if "low urgency" in asked:
            yield Say("That can wait.")
        elif "high urgency" in asked:
            yield Say("It is due soon. ")
            yield Say(f'<handle id="{number}"/>')
        else:
            yield Say(f'<remind id="{number}" after="9"/>')

    return script


def live(base_url: str, *, record: Path | None = None, interface: str) -> InboxEpisode:
    voices = {
        role: read_role(
            "openai:fake",
            stand_in=stand_in,
            base_url=base_url,
            temperature=0.0,
            record=None if record is None else str(record),
        )
        for role, stand_in in (("triage", "rules"), ("writer", "prose"))
    }
    world = replace(LIKE.world, horizon=seconds(25))
    return replace(
        LIKE,
        policy="model",
        interface=interface,
        transcripts="full",
        world=world,
        **voices,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("interface", ["event-driven", "polling"])
def test_a_live_episode_is_the_same_whatever_the_servers_delays(interface: str) -> None:
    rows = []
    for delay in (0, 15):
        recorder = Recorder()
        with FakeServer(answers(delay)) as server:  # type: ignore[arg-type]
            assert play(live(server.base_url, interface=interface), recorder)
        rows.append(summarize(recorder.events))
    assert rows[0] == rows[1]
    assert rows[0].emails > 0
    assert rows[0].tokens == 300
    assert not rows[0].stand_in
    assert rows[0].progress == 4


def test_triage_costs_the_same_whatever_a_model_says_about_it() -> None:
    recorder = Recorder()
    with FakeServer(answers(0)) as server:  # type: ignore[arg-type]
        play(live(server.base_url, interface="event-driven"), recorder)
    begun = {e.thought: e for e in recorder.events if isinstance(e, ThoughtStarted)}
    spans = {
        event.at - begun[event.thought].at
        for event in recorder.events
        if isinstance(event, ThoughtEnded) and begun[event.thought].purpose == "triage"
    }
    assert spans == {seconds(0.2)}
    mumbled = [event for event in recorder.events if isinstance(event, Noted)]
    assert len(mumbled) == summarize(recorder.events).malformed > 0


def test_the_address_of_an_endpoint_is_written_without_its_password() -> None:
    asked = read_role("openai:m", stand_in="rules", base_url="http://me:secret@host:1/v1")
    assert encode(asked)["endpoint"] == "http://host:1/v1"
