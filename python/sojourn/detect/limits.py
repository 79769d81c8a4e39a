"""What the two hosts of a transfer or of a probe kept from being sent, as packets show it, and no queue did.

The receiver's window bounds what may be on its way (RFC 9293, section 3.8.6; scaled by RFC 7323). A sender that has
nothing to send, or whose processor is busy, leaves gaps; one that paces, or its network card, spaces packets evenly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sojourn.detect.features import train_gaps
from sojourn.detect.headers import HAS_SCALE, HAS_STAMPS, RST, SYN
from sojourn.detect.log import EMPTY, Log, Times
from sojourn.detect.plan import FULL, FULL_BYTES, FULL_COUNT, LARGE, LESS

Numbers = NDArray[np.int64]
# So many segments of room are none: what is acknowledged comes in steps of two.
_ROOM_SEGMENTS = 2
# A gap is one of the sender's where it is longer than so many round trips, and than this.
_GAP_RTTS, _GAP_S = 2.0, 0.05
# RFC 7323, section 2.3.
_MAX_SHIFT = 14
_MOST, _SOME = 0.5, 0.1
# A host keeps its plan where it sends this part of what it should; trains are its own where they left as slowly.
_KEPT, _AS_SLOWLY = 0.9, 0.8
_EVEN, _EVENLY = 0.25, 0.8


@dataclass(frozen=True)
class Limits:
    """What the hosts of a stream kept from being sent."""

    window_bytes: int | None = None
    """The largest window that the receiver offered; None where its scale is not known."""
    window_share: float | None = None
    """The share of packets that used all of the window; None where that cannot be told."""
    closed: int = 0
    """How often the receiver closed its window."""
    idle_share: float = 0.0
    """The share of the time in which the sender might have sent, and did not."""
    even_share: float = 0.0
    """The share of packets that came as far behind the one before as most do, within a quarter."""

    @property
    def window_rules(self) -> bool:
        """Whether the receiver's window bounded the transfer most of the time."""
        return self.window_share is not None and self.window_share > _MOST

    def sentences(self) -> list[str]:
        """Return what is known, a sentence each."""
        said = []
        if self.window_share is not None and self.window_bytes is not None and self.window_share > _SOME:
            said.append(
                f"The receiver's window held the sender back: {self.window_share:.0%} of the packets used all of it, "
                f"{self.window_bytes / 1e3:.3g} kB at most."
            )
        if self.closed:
            times = "once" if self.closed == 1 else f"{self.closed} times"
            said.append(f"The receiver closed its window {times}: its program read more slowly than data came.")
        if self.idle_share > _SOME:
            said.append(
                f"For {self.idle_share:.0%} of the time nothing was on its way: the sender's program or host had "
                "nothing to send, or was too slow."
            )
        return said

    def elsewhere(self) -> str:
        """Return what limited a transfer whose packets did not wait, as the end of a sentence."""
        if self.window_rules:
            return "the receiver's window limited the transfer"
        if self.closed:
            return "the receiver's program limited the transfer"
        if self.idle_share > _SOME:
            return "the sender limited the transfer"
        if self.even_share > _EVENLY:
            return "packets came evenly spaced, as a sender or its network card paces them"
        return "what limited the download lies elsewhere"


def limits_of(
    rows: Any, data: Any, end: Numbers, acks: tuple[Any, Numbers], again: set[int], rtt_s: float | None
) -> Limits:
    """Return the limits of the hosts of a stream.

    Parameters
    ----------
    rows
        All packets of the connection.
    data
        Those with data, in the direction of the stream.
    end
        The end of each packet's data, as sequence numbers without a wrap.
    acks
        The packets with ACK of the other direction, and their acknowledgement numbers without a wrap.
    again
        Places in `data` of packets that were sent again, or came late.
    rtt_s
        The least round-trip time.
    """
    backward, acked = acks
    offers = (backward["flags"] & (SYN | RST)) == 0
    closed = (backward["window"] == 0) & offers
    first_s = np.diff(data["time_ns"].astype(np.int64)) / 1e9
    begins = int((closed & ~np.concatenate([[False], closed[:-1]])).sum()) if len(closed) else 0
    window, share = _window(rows, data, end, backward[offers], acked[offers])
    return Limits(window, share, begins, _idle(data, end, backward, acked, again, rtt_s), _even(first_s))


