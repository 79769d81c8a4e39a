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
    "defaults": ("the same with ns-3's own settings", "controls.md#ns-3-with-its-own-settings"),
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

READING = f"""Each cell has the mean of Sojourn, that of the peer, and the difference. A bold difference is beyond the
tolerance. With an asterisk these runs cannot decide: the tolerance is smaller than the noise ({NOISE:g} standard errors
of the difference). Each simulator runs ten seeds. Every flow starts at random in the first 0.1 s. Runs are measured
from 10 s on."""


def queues(agreement: Mapping[str, Any]) -> list[str]:
    """The page about NewReno under every discipline."""
    ns2, ns3 = agreement["ns2"]["families"], agreement["ns3"]["families"]
    return [
        "# Validation: NewReno under every discipline",
        paragraph(f"""NewReno against NewReno. {READING}"""),
        paragraph(f"""Tolerances: mean queue {_tolerance("queue_packets_mean")}, drops and marks {_tolerance("drops")},
            utilization {_tolerance("utilization")}, share {_tolerance("share_1")}."""),
        paragraph("""SFQ, DRR and the FQ disciplines are compared without collisions of flows: their hashes are other
            functions, and so would be the collisions."""),
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
        paragraph("""Ten UDP streams of constant rates offer more than the link can carry. A quarter of the load comes
            from the five streams of group 1. Only the discipline decides what happens: how many packets are dropped
            follows from the load, but the mean queue and whom the drops hit are the discipline's own."""),
        paragraph(f"""The column "load" is in parts of the link's rate. 4 Mbit/s, 100 packets, 60 s. {READING}"""),
        *_both("open-loop", agreement),
    ]


def controls(agreement: Mapping[str, Any]) -> list[str]:
    """The page about NewReno against other controls."""
    queue, share = (_percent(metric.tolerance, metric.scale) for metric in CONTROLS)
    return [
        "# Validation: NewReno against other controls",
        paragraph("""Group 1 is NewReno. Group 2 is the control that the table names: in ns-2 the modules of Linux
            2.6.22 that its Agent/TCP/Linux runs, in ns-3 its own. Runs take 200 s in ns-2 and 60 s in ns-3. Sojourn's
            senders are as on [the page about disciplines](queues.md)."""),
        paragraph(f"""{READING} Tolerances: mean queue {queue}, share {share}."""),
        paragraph("""The discipline "step" is RED with a weight of 1. It marks every arrival that finds 20 packets or
            more, as DCTCP wants it. All flows have ECN there, and ns-3 has its classic recovery."""),
        paragraph("""After a first comparison some settings were brought in line with the source of the peers:"""),
        table(
            ["Control", "Now as in the peer", "Checks that had failed before"],
            [
                ["CUBIC", "the factor of 819/1024", "1"],
                ["Vegas", "how it tells queued segments; its decisions as in Linux 2.6.22", "3"],
                ["TCP-LP", "one clock at both ends without an offset; the delay from the echoed time", "9"],
                ["NewReno", "what ns-3 halves", "not counted"],
            ],
        ),
        *_both("controls", agreement),
        *_defaults(agreement["ns3"]["families"]["defaults"]),
    ]


def _defaults(rows: Sequence[Row]) -> list[str]:
    """The grid with ns-3's own settings, and what ns-3's developers have mended since."""
    checks = [check for row in rows for check in row["checks"]]
    failed = failing("ns3", "defaults", rows)
    faults = sum(why is not None and why.status == "fault" for _, _, why in failed)
    return [
        "## ns-3 with its own settings",
        paragraph(f"""The same cells again, but with the settings of TCP that a user of ns-3 gets who sets nothing:
            {len(checks) - len(failed)} of {len(checks)} checks hold. Of the others {faults} have a reason that ns-3's
            developers name themselves, and that later versions mend. They are counted apart. ns-3 ran five seeds."""),
        table(
            ["Setting", "ns-3.37", "Sojourn", "In the cells above"],
            [
                ["Initial window", "10 segments", "`initial_window = 10`", "2"],
                [
                    "Delayed acknowledgements",
                    "of 2 segments, 200 ms",
                    "`ack_every = 2`, `ack_delay = '200 ms'`",
                    "none",
                ],
                ["Least timeout", "1 s", "`min_rto = '1 s'`", "200 ms"],
                ["Recovery", "SACK, PRR, also after marks", "`sack`, `reduction = 'proportional'`", "PRR; at once"],
                ["Before a loss is known", "SACKed data left the network", "`disorder = 'conservation'`", "RFC 3042"],
                ["Timestamps", "yes, 1448 B", "`timestamps`, `payload = 1448`", "no, 1460 B"],
            ],
        ),
        paragraph("""Three things are not ns-3's defaults. Its segments have 536 B and its socket buffers 128 KiB, which
            would be the limit instead of the queue; here segments fill packets of 1500 B, and buffers are large. Its
            control is CUBIC; here it is the one that the cell names."""),
        *_compared("ns3", "defaults", rows),
        "## Known faults of ns-3.37's TCP",
        paragraph("""What ns-3's developers have mended since, by the number of the issue or merge request. Each was
            found in the history of ns-3's source and in its release notes; the threads of the issues could not be read.
            A fault explains a cell only where the lists above say so."""),
        table(
            ["Number", "What was wrong", "Mended in"],
            [[fault.number, fault.what, fault.mended] for fault in explanations.FAULTS],
        ),
    ]


def delays(agreement: Mapping[str, Any]) -> list[str]:
    """The page about the time that packets wait."""
    low, high = (_percent(metric.tolerance, metric.scale) for metric in (DELAYS[0], DELAYS[-1]))
    return [
        "# Validation: how long packets wait",
        paragraph("""How long do packets wait in a queue with a short target? This page repeats RITE's comparison of
            low-latency AQMs (`sojourn paper rite fig4.2`) in ns-3, as far as ns-3 can run it. The tables show
            percentiles of the time that the packets which left the queue had waited."""),
        table(
            ["Setting", "Value"],
            [
                ["Flows", "NewReno, 1 and 4 for each of 4 pairs of hosts"],
                ["Link", "10 Mbit/s, 1000 packets, 100 s"],
                ["Base RTT", "5, 100 and 500 ms"],
                ["Disciplines", "CoDel (target 5 ms, interval 100 ms) and PIE (target 15 ms), defaults of ns-3"],
                ["Sojourn's presets and senders", "as on [the page about disciplines](queues.md)"],
            ],
        ),
        paragraph(f"""{READING} Tolerances: {low} for the 10th and the 25th percentile, which is a packet's time, and
            {high} for the others."""),
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
    named = ("Bottleneck", "Queue", "Control")
    about = {"controls": named, "defaults": named, "open-loop": ("Load", "Queue")}.get(family, ("Bottleneck", "Queue"))
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
