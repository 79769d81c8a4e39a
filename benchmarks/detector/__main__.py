"""`python -m benchmarks.detector --kernel 54 --sim 360 --downloads 216`: probe what is missing, and write the page.

Probes of lines are made each time, with the model of the package: 290 take a minute and a half on two processors.
"""

import argparse

from benchmarks.detector import classed, downloads, lines
from benchmarks.detector.cases import classed_cases, linux_cases, linux_classed_cases, ns3_cases
from benchmarks.detector.collect import RESULTS, collect
from benchmarks.detector.page import write
from sojourn.detect.stored import load_model

KERNEL, SIM, DOWNLOADS, CLASSES, SIM_CLASSES, LINUX, LINUX_CLASSES, NS3 = (
    RESULTS / f"{name}.jsonl"
    for name in ("kernel", "sim", "downloads", "classes", "sim-classes", "linux", "linux-classes", "ns3")
)
_UML = {"world": "linux", "kernel": "uml-virtual"}
_SIM = {"world": "sim"}
_TC = {"world": "tc", "kernel": "uml-virtual"}
_NS3 = {"world": "ns3"}


def main() -> None:
    """Collect what is missing, then write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernel", type=int, default=0, metavar="N", help="probes on the kernel in virtual time")
    parser.add_argument("--sim", type=int, default=0, metavar="N", help="the same cases in the simulation")
    parser.add_argument("--downloads", type=int, default=0, metavar="N", help="captures of downloads in the simulation")
    parser.add_argument("--classes", type=int, default=0, metavar="N", help="probes on the kernel that ask for classes")
    parser.add_argument("--sim-classes", type=int, default=0, metavar="N", help="these in the simulation")
    parser.add_argument("--linux", type=int, default=0, metavar="N", help="probes of other queues of the kernel")
    parser.add_argument("--linux-classes", type=int, default=0, metavar="N", help="those with classes")
    parser.add_argument("--ns3", type=int, default=0, metavar="N", help="probes of queues of ns-3")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    collect(given.kernel, _UML, KERNEL, given.jobs)
    collect(given.sim, _SIM, SIM, given.jobs)
    collect(given.downloads, _SIM, DOWNLOADS, given.jobs, downloads.observe)
    collect(given.classes, _UML, CLASSES, given.jobs, classed.observe, classed_cases)
    collect(given.sim_classes, _SIM, SIM_CLASSES, given.jobs, classed.observe, classed_cases)
    collect(given.linux, _TC, LINUX, given.jobs, among=linux_cases)
    collect(given.linux_classes, {**_TC, "asks": True}, LINUX_CLASSES, given.jobs, classed.observe, linux_classed_cases)
    collect(given.ns3, _NS3, NS3, given.jobs, among=ns3_cases)
    files = (KERNEL, SIM, DOWNLOADS, CLASSES, SIM_CLASSES, LINUX, LINUX_CLASSES, NS3)
    write({file.stem: file for file in files}, load_model(), lines.collect(given.jobs))


if __name__ == "__main__":
    main()
