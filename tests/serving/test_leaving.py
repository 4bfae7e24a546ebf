"""Who leaves early, and what is seen of it: clients that hang up, and a server that is stopped."""

import http.client
import json
import threading

import pytest

from tests.serving.here import Here, parrot
from timeful.models.local import fast_decoder
from timeful.models.local.batching import PendingRequest

PATIENCE_S = 20


class Gate:
    """Holds the sampler at its fifth step until somebody wants no more tokens."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 0
        self.reached, self.left = threading.Event(), threading.Event()
        step, withdraw = fast_decoder.FastDecoder.step, PendingRequest.withdraw

        def held(decoder, ids):
            self.steps += 1
            if self.steps == 5:
                self.reached.set()
                assert self.left.wait(PATIENCE_S)
            return step(decoder, ids)

        def noted(ticket):
            withdraw(ticket)
            self.left.set()

        monkeypatch.setattr(fast_decoder.FastDecoder, "step", held)
        monkeypatch.setattr(PendingRequest, "withdraw", noted)


def ask(here: Here, **how) -> http.client.HTTPConnection:
    body = {"model": here.name, "messages": [{"role": "user", "content": "round"}], **how}
    link = http.client.HTTPConnection(here.address.removeprefix("http://"), timeout=PATIENCE_S)
    link.request("POST", "/v1/chat/completions", json.dumps(body))
    return link


@pytest.mark.parametrize("stream", [True, False])
def test_who_hangs_up_is_drawn_no_more_tokens(monkeypatch, stream):
    gate = Gate(monkeypatch)
    with Here(parrot()) as here:
        link = ask(here, stream=stream, n=3)
        assert gate.reached.wait(PATIENCE_S)
        if stream:
            link.getresponse().close()
        link.close()
        assert gate.left.wait(PATIENCE_S), "the server did not notice"
        after = ask(here, max_tokens=2)
        assert json.loads(after.getresponse().read())["usage"]["completion_tokens"] == 2
        after.close()
    assert gate.steps <= 7, "one more step for who had left, and one for the other"


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_stops_tells_who_waits(monkeypatch, stream):
    gate = Gate(monkeypatch)
    here = Here(parrot())
    with here:
        link = ask(here, stream=stream)
        assert gate.reached.wait(PATIENCE_S)
        here.stop()
        answered = link.getresponse()
        said = answered.read()
    link.close()
    assert b"was closed" in said
    assert answered.status == (200 if stream else 503)
    assert gate.steps <= 6
