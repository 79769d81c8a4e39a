"""Written explanations of what disagrees; docs/validation.md prints those that are needed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.compare import NOISE

FILLING = """The mean is over the whole run, and the buffer has to fill first. From 10 s on (the rows below) the queue
agrees with the paper, which does not say from when on it measured."""

STARTING = """The share of the link that the start costs is missing here. Over the whole run (the rows above) it
agrees; so no single measuring interval agrees with the paper in both panels."""


LINUX_RED = """Under RED windows are of three or four segments, and what decides is the sender's recovery from small
losses. ns-2's Agent/TCP/Linux has another one than its NewReno: forward acknowledgements, rate halving, and a
back-off that every acknowledgement ends."""
VEGAS_RED = """A part of it was the module: that of Linux 2.6.22, which ns-2 runs, starts each decision from the
window of the round trip before, so that a window moves in every other round only. With today's Vegas the share was
0.498, with that rule (preset linux-2.6.22) it is 0.522. The rest may be the sender, as for Compound."""
WESTWOOD = """In ns-2 this is Reno, not Westwood+. Its Agent/TCP/Linux never tells the module that a recovery has
ended, which is when Linux sets the window to bandwidth times least RTT; it asks for that product at the loss instead,
where the round trip is in ticks of 10 ms and the bandwidth per millisecond, so that the product is ten times too
small, and ends the recovery at the threshold, half of the window. With NewReno in place of Westwood+ and the same
SACK sender Sojourn's share is 0.46 and 0.50 where ns-2 has 0.47 and 0.50."""

NS3_SENDER = """Not the discipline: fed with the same streams ([open loop](open-loop.md)) both agree. Most of what
differed was one rule of ns-3's sender. When a repair begins it halves what SACK leaves in flight, not FlightSize
(RFC 5681, RFC 6675). Sojourn has that rule for this comparison (halve = 'pipe'). ns-3.37 with only that rule changed
drops 1603 packets under RED at 6 Mbit/s instead of 1338, where Sojourn with RFC 5681 drops 1710. What is left is the
rest of ns-3's recovery, which later versions correct (issues 987, 989, 990, 1282 and 1349)."""
NS3_WESTWOOD = """ns-3.37 counts segments twice: each duplicate acknowledgement as one, and the acknowledgement that
ends a repair as all it covers (`TcpSocketBase::ProcessAck`), so that Westwood+ believes in more bandwidth than there
is. With one counted there NewReno's share is 0.591 ± 0.008 instead of 0.556 under DropTail (ten runs), and with the
latest instead of the smoothed round-trip time besides 0.60 there, and 0.480 instead of 0.429 under RED at 4 Mbit/s
(four runs), where Sojourn has 0.62 and 0.48."""
NS3_LP_NOISE = """Ten runs hardly decide: the standard errors are 25 packets and 4 points in ns-3, 16 packets and 3
points here, and the difference is about two of their sum in squares."""
NS3_ECN = """Not the discipline ([open loop](open-loop.md)), and beyond the tolerance by little. Until Sojourn's
NewReno halved here what ns-3's does, the data in flight without what the marked acknowledgement covers, FQ-CoDel at 6
Mbit/s had a utilization of 0.994 to ns-3's 0.920, and RED agreed. By its source ns-3's window also stands still for a
round trip after that of a mark, which would act the other way."""
PIE_MARKS = """PIE marks up to a drop probability of 0.1 and drops above. That is where it works here, so that a small
difference of the senders moves many packets from one count to the other; both together differ by less than the
tolerance."""
ARED_STATES = """With the gentle part of the ramp where it began there are two states: an average that once passed max
stays there, and one that falls below it stays below. Which one a run is in is chance, and the mean over ten runs is
noisy: the difference is hardly more than two standard errors."""
COBALT_LAST = """ns-3's COBALT drops the last packet of its queue as well; the packet in its device then keeps the
link busy, which Sojourn's link, without such a device, is not."""
NS3_SMALL = """The sender, as [under every discipline](queues.md): windows are of a few segments. In ns-3.37 with
only the rule of halving changed, NewReno's share beside CUBIC under RED rises from 0.43 to 0.45 and from 0.45 to 0.49.
Classic instead of proportional rate reduction moves ns-3's shares by up to eight points. ns-3's smoothed round-trip
time for controls (issue 1043) moves them by less than two."""
NS3_LEDBAT = """ns-3.37's LEDBAT limits its window to what is in flight, without the allowed increase of RFC 6817, so
that small windows hardly grow; merge request 2624 ("Fix TCP LEDBAT congestion window growth calculation", ns-3.47)
corrects it. Next to no allowed increase (10⁻⁶ segments) in Sojourn makes 4.6 and 6.0 packets of the 5.0 and 5.7 that
ns-3 has under FQ-CoDel; under RED at 6 Mbit/s NewReno's share is 0.73 so and 0.51 with it, and ns-3's 0.63 lies
between."""
RACE = """Ten flows share 16 places, so that a flow has a packet in every 120 ms and its third duplicate acknowledgement
comes about when the retransmission timer ends. ns-2 keeps the variance in whole ticks of 10 ms and rounds down what it
takes off, so that its timeout is up to 30 ms longer than the formula of RFC 6298, which Sojourn computes exactly. As
much more decides the race: a floor of the variance term of 130 ms leaves 211 timeouts in 60 s, one of 160 ms none."""
PHASE = """Streams of constant rates keep their order at a full buffer for whole runs, so that chance decides at the
start which of them find the places that become free: the standard deviation over the runs is several points in both
simulators."""
NS3_DEVICE = """ns-3's device holds a packet behind the discipline, which waits there for up to 1.2 ms that the
discipline does not count. Where hardly more than one packet waits, that is all the difference there is. Measured to the
beginning of transmission, the packet of the median waits 10.4 ms in ns-3 with 8 + 8 flows at 100 ms."""
NS3_DEVICE_PIE = """As under CoDel, ns-3's device holds a packet for up to 1.2 ms that its discipline does not count:
with it a packet waits in ns-3 at 100 ms, 8 + 8 flows, 2.2, 6.4, 15.8, 26.0 and 35.0 ms (two runs). What then is left,
a wider spread in ns-3 on both sides of the same median, is ns-3's sender or open; fed with the same streams both
disciplines agree ([open loop](open-loop.md))."""
NS3_LEDBAT_OWN = """Merge request 2624, as in the cells above. With next to no allowed increase (10⁻⁶ segments) Sojourn
has 0.910 under DropTail at 6 Mbit/s instead of 0.799, where ns-3 has 0.911, and 6.1 and 7.9 packets under FQ-CoDel
instead of 9.8 and 12.0, where ns-3 has 7.0 and 7.1."""
NS3_LEDBAT_RED = """Merge request 2624 as in the other cells, which is not all: with next to no allowed increase Sojourn
has 0.729 instead of 0.414, and ns-3's 0.592 lies between."""
NS3_OWN = """The sender, as in the cells above. What of it is left with ns-3's own settings has not been told apart."""
NS3_BBR = """Known faults of ns-3's BBR in 3.37, corrected later: its issues 735 (invalid samples of the delivery
rate), 1013 (samples of the path while it is emptied) and 1043 (a smoothed instead of the minimum RTT), see [the
algorithms](../algorithms.md). The last is not the reason: with that alone corrected the shares stay as they are. The
others have not been told apart."""

