"""Writes docs/validation.md from the raw numbers."""

from collections.abc import Iterator
from typing import Any

from benchmarks import explanations
from benchmarks.agreement import LONG, SHORT, label
from benchmarks.common import Document, paragraph, table, yes
from benchmarks.compare import METRICS, NOISE
from benchmarks.ledbat_laws import SETTLE_S, TARGET_MS, WITHIN, YIELDS_BELOW

NAMES = {
    "queue_packets_mean": "mean queue, packets",
    "utilization": "utilization",
    "drops": "drops",
    "share_1": "share of group 1",
}
DIGITS = {metric.name: metric.digits for metric in METRICS}
SCALES = {metric.name: metric.scale for metric in METRICS}
PEER_NAMES = {"ns2": "ns-2", "ns3": "ns-3"}
PAPER_METRICS = {"share": "TCP's share", "queue": "mean queue, packets", "utilization": "utilization"}


def render(document: Document) -> str:
    """Return the page."""
    where, agreement = document["machine"], document["agreement"]
    parts = [
        "# Validation",
        paragraph(f"""Written by `make validate` at commit {where["commit"]}; the raw numbers, with every tolerance, are
            in `benchmarks/results/validation.json`. {verdict(document)}"""),
        "## ns-2",
        *_ns2(agreement),
        "## ns-3",
        *_ns3(agreement["ns3"]),
        "## The motivating example of Gong et al. (Fig. 2)",
        *_papers(document["papers"]),
        "## LEDBAT's laws",
        *_ledbat(document["ledbat"]),
    ]
    return "\n\n".join(parts)


def verdict(document: Document) -> str:
    """Return how many checks hold."""
    counts = []
    for peer, name in PEER_NAMES.items():
        checks = [check for _, check in _checks(document["agreement"][peer])]
        counts.append(f"{_count(checks, 'agrees')} with {name}")
    judged = [check for check in document["papers"]["checks"] if check["agrees"] is not None]
    laws = [row for rows in document["ledbat"].values() for row in rows]
    counts.append(f"{_count(judged, 'agrees')} with the paper")
    return f"Checks that hold: {', '.join(counts)}, {_count(laws, 'holds')} of LEDBAT's laws."


def unexplained(document: Document) -> list[str]:
    """Name the checks that fail without an explanation."""
    found = []
    for peer, name in PEER_NAMES.items():
        found += [
            f"{name}: {label(point)}, {point['queue']}, {NAMES[check['metric']]}"
            for point, check in _checks(document["agreement"][peer])
            if not check["agrees"] and explanations.of_peer(check, peer, point["queue"]) is None
        ]
    found += [
        f"paper: {check['queue_kind']}, {check['condition']}, {check['metric']}"
        for check in document["papers"]["checks"]
        if check["agrees"] is False and explanations.of_paper(check) is None
    ]
    for law, rows in document["ledbat"].items():
        found += [f"LEDBAT, {law}: {row}" for row in rows if not row["holds"]]
    return found


def _count(rows: list[dict[str, Any]], key: str) -> str:
    return f"{sum(bool(row[key]) for row in rows)} of {len(rows)}"


