"""Runs packetdrill's scripts against Sojourn's transport, and writes a page of docs/validation.

python -m benchmarks.packetdrill                    # the project's own scripts, written from the RFCs
python -m benchmarks.packetdrill --scripts DIR --revision "packetdrill 2c4001c"   # those below DIR too; writes the page
"""

import argparse
import sys
from pathlib import Path

from benchmarks.common import load, save, write_page
from benchmarks.packetdrill import pages
from benchmarks.packetdrill.run import run

RESULTS = "packetdrill"
OWN = Path(__file__).resolve().parent / "scripts"


def main() -> int:
    """Command line; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.packetdrill", description="Run packetdrill's scripts.")
    parser.add_argument("--scripts", type=Path, metavar="DIR", help="a folder with scripts, such as gtests/net/tcp")
    parser.add_argument("--revision", default="", help="which scripts they are, for the page")
    parser.add_argument("--render", action="store_true", help="only write the page, from the results of the last run")
    arguments = parser.parse_args()
    if arguments.render:
        write_page("validation/packetdrill", "\n\n".join(pages.render(load(RESULTS))))
        return 0
    own = results(OWN, "rfc")
    _tell(own)
    if arguments.scripts is not None:
        theirs = results(arguments.scripts, "linux")
        if not theirs:
            print(f"packetdrill: {arguments.scripts} holds no scripts (*.pkt)", file=sys.stderr)
            return 2
        _tell(theirs)
        save(RESULTS, {"revision": arguments.revision, "linux": theirs, "own": own})
        write_page("validation/packetdrill", "\n\n".join(pages.render(load(RESULTS))))
    return 1 if any(result["outcome"] != "passes" for result in own.values()) else 0


def results(folder: Path, preset: str) -> dict[str, dict[str, object]]:
    """Run all scripts below a folder; return what came of each, by its path."""
    found: dict[str, dict[str, object]] = {}
    for path in sorted(folder.rglob("*.pkt")):
        verdict = run(path.read_text(encoding="utf-8"), preset)
        found[path.relative_to(folder).as_posix()] = vars(verdict)
    return found


def _tell(found: dict[str, dict[str, object]]) -> None:
    for name, result in found.items():
        print(": ".join(str(part) for part in (result["outcome"], name, result["why"]) if part))


if __name__ == "__main__":
    raise SystemExit(main())
