"""Hours of simulated time: memory does not grow with them."""

import subprocess
import sys

import pytest

# Peak memory in kB of a process that simulates so many hours.
_PROGRAM = """
import sys
from sojourn import scenario
groups = [{"name": "background", "control": "ledbat", "rtt": "50 ms"}]
groups.append({"name": "web", "control": "newreno", "rtt": "50 ms", "flows": 4,
               "traffic": {"kind": "transfers", "interval": "20 s", "size": "50 kB"}})
groups.append({"name": "call", "rtt": "50 ms", "traffic": {"kind": "voip"}})
queue = {"kind": "fq_codel", "limit": "200 packets"}
scenario(duration=f"{sys.argv[1]} s", bottleneck={"rate": "1 Mbit/s", "queue": queue}, group=groups).run(
    jobs=1, series=sys.argv[2] == "series", bin_s=60.0)
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""
# A number kept of each packet of nine more hours would be 20 MB; the allocator's own granularity is about 0.1 MB.
_GROWTH_KB = 1500


def peak_kb(hours: int, kept: str) -> int:
    command = [sys.executable, "-c", _PROGRAM, str(3600 * hours), kept]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.long
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("kept", ["record", "series"])
def test_ten_hours_take_the_memory_of_one(kept: str) -> None:
    assert peak_kb(10, kept) - peak_kb(1, kept) < _GROWTH_KB