def _checks(peer: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    for row in peer["points"]:
        for check in row["checks"]:
            yield row["point"], check


def _source(peer: dict[str, Any], name: str) -> str:
    how = "run beside Sojourn" if peer["live"] else "not installed here: its saved runs are used"
    return f"{name} {peer['version']}, {how}."


def _ns2(agreement: dict[str, Any]) -> list[str]:
    peer = agreement["ns2"]
    parts = [
        paragraph(f"""{_source(peer, "ns-2")} NewReno against NewReno with the presets `ns2` of transport, control and
            disciplines; every flow starts at random in the first 0.1 s; mean and standard deviation of
            {_seeds(peer)} seeds in each simulator. The tolerances: mean queue and drops relative to ns-2's mean,
            utilization and share in points. "Standard errors" is the difference in units of its own standard error:
            below {NOISE:g} it may be chance. How both are set up:
            [the peers' README](../benchmarks/peers/README.md)."""),
        "An asterisk marks tolerances smaller than the noise: there, more or longer runs would have to decide.",
    ]
    for duration_s, warmup_s in (LONG, SHORT):
        rows = _rows(peer, "ns2", duration_s)
        parts += [f"### {duration_s:g} s, measured from {warmup_s:g} s on", _agreement_table(rows, "ns-2", like=False)]
        parts += _explained(rows, "ns2")
    parts += ["### What differs although it is within the tolerance", *_beside(peer), *_ties(agreement["tied"])]
    return parts


def _ns3(peer: dict[str, Any]) -> list[str]:
    rows = _rows(peer, "ns3", SHORT[0])
    return [
        paragraph(f"""{_source(peer, "ns-3")} A second opinion rather than an oracle: its sender and its links differ by
            construction (see [the peers' README](../benchmarks/peers/README.md)). Sojourn with the presets `ns2`; the
            column "with SACK" has the same with SACK and an RTT sample from every acknowledgement.
            {SHORT[0]:g} s, measured from {SHORT[1]:g} s on."""),
        _agreement_table(rows, "ns-3", like=True),
        *_explained(rows, "ns3"),
    ]


def _seeds(peer: dict[str, Any]) -> int:
    seeds: int = peer["points"][0]["checks"][0]["ours"]["n"]
    return seeds


Row = tuple[dict[str, Any], dict[str, Any]]


def _rows(peer: dict[str, Any], name: str, duration_s: float) -> list[Row]:
    return [(point, check) for point, check in _checks(peer) if point["duration_s"] == duration_s]


def _agreement_table(rows: list[Row], name: str, *, like: bool) -> str:
    heads = ["Bottleneck", "Queue", "Metric", "Sojourn>", *(["with SACK>"] if like else []), f"{name}>"]
    return table(
        [*heads, "Difference>", "Tolerance>", "Standard errors>", "Agrees"],
        [
            [
                label(point),
                point["queue"],
                NAMES[check["metric"]],
                _spread(check["ours"], check["metric"]),
                *([f"{check['like']['mean']:.{DIGITS[check['metric']]}f}"] if like else []),
                _spread(check["theirs"], check["metric"]),
                _difference(check["difference"], check["metric"]),
                _difference(check["tolerance"], check["metric"]).lstrip("+") + ("\\*" if check["blind"] else ""),
                "-" if check["errors"] is None else f"{check['errors']:+.1f}",
                yes(check["agrees"]),
            ]
            for point, check in rows
        ],
    )


def _spread(sample: dict[str, Any], metric: str) -> str:
    digits = DIGITS[metric]
    return f"{sample['mean']:.{digits}f} ± {sample['sd']:.{digits}f}"


def _difference(value: float, metric: str) -> str:
    unit = " %" if SCALES[metric] == "relative" else " points"
    return f"{100 * value:+.{1 if unit == ' %' else 2}f}{unit}"


def _explained(rows: list[Row], peer: str) -> list[str]:
    """Return the written explanations of the rows that disagree, as a list."""
    groups: dict[str, list[str]] = {}
    for point, check in rows:
        if not check["agrees"]:
            why = explanations.of_peer(check, peer, point["queue"]) or "**Not explained.**"
            groups.setdefault(why, []).append(f"{label(point)}, {point['queue']}, {NAMES[check['metric']]}")
    if not groups:
        return ["All agree."]
    return _listed(groups)


def _listed(groups: dict[str, list[str]]) -> list[str]:
    return ["\n".join(f"- {'; '.join(where)}: {why}" for why, where in groups.items())]


def _beside(peer: dict[str, Any]) -> list[str]:
    rows = []
    for row in peer["points"]:
        if row["point"]["duration_s"] == LONG[0]:
            cells = [
                f"{row['beside'][metric][side]['mean']:.0f}" for metric in row["beside"] for side in ("ours", "theirs")
            ]
            drops = {check["metric"]: check for check in row["checks"]}["drops"]
            rows.append(
                [
                    label(row["point"]),
                    row["point"]["queue"],
                    f"{drops['ours']['mean']:.0f}",
                    f"{drops['theirs']['mean']:.0f}",
                    *cells,
                ]
            )
    heads = ["Bottleneck", "Queue", "Drops>", "ns-2>", "Retransmissions>", "ns-2>", "Timeouts>", "ns-2>"]
    return [
        paragraph(f"""With very small windows, as RED leaves them here, ns-2 sends more segments again that the receiver
            has already: it goes back to the first unacknowledged segment after a timeout and lets limited transmit
            and duplicate acknowledgements send from there, reduces the window for good by partial acknowledgements,
            and lets repeated timeouts halve the threshold again. Sojourn follows RFC 5681 and RFC 6582 in these.
            ([ns2-facts.md](../benchmarks/peers/ns2-facts.md), sections 3 to 5.) Means of {_seeds(peer)} runs of
            {LONG[0]:g} s:"""),
        table(heads, rows),
    ]


def _ties(tied: list[dict[str, Any]]) -> list[str]:
    told = ", ".join(f"{row['queue']['mean']:.3f} ± {row['queue']['sd']:.3f} packets ({row['access']})" for row in tied)
    return [
        paragraph(f"""At 6 Mbit/s and 100 ms the base RTT is a whole number of packet times, so that arrivals and
            departures can fall on the same instant; the peers' access links put the arrival behind. Sojourn's mean
            queue under RED without and with such access links: {told}.""")
    ]


def _papers(papers: dict[str, Any]) -> list[str]:
    checks = papers["checks"]
    reasons: dict[str, list[str]] = {}
    for check in checks:
        if check["agrees"] is False:
            why = explanations.of_paper(check) or "**Not explained.**"
            reasons.setdefault(why, []).append(
                f"{check['queue_kind']}, {check['condition']}, {PAPER_METRICS[check['metric']]}"
            )
    return [
        paragraph(f"""5 NewReno and 5 LEDBAT flows on 10 Mbit/s with 500 packets, ns-2.33 in the paper; here the ready
            scenarios `motivating-droptail` and `motivating-red`, {checks[0]["measured"]["n"]} seeds. The paper's values
            are those of its workshop version (TMA 2013, Fig. 1)."""),
        table(
            ["Queue", "Condition", "Metric", "Paper>", "Measured>", "Wanted", "Agrees"],
            [
                [
                    check["queue_kind"],
                    check["condition"],
                    PAPER_METRICS[check["metric"]],
                    f"{check['paper']:g}",
                    _paper_value(check["measured"], check["metric"]),
                    check["wanted"],
                    "-" if check["agrees"] is None else yes(check["agrees"]),
                ]
                for check in checks
            ],
        ),
        *(_listed(reasons) if reasons else []),
        "### What the paper does not print",
        paragraph("""The paper prints neither the base RTT of this figure nor which LEDBAT and TCP it used in detail.
            One thing at a time is changed, everything else stays (base RTT 50 ms, presets `ns2`, starts within the
            first 0.1 s, measured from 0 s on). Nothing is tuned: the ready scenarios are the first row.
            The condition "measured from 10 s on" above was added after this table had been seen."""),
        table(
            ["Changed", "Queue", *(f"{name}>" for name in PAPER_METRICS.values())],
            [
                [row["changed"], row["queue_kind"], *(_paper_value(row[metric], metric) for metric in PAPER_METRICS)]
                for row in papers["sensitivity"]
            ],
        ),
    ]


def _paper_value(sample: dict[str, Any], metric: str) -> str:
    digits = 2 if metric == "queue" else 4
    return f"{sample['mean']:.{digits}f} ± {sample['sd']:.{digits}f}"


def _ledbat(laws: dict[str, list[dict[str, Any]]]) -> list[str]:
    return [
        "Simulations of one seed with the preset `rfc` (RFC 6817) on DropTail with a deep buffer.",
        f"Alone, LEDBAT settles its queueing delay at the target, within {WITHIN:.0%} (mean of the third minute):",
        table(
            ["Rate, Mbit/s>", "Base RTT, ms>", "Target, ms>", "Queueing delay, ms>", "Utilization>", "Holds"],
            [
                [
                    f"{row['rate_mbps']:g}",
                    f"{row['rtt_ms']:g}",
                    f"{row['target_ms']:g}",
                    f"{row['queue_ms']:.1f}",
                    f"{row['utilization']:.3f}",
                    yes(row["holds"]),
                ]
                for row in laws["alone"]
            ],
        ),
        paragraph(f"""A second flow finds the first one's queue, takes it for a part of the path, and adds its own
            target: it gets more than half, and the queue grows beyond one target ({TARGET_MS:g} ms), the latecomer's
            advantage. 4 Mbit/s, 50 ms; the third minute after its start:"""),
        table(
            ["Starts later by, s>", "Share of the latecomer>", "Queueing delay, ms>", "Holds"],
            [
                [f"{row['late_s']:g}", f"{row['share']:.3f}", f"{row['queue_ms']:.1f}", yes(row["holds"])]
                for row in laws["latecomer"]
            ],
        ),
        paragraph("""LEDBAT never ramps faster than NewReno: alone on 10 Mbit/s from the same initial window, it has at
            no time delivered more bytes since its start (one segment is allowed):"""),
        table(
            ["Slow start", "Base RTT, ms>", "Most bytes ahead>", "Half delivered, LEDBAT, s>", "NewReno, s>", "Holds"],
            [
                [
                    row["slow_start"],
                    f"{row['rtt_ms']:g}",
                    f"{row['ahead_bytes']}",
                    f"{row['ledbat_half_s']:.2f}",
                    f"{row['newreno_half_s']:.2f}",
                    yes(row["holds"]),
                ]
                for row in laws["ramp"]
            ],
        ),
        paragraph(f"""When the base delay rises (here by the standing queue of a NewReno flow with a small receive
            window), LEDBAT yields, below {YIELDS_BELOW:.0%} of the 10 Mbit/s link. When the
            minutes of its history hold no delay from before, it recovers, and {SETTLE_S:g} s later it should have added
            its target to the new base, within {WITHIN:.0%}:"""),
        table(
            [
                "Receive window, kB>",
                "History, minutes>",
                "Rate before, Mbit/s>",
                "While it yields>",
                "After>",
                "Standing queue, ms>",
                "Added to it, ms>",
                "Holds",
            ],
            [
                [
                    f"{row['window_kb']}",
                    f"{row['history_minutes']}",
                    f"{row['before_mbps']:.2f}",
                    f"{row['yielding_mbps']:.2f}",
                    f"{row['after_mbps']:.2f}",
                    f"{row['standing_ms']:.1f}",
                    f"{row['added_ms']:.1f}",
                    yes(row["holds"]),
                ]
                for row in laws["base_rise"]
            ],
        ),
        paragraph(f"""This criterion was chosen after a first one, more than half of the link, had failed. With a
            history shorter than the {SETTLE_S:g} s, LEDBAT probably forgets its own queue as well and adds the next
            target, as in RITE D2.1, Fig. 3.3; that this is the reason has not been verified: open."""),
    ]