LEDBAT_START = """Without slow start the window grows by one segment in a round trip: at 200 ms not enough within a
minute. Over 300 s it is 0.99 (experiments, below)."""
NICE_ACKS = """With delayed acknowledgements a lone segment waits for the receiver's timer, which looks like a queue, so
that NICE halves down to its least window and stays there. With an acknowledgement of each segment it uses 0.49, 0.68
and 0.74 of the link where it has 0.00 (1 and 4 Mbit/s) and 0.38 (10 ms) here, and all of it after the NewReno flow has
gone. What is still missing on short paths is open."""
TCP_LP_ACKS = """At 25 ms the timer of delayed acknowledgements looks like a queue: with an acknowledgement of each
segment it is 0.96. At 200 ms it needs more time: 0.95 over 300 s."""
VEGAS_START = """Slow start leaves too large a window, which shrinks by one segment in each round trip: at 200 ms 633
segments after 2 s, 171 (four in the queue) after 260 s; at 100 ms 313, and 89 after 60 s."""
FLEDBAT_LATE = """The latecomer's share is even where the decrease empties the queue now and then
([algorithms](../algorithms.md)); whether the paper's decrease differs from the one here could not be read."""
NICE_FIRST = """Of the three only NICE goes below one segment. Kept at one or more (the row "whole windows"), the order
is the published one, by a small gap; but what the authors' module did is not known."""
FULL_BUFFER = """A full buffer is no fair judge: with CUBIC it drops 0.20 % of the short path's packets and 0.06 % of
the long one's, with NewReno 0.06 and 0.02 % (300 s, four seeds). Under RED, which drops all alike, the ratios are 1.6
and 1.9, in the claimed order (experiments, below)."""
PRAGUE_STEP = """DualPI2's own ramp of 0.4 ms is shorter than a packet at 10 Mbit/s (1.2 ms), so that it marks all or
nothing, in bursts that suit the shorter control loop. With a ramp of 10 ms the ratio is 4.4, and with a virtual RTT of
100 ms besides 0.95; CoDel as queue makes 3.5 (experiments, below)."""
FQ_UNUSED = """A queue of its own is an offer. CoDel's signals come too early for a window of Reno's kind on a path of
100 ms, whose flow leaves a part of its half to the other. With DRR and a buffer instead of CoDel in each queue NewReno,
Vegas and LEDBAT have 1.00. CDG (1.5 there) and NICE (0.00; 0.36 with an acknowledgement of each segment) do not use
their half under either."""


