"""Episodes that cost nothing, for batches; importable, so that workers find them."""

import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

from timeful.errors import KernelError
from timeful.models.traffic import Limits
from timeful.records.events import EpisodeEnded, EpisodeFailed, EpisodeStarted, Turned, Wall
from timeful.records.folder import open_folder
from timeful.records.recorder import Recorder, read_record
from timeful.records.rows import EpisodeRow
from timeful.records.summary import summarize
from timeful.runs.batch import RUN, Job, run_batch


@dataclass(frozen=True)
class Count:
    """An episode that counts to its number, or misbehaves."""

    number: int
    fate: str = ""

    @property
    def key(self) -> str:
        return f"count-{self.number}"


def settings(spec: Count) -> dict[str, object]:
    return {
        "episode": {
            "suite": "test",
            "game": "count",
            "difficulty": "easy",
            "mode": "compat",
            "agent": "counter",
            "model": "none",
            "stand_in": False,
            "clock": "token",
            "tokens_per_step": 1,
            "seconds_per_step": None,
            "reserve": None,
            "game_seed": spec.number,
            "sample": 0,
        }
    }


def play(spec: Count, recorder: Recorder) -> None:
    recorder.write(EpisodeStarted(at=0, version="0", settings=settings(spec)))
    for turn in range(spec.number):
        recorder.write(
            Turned(at=turn, turn=turn, action="S", late=False, reward=1.0, score=turn + 1.0)
        )
    log = os.environ.get("COUNT_LOG")
    if log:
        with Path(log).open("a") as file:
            file.write(f"{spec.number}\n")
    if spec.fate == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if spec.fate == "break":
        raise KernelError("the timeline came to rest")
    if spec.fate == "fail":
        recorder.write(EpisodeFailed(at=1, boundary="model", error="no"))
    else:
        recorder.write(
            EpisodeEnded(at=9, reason="over", turns=spec.number, score=float(spec.number))
        )
    recorder.write(Wall(at=9, real_s=float(os.getpid()), cpu_s=0.0, retries=0))


def sum_up(path: Path) -> EpisodeRow:
    return summarize(read_record(path))


def give_up(spec: Count, recorder: Recorder, why: str) -> None:
    recorder.write(EpisodeStarted(at=0, version="0", settings=settings(spec)))
    recorder.write(EpisodeFailed(at=0, boundary="process", error=why))


JOB: Job[Count, EpisodeRow] = Job(play=play, sum_up=sum_up, give_up=give_up, row=EpisodeRow)


def main() -> None:
    """Run a batch from the command line: `jobs.py OUT COUNT WORKERS[xCONNECTIONS] [STOP_AFTER]`."""
    out, count = Path(sys.argv[1]), int(sys.argv[2])
    workers, _, connections = sys.argv[3].partition("x")
    limits = Limits(connections=int(connections)) if connections else None
    stop_after = int(sys.argv[4]) if len(sys.argv) > 4 else None
    done = 0

    def on_row(row: EpisodeRow) -> None:
        nonlocal done
        done += 1
        if done == stop_after:
            os.kill(os.getpid(), signal.SIGKILL)

    with open_folder(out, {}, RUN):
        specs = [Count(n) for n in range(count)]
        run_batch(specs, JOB, out, workers=int(workers), limits=limits, on_row=on_row)


if __name__ == "__main__":
    main()
