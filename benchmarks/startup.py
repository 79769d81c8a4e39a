"""How long the command takes to come up: `sojourn --help` and a scenario of one simulated second."""

import statistics
import subprocess
import sys
import time

REPETITIONS = 10
COMMANDS = {
    "sojourn --help": ["--help"],
    "sojourn run motivating-red --set 'duration=1 s'": ["run", "motivating-red", "--set", "duration=1 s"],
}


def main() -> None:
    """Print the median wall time of each command; the aim is below 0.3 s."""
    for name, arguments in COMMANDS.items():
        times = [_wall_time_s(arguments) for _ in range(REPETITIONS)]
        print(f"{name}: {statistics.median(times):.3f} s (median of {REPETITIONS})")


def _wall_time_s(arguments: list[str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "sojourn", *arguments], stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