# "fault": one of the peer's, which its developers have mended since; "narrowed": what is known of the reason, without a
# proof that it is all of it.
Status = Literal["explained", "fault", "narrowed", "noise"]


@dataclass(frozen=True)
class Fault:
    """A fault of a peer that its developers name."""

    number: str
    """Of the issue (#) or the merge request (!)."""
    what: str
    mended: str
    """The version, or that no release has it yet."""


_LATER = "after 3.48"
# Of TCP in ns-3.37, from the history of its source up to July 2026.
FAULTS = (
    Fault("#987", "the segment that is sent again first when a repair begins was not always the lost one", "3.41"),
    Fault("#989", "a loss known from SACK alone began a repair one segment late", "3.41"),
    Fault("#990", "whether a segment is lost was asked of the wrong place in the list of what was sent", "3.41"),
    Fault("#1001", "CUBIC without Reno's estimate", "3.41"),
    Fault("#1026", "samples of the delivery rate after an update at the wrong moment (BBR)", "3.41"),
    Fault("#1085", "CUBIC forgets its plateau with a timeout", "3.42"),
    Fault("#966", "windows grow while the application limits sending", "3.42"),
    Fault("#735", "BBR takes invalid samples of the delivery rate", "3.42"),
    Fault("#580", "BBR's pacing rate", "3.42"),
    Fault("#805", "what is sent next in a repair, beyond what SACK reports", "3.43"),
    Fault("#1043", "BBR takes the smoothed round-trip time for the least one", "3.43"),
    Fault("#1113", "an overflow at HyStart's first event", "3.43"),
    Fault(
        "#1126", "an acknowledgement after SACK counts for all that it covers, although some was counted before", "3.43"
    ),
    Fault("!2059", "proportional rate reduction is not that of RFC 6937's revision", "3.43"),
    Fault("#1011", "retransmissions and pure acknowledgements can be marked", "3.43"),
    Fault("#1013", "BBR does not always know that the application limits sending", "3.45"),
    Fault("!2624", "LEDBAT's window is limited without the allowed increase of RFC 6817", "3.47"),
    Fault("#1319", "controls are not told of a reduction for a mark", "3.48"),
    Fault("#1012", "DCTCP does not halve for a loss", _LATER),
    Fault("#1190", "what was sent again and SACKed counts as in flight", _LATER),
    Fault("#1282", "proportional rate reduction wraps around zero", _LATER),
    Fault("#1349", "a lost retransmission waits for the timer", _LATER),
)


@dataclass(frozen=True)
class Explanation:
    """A text for the checks that have all the given properties; a tuple is a choice of values."""

    text: str
    properties: Mapping[str, Any]
    status: Status = "explained"


