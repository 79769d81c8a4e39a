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
        "growing where the kernel's falls. The acknowledgement that lowers the kernel's window also opens it, to half "
        "of 20 and 2 more; Sojourn's would only lower it.",
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
        "end of a request or of a transfer counts for the kernel's BBR, which takes the path for full. With requests "
        "there is a second reason: a sample must last for the least round trip, with which Linux means that of the "
        "handshake too (`tcp_min_rtt`), and Sojourn only those of data.",
        {"Open"},
        {"bbr"},
        {"requests", "on-off-queue"},
    ),
    Reason(
        "whole microseconds",
        "the kernel's BBR reckons with times in whole microseconds, and rounds rates down to 1/2^24 segments per "
        "microsecond (`BW_SCALE`). Where what is to be in flight lies close to a whole even number, its window is two "
        "segments larger or smaller for that. With the kernel's units this difference goes.",
        {"Open"},
        {"bbr"},
        {"bulk-steps"},
    ),
    Reason(
        "rounds by number",
        "a round of the kernel's Illinois ends when a segment is acknowledged beyond all that had been sent when the "
        "round began (`end_seq`). Sojourn's ends with a segment that was sent after that time, so also with one that "
        "was sent again by a probe, a repair or a timeout. Illinois then reckons its steps at other times.",
        {"Open", "Recovery"},
        {"illinois"},
        {"bulk-silent", "bulk-steps", "bulk-spike", "requests"},
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
    Reason(
        "samples of Veno",
        "the kernel's Veno counts round-trip samples from the beginning of the connection, also after a pause "
        "(`tcp_veno_init`), and takes a round trip of which it has no sample for endless, so that it believes in a "
        "queue. Sojourn's counts anew after a pause, and judges by the queue that it found before.",
        {"Open"},
        {"veno"},
        {"on-off-queue", "requests"},
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
