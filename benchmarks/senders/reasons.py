"""Why a comparison falls short: known reasons of a first difference."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

OPEN = "open"


@dataclass(frozen=True)
class Reason:
    """A rule that Sojourn follows otherwise than the kernel, and the first differences that it explains."""

    name: str
    text: str
    states: Collection[str]
    """Of the kernel's sender, as `tcpi_ca_state` has it."""
    controls: Collection[str] = ()
    """All where this is empty."""
    workloads: Collection[str] = ()
    """All where this is empty."""

    def explains(self, control: str, workload: str, state: str) -> bool:
        """Tell whether it is the reason."""
        return (
            state in self.states
            and (not self.controls or control in self.controls)
            and (not self.workloads or workload in self.workloads)
        )


REASONS = (
    Reason(
        "offset of clocks",
        "whether the kernel's LP takes a delay for congestion depends on the offset of both clocks, because its sums "
        "have 32 bits (`tcp_lp_rtt_sample`). The offset is not recorded, and Sojourn draws its own: its window goes on "
        "growing where the kernel's falls.",
        {"Open"},
        {"lp"},
        {"bulk"},
    ),
    Reason(
        "cube root",
        "the kernel's CUBIC takes the cube root from a table and one step of Newton's method (`cubic_root`). From a "
        "window 32 segments below that of the loss, K is 4407/1024 s there and 4410/1024 s here, and the window grows "
        "sooner. With the kernel's root all windows up to the next loss are the same.",
        {"Open"},
        {"cubic", "cubic-bursts"},
        {"bulk-bursts", "bulk-marks-losses"},
    ),
)

_UNEXPLAINED: frozenset[tuple[str, str]] = frozenset()
"""First differences that look like one of the reasons and are not."""


def reason(control: str, workload: str, result: Mapping[str, Any]) -> str:
    """Return the name of the reason of a first difference, "open", or nothing where there is none."""
    state = result["first_state"]
    if state is None:
        return ""
    if (control, workload) in _UNEXPLAINED:
        return OPEN
    return next((known.name for known in REASONS if known.explains(control, workload, state)), OPEN)
