"""The metrics of a training by examples, as a file that is cut back."""

from pathlib import Path

import pytest

pytest.importorskip("transformers", reason="training needs timeful[train]")

from timeful.training.metrics_callback import MetricsCallback

LINES = b"".join(b'{"update":%d}\n' % update for update in (1, 2, 3))


def test_a_training_that_goes_on_forgets_what_it_will_do_again(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(LINES + b'{"upd')
    MetricsCallback(tmp_path, steps=3).open(2)
    assert path.read_bytes() == b'{"update":1}\n{"update":2}\n'


def test_a_kill_while_it_forgets_loses_no_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(LINES)

    def killed(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[:3])
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_bytes", killed)
    with pytest.raises(KeyboardInterrupt):
        MetricsCallback(tmp_path, steps=3).open(2)
    assert path.read_bytes() == LINES
