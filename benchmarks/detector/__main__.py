"""`python -m benchmarks.detector --kernel 54 --sim 360 --downloads 216`: probe what is missing, and write the page."""

import argparse

from benchmarks.detector import downloads
from benchmarks.detector.collect import RESULTS, collect
from benchmarks.detector.page import write
from sojourn.detect.model import load_model

KERNEL, SIM, DOWNLOADS = (RESULTS / f"{name}.jsonl" for name in ("kernel", "sim", "downloads"))


def main() -> None:
    """Collect what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=int, default=0, metavar="N", help="probes on the kernel in virtual time")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="the same cases in the simulation")
    parser.add_argument("--downloads", type=int, default=0, metavar="N", help="captures of downloads in the simulation")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    collect(given.kernel, {"backend": "linux", "kernel": "uml-virtual"}, KERNEL, given.jobs)
    collect(given.sim, {"backend": "sim"}, SIM, given.jobs)
    collect(given.downloads, {"backend": "sim"}, DOWNLOADS, given.jobs, downloads.observe)
    write(KERNEL, SIM, DOWNLOADS, load_model())


if __name__ == "__main__":
    main()
