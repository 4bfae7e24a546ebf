"""The examples of the viewer, played and packed: `python -m benchmarks.viewer_examples`.

They are written to `src/timeful/viewer/examples`; the same code writes the same bytes.
"""

import lzma
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner

import timeful.viewer
from timeful.cli.main import app

EXAMPLES = Path(timeful.viewer.__file__).with_name("examples")
"""Where the package has them."""

PLAYS = {
    "snake-two-threads": (
        "run realtime load --game snake --agent agile --difficulty hard --seeds 1 --samples 1",
        ("token-snake-hard-agile-8192-r2048-seed0-sample0",),
    ),
    "inbox-loop-and-event-driven": (
        "run engagement/inbox --seeds 1 --episodes 1 --interface loop --interface event-driven"
        " --policy stand-in --decomposition single",
        (
            "single-event-driven-stand-in-seed0-episode0",
            "single-loop-stand-in-seed0-episode0",
        ),
    ),
    "dialogue-with-lost-turns": (
        "run proactor --dialogues 1 --runs 1 --no-curve",
        ("time-pace-0-5000000-reasoning-asg-eager-0.2-dialogue0-run0",),
    ),
}


def make_examples(names: Iterator[str] | None = None) -> Iterator[tuple[str, bytes]]:
    """Play the examples; yields the path of each below the folder, and its content."""
    for name in names or PLAYS:
        command, keys = PLAYS[name]
        with TemporaryDirectory() as folder:
            out = Path(folder, "run")
            full = [*command.split(), "--transcripts", "full", "--workers", "1", "--out", str(out)]
            result = CliRunner().invoke(app, full, catch_exceptions=False)
            assert result.exit_code == 0, result.output
            for key in keys:
                lines = (out / "episodes" / f"{key}.jsonl").read_bytes().splitlines(keepends=True)
                kept = b"".join(line for line in lines if b'"event":"wall"' not in line[:20])
                yield f"{name}/{key}.jsonl.xz", lzma.compress(kept, preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    """Write the examples."""
    total = 0
    for path, content in make_examples():
        (EXAMPLES / path).parent.mkdir(parents=True, exist_ok=True)
        (EXAMPLES / path).write_bytes(content)
        total += len(content)
        print(f"{len(content):>8,} bytes  {path}")
    print(f"{total:>8,} bytes in all")


if __name__ == "__main__":
    main()
