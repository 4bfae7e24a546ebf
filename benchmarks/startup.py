"""CPU seconds of the first things that a user waits for."""

import resource
import subprocess
import sys
from statistics import median

ROUNDS = 7
JOBS = {
    "import timeful": ["-c", "import timeful"],
    "timeful --help": ["-m", "timeful", "--help"],
    "timeful run realtime --help": ["-m", "timeful", "run", "realtime", "--help"],
}


def cpu_of(arguments: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    print(f"{'command':<30}{'CPU s':>8}{'target':>8}")
    for name, arguments in JOBS.items():
        print(f"{name:<30}{median(cpu_of(arguments) for _ in range(ROUNDS)):>8.2f}{0.4:>8}")


if __name__ == "__main__":
    main()
