"""Run all parts, or those named, at so many points together (100)."""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from scripts.torture import hosts, kernel, pad, place, shape, shell, sweep, written
from scripts.torture.killing import Part

PARTS: dict[str, Part] = {
    "sweep": sweep.torture,
    "study": written.torture_study,
    "page": written.torture_page,
    "training": written.torture_training,
    "kernel": kernel.torture_virtual,
    "real-kernel": kernel.torture_real,
    "hosts": hosts.torture,
    "shape": shape.torture,
    "shell": shell.torture,
    "pad": pad.torture,
}
POINTS = 100
MOST = {"training": 4}
"""Points of parts that take a minute each."""


def main(arguments: Sequence[str]) -> int:
    """Return 0 where nothing was wrong at any point, 1 where something was, 2 where nothing could be tried."""
    points = int(arguments[0]) if arguments else POINTS
    names = list(arguments[1:] or PARTS)
    try:
        code = place.enter("scripts.torture", [str(points), *names])
    except place.NoPlaceError as error:
        print(f"torture: {error}", file=sys.stderr)
        return 2
    return _all(points, names) if code is None else code


def _all(points: int, names: Sequence[str]) -> int:
    wrong = 0
    for number, name in enumerate(names):
        # As many for each as there are, the first ones take the rest.
        count = min(points // len(names) + (number < points % len(names)), MOST.get(name, points))
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="torture-") as folder:
            found = [
                f"{name}, killed at {point:.0%}: {one}"
                for point in ((number + 0.5) / count for number in range(count))
                for one in _point(PARTS[name], point, Path(folder))
            ]
        wrong += len(found)
        print(*found, sep="\n", end="\n" if found else "")
        print(f"{name}: {count} points, {len(found)} faults, {time.monotonic() - began:.0f} s", flush=True)
    return 1 if wrong else 0


def _point(part: Part, point: float, folder: Path) -> list[str]:
    """Torture once; what is written is moved into its place whole, so nothing with another name may be there."""
    return [*part(point, folder), *(f"{path.name} is left" for path in folder.glob(".*"))]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