PEERS = (
    Explanation(WESTWOOD, {"peer": "ns2", "other": "linux:westwood", "queue": "droptail", "metric": "share_1"}),
    Explanation(VEGAS_RED, {"peer": "ns2", "other": "linux:vegas", "queue": "red"}, status="narrowed"),
    Explanation(LINUX_RED, {"peer": "ns2", "family": "controls", "queue": "red"}, status="narrowed"),
    Explanation(RACE, {"peer": "ns2", "queue": "drr", "rate_bps": 1e6, "rtt_s": 0.05}),
    Explanation(PHASE, {"family": "open-loop", "queue": "droptail", "metric": "share_1"}),
    Explanation(ARED_STATES, {"peer": "ns3", "queue": "ared", "metric": "queue_packets_mean"}),
    Explanation(COBALT_LAST, {"peer": "ns3", "queue": "cobalt", "rate_bps": 1e6, "metric": "utilization"}),
    Explanation(PIE_MARKS, {"peer": "ns3", "family": "marking", "queue": "pie", "metric": ("drops", "marks")}),
    Explanation(NS3_ECN, {"peer": "ns3", "family": "marking"}, status="narrowed"),
    Explanation(NS3_SENDER, {"peer": "ns3", "family": "queues"}, status="narrowed"),
    Explanation(NS3_DEVICE, {"peer": "ns3", "family": "delays", "queue": "codel"}),
    Explanation(NS3_DEVICE_PIE, {"peer": "ns3", "family": "delays", "queue": "pie"}, status="narrowed"),
    Explanation(NS3_LEDBAT_RED, {"family": "defaults", "other": "ledbat", "queue": "red"}, status="narrowed"),
    Explanation(NS3_LEDBAT_OWN, {"family": "defaults", "other": "ledbat"}, status="fault"),
    Explanation(
        NS3_OWN,
        {"family": "defaults", "other": ("cubic", "vegas", "westwood"), "queue": ("red", "fq_codel")},
        status="narrowed",
    ),
    Explanation(NS3_LEDBAT, {"peer": "ns3", "family": "controls", "other": "ledbat"}, status="fault"),
    Explanation(
        NS3_WESTWOOD,
        {"family": "controls", "peer": "ns3", "other": "westwood", "queue": ("droptail", "red"), "metric": "share_1"},
    ),
    Explanation(
        NS3_LP_NOISE,
        {"family": "controls", "peer": "ns3", "other": "lp", "queue": "droptail", "rate_bps": 4e6},
        status="narrowed",
    ),
    Explanation(NS3_BBR, {"peer": "ns3", "other": "bbr"}, status="narrowed"),
    Explanation(
        NS3_SMALL,
        {"peer": "ns3", "other": ("cubic", "vegas", "westwood"), "queue": ("red", "fq_codel")},
        status="narrowed",
    ),
)
PAPERS = (
    Explanation(FILLING, {"queue_kind": "droptail", "metric": "queue", "condition": "all start at 0 s"}),
    Explanation(FILLING, {"queue_kind": "droptail", "metric": "queue", "condition": "start within the first 0.1 s"}),
    Explanation(
        STARTING,
        {
            "queue_kind": "red",
            "metric": "utilization",
            "condition": "start within the first 0.1 s, measured from 10 s on",
        },
    ),
)
BEHAVIOUR = (
    Explanation(LEDBAT_START, {"id": "ledbat-uses"}),
    Explanation(NICE_ACKS, {"id": ("nice-uses", "nice-back")}, status="narrowed"),
    Explanation(TCP_LP_ACKS, {"id": "tcp_lp-uses"}),
    Explanation(VEGAS_START, {"id": "vegas-queue"}),
    Explanation(FLEDBAT_LATE, {"id": "fledbat-late"}, status="narrowed"),
    Explanation(NICE_FIRST, {"id": "order-ns2"}, status="narrowed"),
    Explanation(FULL_BUFFER, {"id": ("newreno-rtt", "cubic-rtt")}),
    Explanation(PRAGUE_STEP, {"id": "prague-rtt"}),
    Explanation(FQ_UNUSED, {"id": "fq-rtt"}),
)


NOISY = Explanation(
    "Noise: the difference is less than two of its standard errors; these runs cannot decide.", {}, status="noise"
)


def of_peer(check: Mapping[str, Any], peer: str, family: str, point: Mapping[str, Any]) -> Explanation | None:
    """Return why a check against a peer fails, as far as it is known."""
    if check["errors"] is not None and abs(check["errors"]) < NOISE:
        return NOISY
    return _find(PEERS, {**point, **check, "peer": peer, "family": family})


def of_paper(check: Mapping[str, Any]) -> str | None:
    """Return why a check against the paper fails, if it is known."""
    found = _find(PAPERS, check)
    return told(found) if found else None


def of_behaviour(check: Mapping[str, Any]) -> Explanation | None:
    """Return why a claim about behaviour fails, as far as it is known."""
    return _find(BEHAVIOUR, check)


def told(explanation: Explanation) -> str:
    """Return the text as one line."""
    return " ".join(explanation.text.split())


def _find(explanations: tuple[Explanation, ...], check: Mapping[str, Any]) -> Explanation | None:
    for explanation in explanations:
        if all(
            check[name] in value if isinstance(value, tuple) else check[name] == value
            for name, value in explanation.properties.items()
        ):
            return explanation
    return None
