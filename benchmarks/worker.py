"""Runs one scenario on one thread and prints what it cost, as JSON. The order comes as JSON on stdin."""

import json
import re
import sys
import time
from pathlib import Path

import sojourn


def main() -> None:
    """Read the order, run it, print the costs."""
    order = json.load(sys.stdin)
    scenario = sojourn.scenario(order["scenario"])
    begun = time.process_time()
    result = scenario.run(runs=order["runs"], jobs=1, series=False)
    cpu_s = time.process_time() - begun
    peak = _peak_bytes()
    links = [run["bottleneck"] for run in result.runs]
    costs = {
        "cpu_s": cpu_s,
        "wall_s": sum(run["wall_s"] for run in result.runs),
        "events": sum(run["events"] for run in result.runs),
        "packets": sum(link["departures"] for link in links),
        "drop_rate": sum(link["drop_rate"] or 0.0 for link in links) / len(links),
        "utilization": sum(link["utilization"] or 0.0 for link in links) / len(links),
        "peak_bytes": peak,
    }
    json.dump(costs, sys.stdout)


def _peak_bytes() -> int | None:
    """Return the most memory this process ever held; None where the system does not say."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return int(found[1]) * 1024 if found else None


if __name__ == "__main__":
    main()
