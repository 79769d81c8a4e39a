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
        "cut and growth",
        "the acknowledgement upon which the kernel's LP lowers its window opens it as well (`tcp_lp_pkts_acked`, then "
        "`tcp_lp_cong_avoid`): half of 20 and 2 more. Sojourn's only lowers it. How its sums in 32 bits go on depends "
        "on the offset of both clocks, which is not recorded.",
        {"Open"},
        {"lp"},
        {"bulk"},
    ),
    Reason(
        "report of repeats",
        "where reordering is common, an acknowledgement that only reports what came twice opens Sojourn's window, "
        "and not the kernel's (`tcp_may_raise_cwnd` asks for FLAG_FORWARD_PROGRESS).",
        {"Open"},
        {"reno", "westwood", "veno", "lp", "dctcp", "reno-bursts"},
        {"bulk-steps"},
    ),
    Reason(
        "start in a repair",
        "Linux tells Vegas that sending starts also where all that was out is taken for lost (`tcp_event_data_sent`), "
        "so that it judges by delay while a timeout is repaired. Sojourn's grows as Reno's then.",
        {"Loss"},
        {"vegas"},
        {"bulk-bursts"},
    ),
    Reason(
        "paced repair",
        "the kernel's BBR paces what it sends again like all else (`tcp_pacing_check` in `tcp_xmit_retransmit_queue`); "
        "Sojourn sends the first retransmission of a repair at once, and is a segment ahead from then on.",
        {"Open"},
        {"bbr"},
        {"bulk-losses", "bulk-bursts", "bulk-marks-losses"},
    ),
    Reason(
        "application",
        "Linux notes that the application limits sending when that writes again (`tcp_rate_check_app_limited` in "
        "`tcp_sendmsg_locked`), Sojourn as soon as there is nothing to send. So the rate of what is sent again at the "
        "end of a request counts for the kernel's BBR, which takes the path for full.",
        {"Open"},
        {"bbr"},
        {"requests"},
    ),
    Reason(
        "round after a timeout",
        "a round of the kernel's Illinois ends with a segment beyond all that was sent when the timer went off "
        "(`rtt_reset`): until then it grows as Reno's. Sojourn's round ends with the first retransmission.",
        {"Open"},
        {"illinois"},
        {"bulk-silent"},
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
