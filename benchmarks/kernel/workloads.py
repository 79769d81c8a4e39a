"""The schedules of packets that go through every qdisc, drawn from a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.kernel.inside import LARGEST_FRAME, SCHEDULED

ECT0 = 2
"""The ECN field of packets that may be marked."""

SMALLEST_FRAME = 64
ANY_SIZE = (SMALLEST_FRAME, LARGEST_FRAME)


@dataclass(frozen=True)
class Flow:
    """Packets of one flow.

    `gaps` says how packets follow each other at `mbps`: evenly, or exponentially. With `burst` packets come together.
    A flow with `on_s` is silent for times with the mean `off_s`, and sends for times with the mean `on_s`. Frames have
    between `sizes` bytes, all equally often.
    """

    mbps: float
    sizes: tuple[int, int] = (LARGEST_FRAME, LARGEST_FRAME)
    gaps: Literal["even", "exponential"] = "even"
    burst: int = 1
    on_s: float | None = None
    off_s: float = 0.0
    from_s: float = 0.0
    to_s: float = float("inf")
    tos: int = 0

    def packets(self, duration_s: float, random: np.random.Generator) -> list[tuple[int, int]]:
        """Return (time in ns, bytes of the frame) of each packet."""
        packets: list[tuple[int, int]] = []
        now, on_until = self.from_s + float(random.uniform(0, 0.02)), float("inf")
        if self.on_s is not None:
            on_until = now + random.exponential(self.on_s)
        while now < min(duration_s, self.to_s):
            sizes = random.integers(self.sizes[0], self.sizes[1] + 1, self.burst).tolist()
            packets += [(round(now * 1e9), size) for size in sizes]
            gap_s = sum(sizes) * 8 / (self.mbps * 1e6)
            now += gap_s if self.gaps == "even" else float(random.exponential(gap_s))
            if self.on_s is not None and now > on_until:
                now += random.exponential(self.off_s)
                on_until = now + random.exponential(self.on_s)
        return packets


@dataclass(frozen=True)
class Workload:
    """Flows that share a link; their index is their number."""

    flows: Sequence[Flow]
    duration_s: float
    text: str

    def schedule(self, seed: int) -> bytes:
        """Return schedule.bin: the packets of all flows in the order of time, as `inside.SCHEDULED`."""
        rows = []
        for number, flow in enumerate(self.flows):
            random = np.random.default_rng([seed, number])
            rows += [(at_ns, number, size, flow.tos) for at_ns, size in flow.packets(self.duration_s, random)]
        return b"".join(SCHEDULED.pack(*row) for row in sorted(rows))


def _steady(marked_flows: int) -> Workload:
    flows = [Flow(1.07, ANY_SIZE, "exponential", tos=ECT0 * (number < marked_flows)) for number in range(4)]
    speaking = f", {marked_flows} of them ECN-capable" if marked_flows else ""
    return Workload(flows, 40.0, f"four Poisson flows{speaking}, 4.28 Mbit/s together")


WORKLOADS: dict[str, Workload] = {
    "mixed": Workload(
        [
            Flow(1.2),
            Flow(3.0, ANY_SIZE, on_s=0.5, off_s=0.7, tos=ECT0),
            Flow(0.8, ANY_SIZE, "exponential"),
            Flow(0.08, (214, 214), tos=0x10),
            Flow(0.6, (1000, 1000), burst=30, tos=0x08),
            Flow(1.0, ANY_SIZE, from_s=3, to_s=9, tos=ECT0),
        ],
        12.0,
        "even, Poisson, on-off and bursty flows, 64 to 1514 B, now above and now below the rate",
    ),
    "overload": Workload(
        [Flow(1.5, (64 << number, LARGEST_FRAME), tos=ECT0 * (number % 2)) for number in range(4)],
        8.0,
        "four even flows of random sizes, 6 Mbit/s together",
    ),
    "greedy": Workload([Flow(3.0), Flow(5.0)], 8.0, "two even flows of 3 and 5 Mbit/s"),
    "steady": _steady(0),
    "steady-ecn": _steady(2),
    "precedences": Workload(
        [Flow(1.45, ANY_SIZE, "exponential", tos=tos) for tos in (0x28, 0x30, 0x38)],
        40.0,
        "three Poisson flows, marked AF11, AF12 and AF13, 4.35 Mbit/s together",
    ),
    "pausing": Workload(
        [Flow(8.0, ANY_SIZE, "exponential", on_s=0.1, off_s=0.5)] * 2,
        40.0,
        "two on-off flows of 8 Mbit/s, so that the queue is now long and now empty",
    ),
}
