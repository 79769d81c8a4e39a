"""Writes the pages of docs/validation/ that compare with ns-2 and ns-3 from the raw numbers."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks import explanations
from benchmarks.agreement import label
from benchmarks.common import listed, paragraph, table
from benchmarks.compare import CONTROLS, DELAYS, NOISE, QUEUES
from benchmarks.explanations import Explanation
from benchmarks.peers.points import PeerName

PEERS: Mapping[PeerName, str] = {"ns2": "ns-2", "ns3": "ns-3"}
# Families of points: what they are called, and their page.
FAMILIES: Mapping[str, tuple[str, str]] = {
    "queues": ("NewReno under every discipline", "queues.md"),
    "marking": ("the same with ECN", "queues.md#with-ecn"),
    "open-loop": ("streams that answer to nothing", "open-loop.md"),
    "controls": ("NewReno against other controls", "controls.md"),
    "delays": ("how long packets wait under CoDel and PIE", "delays.md"),
}
NAMES = {
    "queue_packets_mean": "Mean queue, packets",
    "utilization": "Utilization",
    "drops": "Drops",
    "marks": "Marks",
    "share_1": "Share of group 1",
    **{metric.name: f"{metric.name.rpartition('_p')[2]}th percentile, ms" for metric in DELAYS},
}
METRICS = {metric.name: metric for metric in (*QUEUES, *DELAYS)}

Row = Mapping[str, Any]

READING = f"""Each cell has the mean of Sojourn, that of the peer and the difference; bold where it is beyond the
tolerance, with an asterisk where the tolerance is smaller than the noise ({NOISE:g} standard errors of the
difference), so that these runs cannot decide. Ten seeds in each simulator; every flow starts at random in the first
0.1 s; measured from 10 s on."""


def queues(agreement: Mapping[str, Any]) -> list[str]:
    """The page about NewReno under every discipline."""
    ns2, ns3 = agreement["ns2"]["families"], agreement["ns3"]["families"]
    return [
        "# Validation: NewReno under every discipline",
        paragraph(f"""NewReno against NewReno. {READING} Tolerances: mean queue {_tolerance("queue_packets_mean")},
            drops and marks {_tolerance("drops")}, utilization {_tolerance("utilization")}, share
            {_tolerance("share_1")}. SFQ, DRR and the FQ disciplines are compared without collisions of flows: their
            hashes are other functions, and so would be the collisions."""),
        "## ns-2",
        paragraph("Presets `ns2` of transport, control and discipline. 200 s."),
        *_compared("ns2", "queues", ns2["queues"]),
        "### What differs although it is within the tolerance",
        *_beside(ns2["queues"]),
        *_ties(agreement["tied"]),
        "## ns-3",
        paragraph("""Presets `ns3` of the disciplines where they exist, else the same values set on both sides, with the
            limit of the point. 60 s; 200 s at 1 Mbit/s. Two things are made equal so that the discipline is what is
            compared. ns-3's device holds one packet behind the discipline, which the discipline neither sees nor
            counts: the queue here is the discipline's alone, and Sojourn's base RTT is longer by the time of one
            packet. ns-3's sender has SACK, an RTT sample from each acknowledgement and a threshold from the data in
            flight, so Sojourn's has, too."""),
        *_compared("ns3", "queues", ns3["queues"]),
        "## With ECN",
        paragraph("""All flows negotiate ECN, and the discipline marks instead of dropping early. ns-3 only; as above,
            but with ns-3's classic recovery. With its default, proportional rate reduction, which stretches the answer
            to a mark over a round trip, a first comparison had shown up to 42 % fewer marks in Sojourn, which answers
            at once (RFC 3168)."""),
        *_compared("ns3", "marking", ns3["marking"]),
    ]


