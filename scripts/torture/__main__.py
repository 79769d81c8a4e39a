"""Run all parts, or those named, at so many points together (100)."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.torture import hosts, kernel, pad, sweep
from scripts.torture.killing import Part

PARTS: dict[str, Part] = {"sweep": sweep.torture, "kernel": kernel.torture, "pad": pad.torture, "hosts": hosts.torture}
POINTS = 100


def main(arguments: Sequence[str]) -> int:
    """Return 0 where nothing was wrong at any point, else 1."""
    points = int(arguments[0]) if arguments else POINTS
    names = list(arguments[1:] or PARTS)
    wrong = 0
    for place, name in enumerate(names):
        # As many for each as there are, the first ones take the rest.
        count = points // len(names) + (place < points % len(names))
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            found = [
                f"{name}, killed at {point:.0%}: {one}"
                for point in ((number + 0.5) / count for number in range(count))
                for one in PARTS[name](point, Path(folder))
            ]
        wrong += len(found)
        print(*found, sep="\n", end="\n" if found else "")
        print(f"{name}: {count} points, {len(found)} faults, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
