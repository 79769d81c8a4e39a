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
        "first segments",
        "the kernel does not pace the first ten segments of a connection; Sojourn paces all.",
        {"Open"},
        {"bbr"},
    ),
    Reason(
        "lost again",
        "the kernel learns from time (RACK, RFC 8985) that a retransmission was lost too, and repeats it during the "
        "same repair. Sojourn waits for the timeout.",
        {"Recovery"},
        workloads={"bulk-bursts"},
    ),
    Reason(
        "delay gradient",
        "where delay grows, the kernel's control lowers the window by proportional rate reduction (RFC 9937) as after "
        "a mark. Sojourn's lowers it at once.",
        {"CWR"},
        {"cdg"},
    ),
    Reason(
        "flight",
        "while a loss is only suspected, segments that were selectively acknowledged are not in flight for the kernel, "
        "and each lets a new one go. Sojourn sends one for each of the first two duplicate acknowledgements.",
        {"Disorder"},
    ),
    Reason(
        "credit",
        "what was selectively acknowledged while a loss was suspected never opens the kernel's window. Sojourn counts "
        "it with the next cumulative acknowledgement.",
        {"Open"},
        workloads={"bulk-reordered"},
        controls={"reno", "cubic", "westwood", "veno", "illinois", "lp", "dctcp"},
    ),
    Reason(
        "used window",
        "the kernel lets a window grow in slow start where half of it is used, and otherwise for a round trip after it "
        "was full. Sojourn lets it grow only as long as it is full.",
        {"Open"},
        {"reno", "cubic", "vegas", "westwood", "veno", "illinois", "lp", "dctcp", "cdg"},
        {"bulk", "bulk-repeated", "short", "short-tail", "on-off", "requests", "thin"},
    ),
    Reason(
        "probe",
        "the kernel probes the tail of what it sent before a timeout (TLP, RFC 8985); Sojourn waits for the timeout.",
        {"Open"},
        {"vegas"},
        {"bulk-spike", "bulk-silent"},
    ),
)

_UNEXPLAINED = {
    # The kernel concludes from one-way delays that others are there, 12 ms before Sojourn does.
    ("lp", "bulk"),
    # Vegas is a segment off in congestion avoidance.
    ("vegas", "on-off"),
    ("vegas", "bulk-losses"),
    ("vegas", "bulk-bursts"),
    ("vegas", "bulk-steps"),
    # BBR's window is what is in flight as a repair begins; Sojourn's has not begun one.
    ("bbr", "thin"),
    # The kernel draws lots there.
    ("cdg", "short-tail"),
}
"""First differences that look like one of the reasons and are not."""


def reason(control: str, workload: str, result: Mapping[str, Any]) -> str:
    """Return the name of the reason of a first difference, "open", or nothing where there is none."""
    state = result["first_state"]
    if state is None:
        return ""
    if (control, workload) in _UNEXPLAINED:
        return OPEN
    return next((known.name for known in REASONS if known.explains(control, workload, state)), OPEN)