def open_loop(agreement: Mapping[str, Any]) -> list[str]:
    """The page about streams of constant rates."""
    return [
        "# Validation: streams that answer to nothing",
        paragraph(f"""Ten UDP streams of constant rates offer more than the link can carry (the column "load", parts of
            its rate), a quarter of it from the five streams of group 1: only the discipline decides what happens. How
            many packets are dropped follows from the load; the mean queue at which a discipline does so, and whom it
            hits, is its own. 4 Mbit/s, 100 packets, 60 s. {READING}"""),
        *_both("open-loop", agreement),
    ]


def controls(agreement: Mapping[str, Any]) -> list[str]:
    """The page about NewReno against other controls."""
    queue, share = (_percent(metric.tolerance, metric.scale) for metric in CONTROLS)
    return [
        "# Validation: NewReno against other controls",
        paragraph(f"""Group 1 is NewReno, group 2 the control that the table names: in ns-2 the modules of Linux 2.6.22
            that its Agent/TCP/Linux runs, in ns-3 its own. {READING} Tolerances: mean queue {queue}, share {share}.
            ns-2: 200 s, ns-3: 60 s, with Sojourn's senders as on [the page about disciplines](queues.md). "step" is
            RED with a weight of 1 that marks every arrival which finds 20 packets or more, as DCTCP wants it; all flows
            have ECN there, and ns-3 its classic recovery."""),
        paragraph("""After a first comparison some settings were brought in line with the source of ns-2's modules:
            CUBIC's factor of 819/1024, Vegas's way to tell queued segments, and TCP-LP's one clock at both ends without
            an offset; then Vegas's decisions as in Linux 2.6.22, TCP-LP's delay from the echoed time, and what ns-3's
            NewReno halves. Until then one check of CUBIC, three of Vegas and nine of TCP-LP more had failed, besides
            others."""),
        *_both("controls", agreement),
    ]


def delays(agreement: Mapping[str, Any]) -> list[str]:
    """The page about the time that packets wait."""
    low, high = (_percent(metric.tolerance, metric.scale) for metric in (DELAYS[0], DELAYS[-1]))
    return [
        "# Validation: how long packets wait",
        paragraph(f"""The delays of RITE's comparison of low-latency AQMs (`sojourn paper rite fig4.2`) in ns-3, as
            far as that can run it: NewReno, 1 and 4 flows for each of 4 pairs of hosts, 10 Mbit/s, 1000 packets, base
            round-trip times of 5, 100 and 500 ms, CoDel (5 ms, 100 ms) and PIE (15 ms) with ns-3's defaults.
            Percentiles of the time that packets which left the queue had waited. {READING} Tolerances: {low} for the
            10th and the 25th percentile, which is a packet's time, and {high} for the others. 100 s. Sojourn's presets
            and senders are as on [the page about disciplines](queues.md)."""),
        *_compared("ns3", "delays", agreement["ns3"]["families"]["delays"]),
    ]


def sources(agreement: Mapping[str, Any]) -> str:
    """What the peers' numbers are."""
    how = "ran beside it" if agreement["ns2"]["live"] else "are represented by their saved runs"
    return f"ns-2 {agreement['ns2']['version']} and ns-3 {agreement['ns3']['version']} {how}."


def failing(peer: PeerName, family: str, rows: Sequence[Row]) -> list[tuple[Row, Row, Explanation | None]]:
    """Points, their checks that fail, and why."""
    return [
        (row["point"], check, explanations.of_peer(check, peer, family, row["point"]))
        for row in rows
        for check in row["checks"]
        if not check["agrees"]
    ]


def unexplained(agreement: Mapping[str, Any]) -> list[str]:
    """Name the checks that fail and of whose reason nothing is known."""
    return [
        f"{name}: {family}: {_where(point, check)}"
        for peer, name in PEERS.items()
        for family, rows in agreement[peer]["families"].items()
        for point, check, why in failing(peer, family, rows)
        if why is None
    ]


def _both(family: str, agreement: Mapping[str, Any]) -> list[str]:
    parts = []
    for peer, name in PEERS.items():
        parts += [f"## {name}", *_compared(peer, family, agreement[peer]["families"][family])]
    return parts


