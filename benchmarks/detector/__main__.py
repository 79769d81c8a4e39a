"""`python -m benchmarks.detector --kernel 54 --sim 360 --downloads 216`: probe what is missing, and write the page."""

import argparse

from benchmarks.detector import classed, downloads
from benchmarks.detector.cases import classed_cases
from benchmarks.detector.collect import RESULTS, collect
from benchmarks.detector.page import write
from sojourn.detect.model import load_model

KERNEL, SIM, DOWNLOADS, CLASSES, SIM_CLASSES = (
    RESULTS / f"{name}.jsonl" for name in ("kernel", "sim", "downloads", "classes", "sim-classes")
)
_UML = {"backend": "linux", "kernel": "uml-virtual"}
_SIM = {"backend": "sim"}


def main() -> None:
    """Collect what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=int, default=0, metavar="N", help="probes on the kernel in virtual time")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="the same cases in the simulation")
    parser.add_argument("--downloads", type=int, default=0, metavar="N", help="captures of downloads in the simulation")
    parser.add_argument("--classes", type=int, default=0, metavar="N", help="probes on the kernel that ask for classes")
    parser.add_argument("--sim-classes", type=int, default=0, metavar="N", help="these in the simulation")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    collect(given.kernel, _UML, KERNEL, given.jobs)
    collect(given.sim, _SIM, SIM, given.jobs)
    collect(given.downloads, _SIM, DOWNLOADS, given.jobs, downloads.observe)
    collect(given.classes, _UML, CLASSES, given.jobs, classed.observe, classed_cases)
    collect(given.sim_classes, _SIM, SIM_CLASSES, given.jobs, classed.observe, classed_cases)
    write({file.stem: file for file in (KERNEL, SIM, DOWNLOADS, CLASSES, SIM_CLASSES)}, load_model())


if __name__ == "__main__":
    main()