def of_senders(find: Log, overload: Log, planned_bps: float) -> list[str]:
    """Return what the sending host of a probe kept from being sent, a sentence each.

    Parameters
    ----------
    find, overload
        The logs of these stages; an empty one where a stage was not sent.
    planned_bps
        What the overload was to send.
    """
    said = []
    train = find.get(FULL, EMPTY)
    sent_s = train.sent_s[: len(train.sent_s) // FULL_COUNT * FULL_COUNT].reshape(-1, FULL_COUNT)
    came_s = train_gaps(train, FULL_COUNT)
    gap_s = float(np.median(np.ptp(sent_s, axis=1))) / (FULL_COUNT - 1) if len(came_s) else 0.0
    if len(came_s) and gap_s > _AS_SLOWLY * float(np.median(came_s)):
        rate = f"{FULL_BYTES * 8 / gap_s / 1e6:.3g} Mbit/s"
        said.append(f"Trains left their host at {rate}, no faster than they arrived: the rate may be the host's own.")
    flows = [one for one in (overload.get(name, EMPTY) for name in (LARGE, LESS)) if len(one.sent_s)]
    seconds = float(np.ptp([time_s for one in flows for time_s in (one.sent_s[0], one.sent_s[-1])])) if flows else 0.0
    sent_bps = sum(float(one.size_bytes.sum()) for one in flows) * 8 / seconds if seconds > 0 else planned_bps
    if sent_bps < _KEPT * planned_bps:
        said.append(
            f"The sending host sent {sent_bps / 1e6:.3g} of the {planned_bps / 1e6:.3g} Mbit/s that were planned: its "
            "processor or its socket's buffer was a limit."
        )
    return said


def _window(rows: Any, data: Any, end: Numbers, backward: Any, acked: Numbers) -> tuple[int | None, float | None]:
    """Return the largest window, and the share of packets that left no room in the one that their sender knew.

    A packet's echo of a timestamp tells which acknowledgement its sender had seen, wherever the capture is.
    """
    syns = rows[rows["flags"] & SYN > 0]
    met = len(np.unique(syns["forth"])) > 1
    if not met or not len(backward):
        return None, None
    shift = 0
    if (syns["options"] & HAS_SCALE).all():
        shift = min(int(syns["scale"][syns["forth"] != data["forth"][0]][-1]), _MAX_SHIFT)
    offered = backward["window"].astype(np.int64) << shift
    if not ((backward["options"] & HAS_STAMPS).all() and (data["options"] & HAS_STAMPS).all()):
        return int(offered.max()), None
    edges = np.maximum.accumulate(acked + offered)
    stamps = _since(backward["stamp"], backward["stamp"][0])
    stamps = np.maximum.accumulate(stamps)
    echoed = _since(data["echo"], backward["stamp"][0])
    last, first = (np.searchsorted(stamps, echoed, side) - 1 for side in ("right", "left"))
    known = last >= 0
    if not known.any():
        return int(offered.max()), None
    edge = edges[last[known]]
    # Acknowledgements with one timestamp are told apart by nothing.
    unsure = edge - edges[np.maximum(first[known], 0)]
    segment = int(np.quantile(data["payload_bytes"], 0.9))
    return int(offered.max()), float(np.mean(edge - end[known] <= _ROOM_SEGMENTS * segment + unsure))


def _since(numbers: Any, first: Any) -> Numbers:
    """Return how far numbers of 32 bits are from the first one."""
    ahead: Numbers = (numbers.astype(np.int64) - int(first)).astype(np.uint32).view(np.int32).astype(np.int64)
    return ahead


def _idle(data: Any, end: Numbers, backward: Any, acked: Numbers, again: set[int], rtt_s: float | None) -> float:
    """Return the share of the time in long gaps before which all was acknowledged and no window was closed."""
    times, came = data["time_ns"].astype(np.int64), backward["time_ns"].astype(np.int64)
    whole_ns = int(times[-1] - times[0])
    least_ns = max(_GAP_S, _GAP_RTTS * (rtt_s or 0.0)) * 1e9
    places = np.flatnonzero(np.diff(times) > least_ns)
    if not len(places) or not len(came):
        return 0.0
    highest, reached = np.maximum.accumulate(end)[places], np.maximum.accumulate(acked)
    before = np.searchsorted(came, times[places + 1]) - 1
    idle = (before >= 0) & (reached[before] >= highest) & (backward["window"][before] > 0)
    idle &= ~np.isin(places + 1, list(again))
    # From the acknowledgement on nothing was on its way.
    acked_ns = came[np.minimum(np.searchsorted(reached, highest), len(came) - 1)]
    gaps_ns = times[places + 1] - np.maximum(acked_ns, times[places])
    return float(gaps_ns[idle].sum() / whole_ns)


def _even(gaps_s: Times) -> float:
    usual = float(np.median(gaps_s)) if len(gaps_s) else 0.0
    return float(np.mean(np.abs(gaps_s - usual) <= _EVEN * usual)) if usual > 0 else 0.0