def _compared(peer: PeerName, family: str, rows: Sequence[Row]) -> list[str]:
    names = [name for name in NAMES if any(check["metric"] == name for row in rows for check in row["checks"])]
    about = {"controls": ("Bottleneck", "Queue", "Control"), "open-loop": ("Load", "Queue")}.get(
        family, ("Bottleneck", "Queue")
    )
    body = []
    for row in rows:
        checks = {check["metric"]: check for check in row["checks"]}
        point = row["point"]
        cells = {
            "Bottleneck": label(point),
            "Queue": point["queue"],
            "Control": point["other"],
            "Load": f"{point['load']:g}",
        }
        body.append([*(cells[name] for name in about), *(_cell(checks.get(name)) for name in names)])
    heads = [*about, *(f"{NAMES[name]}: Sojourn, {PEERS[peer]}>" for name in names)]
    groups: dict[str, list[str]] = {}
    for point, check, why in failing(peer, family, rows):
        text = explanations.told(why) if why else "**open.**"
        if why and why.status == "narrowed":
            text = f"**open, but narrowed:** {text}"
        groups.setdefault(text, []).append(_where(point, check))
    return [table(heads, body), *(listed(groups) if groups else ["All agree."])]


def _where(point: Row, check: Row) -> str:
    what = [label(point), point["queue"]]
    if point["load"]:
        what[0] = f"load {point['load']:g}"
    if point["other"] != "newreno":
        what.append(point["other"])
    return ", ".join([*what, NAMES[check["metric"]].lower()])


def _cell(check: Row | None) -> str:
    if check is None:
        return "-"
    metric = METRICS[check["metric"]]
    means = ", ".join(f"{check[side]['mean']:.{metric.digits}f}" for side in ("ours", "theirs"))
    text = f"{means} ({_percent(check['difference'], metric.scale, sign='+')}{'*' if check['blind'] else ''})"
    return text.replace("*", "\\*") if check["agrees"] else "**" + text.replace("*", "\\*") + "**"


def _percent(part: float | None, scale: str, sign: str = "") -> str:
    if part is None:
        return "-"
    if scale == "milliseconds":
        return f"{part:{sign}.1f} ms"
    return f"{100 * part:{sign}.{1 if sign else 0}f} {'%' if scale == 'relative' else 'points'}"


def _tolerance(name: str) -> str:
    return _percent(METRICS[name].tolerance, METRICS[name].scale)


def _beside(rows: Sequence[Row]) -> list[str]:
    body = []
    for row in rows:
        drops = {check["metric"]: check for check in row["checks"]}.get("drops")
        pairs = [drops, row["beside"]["retransmissions"], row["beside"]["timeouts"]]
        if any(pair is None for pair in pairs):
            continue
        means = [f"{pair[side]['mean']:.0f}" for pair in pairs if pair for side in ("ours", "theirs")]
        body.append([label(row["point"]), row["point"]["queue"], *means])
    heads = ["Bottleneck", "Queue", "Drops>", "ns-2>", "Retransmissions>", "ns-2>", "Timeouts>", "ns-2>"]
    return [
        paragraph("""With very small windows, as RED leaves them here, ns-2 sends more segments again that the receiver
            has already: it goes back to the first unacknowledged segment after a timeout and lets limited transmit
            and duplicate acknowledgements send from there, reduces the window for good by partial acknowledgements,
            and lets repeated timeouts halve the threshold again. Sojourn follows RFC 5681 and RFC 6582 in these.
            ([ns2-facts.md](../../benchmarks/peers/ns2-facts.md), sections 3 to 5.) Means:"""),
        table(heads, body),
    ]


def _ties(tied: Sequence[Row]) -> list[str]:
    told = ", ".join(f"{row['queue']['mean']:.3f} ± {row['queue']['sd']:.3f} packets ({row['access']})" for row in tied)
    return [
        paragraph(f"""At 6 Mbit/s and 100 ms the base RTT is a whole number of packet times, so that arrivals and
            departures can fall on the same instant; the peers' access links put the arrival behind. Sojourn's mean
            queue under RED without and with such access links: {told}.""")
    ]
