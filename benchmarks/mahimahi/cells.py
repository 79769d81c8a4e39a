"""What is compared: a recorded link, a queue, a congestion control, and how many flows."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

RTT_MS = 40
DURATION_S = 60
LIMIT_PACKETS = 300
CONTROLS = {"cubic": "cubic", "reno": "newreno", "bbr": "bbr"}
"""The kernel's name of a control, and Sojourn's."""

FLOWS = (1, 4)
_RETURN_OPPORTUNITIES = "\n".join(str(ms) for ms in range(1, 1001))
"""Of the return link: 12 Mbit/s of acknowledgements, which never wait."""


@dataclass(frozen=True)
class QueueKind:
    """A queue of Mahimahi, and the same in Sojourn."""

    shell: str
    arguments: str
    sojourn: dict[str, Any]


QUEUES = {
    "droptail": QueueKind(
        "droptail", f"packets={LIMIT_PACKETS}", {"kind": "droptail", "limit": f"{LIMIT_PACKETS} packets"}
    ),
    "codel": QueueKind(
        "codel",
        f"packets={LIMIT_PACKETS},target=5,interval=100",
        {"kind": "codel", "limit": f"{LIMIT_PACKETS} packets", "target": "5 ms", "interval": "100 ms"},
    ),
    "pie": QueueKind(
        "pie",
        f"packets={LIMIT_PACKETS},qdelay_ref=20,max_burst=100",
        {"kind": "pie", "limit": f"{LIMIT_PACKETS} packets", "target": "20 ms", "burst": "100 ms"},
    ),
}


@dataclass(frozen=True)
class Cell:
    """One connection or several over a recorded link."""

    trace: Path
    queue: str
    control: str
    flows: int

    @property
    def name(self) -> str:
        """Return its name in the results."""
        return f"{self.trace.name} {self.queue} {self.control} {self.flows}"

    def scenario(self) -> dict[str, Any]:
        """Return the same as a scenario."""
        group = {
            "name": "senders",
            "flows": self.flows,
            "control": {"kind": CONTROLS[self.control], "preset": "linux"},
            "transport": {"preset": "linux", "receive_window": "4000 packets"},
            "rtt": f"{RTT_MS} ms",
        }
        bottleneck = {"trace": str(self.trace.resolve()), "queue": QUEUES[self.queue].sojourn}
        return {"name": "mahimahi", "duration": f"{DURATION_S} s", "bottleneck": bottleneck, "group": [group]}


def write_return_link(folder: Path) -> Path:
    """Write the recording of the return link into a folder."""
    path = folder / "return-link"
    path.write_text(_RETURN_OPPORTUNITIES + "\n", encoding="ascii")
    return path
