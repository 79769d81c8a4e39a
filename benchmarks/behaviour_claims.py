"""What sources say about how controls behave, held against the tables of `benchmarks.behaviour`.

Claims were chosen, and limits set where a source gives none ("most", "yields", "fair"), with a first run at hand.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.compare import NOISE

Rows = Sequence[Mapping[str, Any]]
Tables = Mapping[str, Rows]
Check = dict[str, Any]

FULL, MOST, YIELDS, FAIR_JAIN = 0.95, 0.90, 0.10, 0.95
EVEN = (0.40, 0.60)
ISOLATED = (0.80, 1.25)
LATE = 0.75
PACKET_BITS = 12_000
LEDBAT_MS, LEDBATPP_MS = 100.0, 60.0
VEGAS_BETA = 4
L4S_MBPS = 10
PRAGUE_RATIO = 100 / 25
WITHIN_RENO = 1.5
RENO_LOSSES = (0.001, 0.01, 0.02)
LOSS_MBPS, LOSS_S = 20.0, 0.04

RFC6817 = "RFC 6817"
LEDBATPP = "draft-irtf-iccrg-ledbat-plus-plus"
CUBIC = "RFC 9438"
BBR = "draft-ietf-ccwg-bbr, abstract"
NICE = "Venkataramani et al. 2002"
TCP_LP = "Kuzmanovic and Knightly 2003, from memory"
GONG = "Gong et al., Fig. 5"
OLD = "Villamizar and Song 1994, from memory"


def checks(tables: Tables) -> list[Check]:
    """Return all checks, in the order of the tables."""
    return [{"table": name, **check} for name, claims in CLAIMS.items() for check in claims(tables[name])]


def _check(key: str, claim: str, source: str, measured: str, *, agrees: bool) -> Check:
    return {"id": key, "claim": claim, "source": source, "measured": measured, "agrees": bool(agrees)}


def _alone(rows: Rows) -> Iterator[Check]:
    def of(control: str, metric: str) -> list[float]:
        return [row[metric] for row in rows if row["control"] == control]

    def least(control: str) -> float:
        return min(of(control, "bottleneck_utilization"))

    for control in ("newreno", "cubic"):
        filled = [row["bottleneck_queue_ms_mean"] / row["rtt_ms"] for row in rows if row["control"] == control]
        claim = f"{control} fills any link from a buffer of more than one BDP, and has a queue beyond one BDP"
        told = f"utilization {least(control):.3f}, queue {min(filled):.1f} BDP at least"
        yield _check(f"{control}-fills", claim, OLD, told, agrees=least(control) >= FULL and min(filled) > 1)
    for control, target, source in (
        ("ledbat", LEDBAT_MS, RFC6817),
        ("libutp", LEDBAT_MS, "BEP 29, from memory"),
        ("ledbatpp", LEDBATPP_MS, LEDBATPP),
    ):
        worst = max(of(control, "bottleneck_queue_ms_mean"))
        claim = f"{control}'s mean queue is at most its target, {target:g} ms"
        yield _check(f"{control}-target", claim, source, f"up to {worst:.0f} ms", agrees=worst <= target)
    for control, limit, source, claim in (
        ("ledbat", FULL, RFC6817, "ledbat uses the whole of an empty link"),
        ("ledbatpp", MOST, LEDBATPP, "ledbatpp's slowdowns cost at most a tenth of the link"),
        ("nice", MOST, NICE, "nice uses most of an empty link"),
        ("tcp_lp", MOST, TCP_LP, "tcp_lp uses most of an empty link"),
    ):
        told = f"utilization {least(control):.2f} to {max(of(control, 'bottleneck_utilization')):.2f}"
        yield _check(f"{control}-uses", f"{claim} (at least {limit:g})", source, told, agrees=least(control) >= limit)
    for control in ("bbr", "bbr3"):
        queues = [row["bottleneck_queue_ms_mean"] / row["rtt_ms"] for row in rows if row["control"] == control]
        claim = f"{control} fills the link (at least {FULL:g}) without filling a deep buffer: mean queue below one BDP"
        told = f"utilization {least(control):.3f} at least, queue {max(queues):.2f} BDP at most"
        yield _check(f"{control}-queue", claim, BBR, told, agrees=least(control) >= FULL and max(queues) < 1)
    packets = of("vegas", "bottleneck_queue_packets_mean")
    claim = f"vegas keeps no more than beta, {VEGAS_BETA}, of its segments in the queue (one more is allowed)"
    told = f"{min(packets):.1f} to {max(packets):.1f} packets"
    source = "Brakmo and Peterson 1995, from memory"
    yield _check("vegas-queue", claim, source, told, agrees=max(packets) <= VEGAS_BETA + 1)
    worst = max(
        row["bottleneck_queue_ms_mean"] for row in rows if row["control"] == "prague" and row["rate_mbps"] >= L4S_MBPS
    )
    claim = f"prague's mean queue is below 1 ms, from {L4S_MBPS} Mbit/s on"
    yield _check("prague-queue", claim, "RFC 9330, from memory", f"up to {worst:.2f} ms", agrees=worst < 1)


def _together(rows: Rows) -> Iterator[Check]:
    for control, source in (
        ("newreno", "Chiu and Jain 1989, from memory"),
        ("cubic", CUBIC),
        ("dctcp", "Alizadeh et al. 2010, from memory"),
        ("bbr", "Cardwell et al. 2016, from memory"),
        ("ledbatpp", LEDBATPP),
    ):
        jain = _last(rows, control)["jain_all"]
        claim = f"two {control} flows become fair: Jain at least {FAIR_JAIN:g} after a minute"
        yield _check(f"{control}-fair", claim, source, f"{jain:.3f}", agrees=jain >= FAIR_JAIN)


def _latecomer(rows: Rows) -> Iterator[Check]:
    share = _last(rows, "ledbat")["share"]
    claim = f"ledbat's latecomer takes most of the link (at least {LATE:g}) after a minute"
    yield _check("ledbat-late", claim, LEDBATPP, f"{share:.3f}", agrees=share >= LATE)
    for control, source in (
        ("fledbat", "Carofiglio et al. 2010, from memory"),
        ("ledbatpp", LEDBATPP),
        ("newreno", "Chiu and Jain 1989, from memory"),
        ("cubic", CUBIC),
    ):
        share = _last(rows, control)["share"]
        claim = f"{control}'s latecomer gets its half after a minute ({EVEN[0]:g} to {EVEN[1]:g})"
        yield _check(f"{control}-late", claim, source, f"{share:.3f}", agrees=EVEN[0] <= share <= EVEN[1])


def _yielding(rows: Rows) -> Iterator[Check]:
    shares = {(row["control"], row["transport"], row["best"]): row["share"] for row in rows}
    order = ("ledbat", "nice", "tcp_lp")
    for transport in ("ns2", "linux"):
        found = [shares[control, transport, "newreno"] for control in order]
        claim = f"ledbat yields more to NewReno than nice, and nice more than tcp_lp: presets {transport}"
        told = ", ".join(f"{share:.3f}" for share in found)
        yield _check(f"order-{transport}", claim, GONG, told, agrees=found == sorted(found))
    for control, source in zip(order, (RFC6817, NICE, TCP_LP), strict=True):
        mine = [share for (name, transport, _), share in shares.items() if name == control and transport == "ns2"]
        claim = f"{control} leaves most (at least {1 - YIELDS:g}) to NewReno and to CUBIC: presets ns2"
        yield _check(f"{control}-yields", claim, source, f"keeps up to {max(mine):.3f}", agrees=max(mine) <= YIELDS)
    for control, source in (
        ("ledbatpp", LEDBATPP),
        ("fledbat", "Carofiglio et al. 2010, from memory"),
        ("libutp", "BEP 29, from memory"),
    ):
        mine = [share for (name, _, _), share in shares.items() if name == control]
        claim = f"{control} leaves most to NewReno and to CUBIC"
        yield _check(f"{control}-yields", claim, source, f"keeps up to {max(mine):.3f}", agrees=max(mine) <= YIELDS)
    share = shares["tcp_lp", "linux", "newreno"]
    claim = f"tcp_lp of Linux does not yield to NewReno ({EVEN[0]:g} to {EVEN[1]:g})"
    source = "Gong et al., Table 3: 0.49 at 500 kbit/s, 30 ms, 1000 packets"
    yield _check("tcp_lp-linux", claim, source, f"{share:.3f}", agrees=EVEN[0] <= share <= EVEN[1])


def _recovery(rows: Rows) -> Iterator[Check]:
    for row, source in ((row, SOURCES[row["control"]]) for row in rows if row["control"] in SOURCES):
        control, back = row["control"], row["back_s"]
        claim = f"{control} uses the link again when the NewReno flow has gone"
        told = "never" if back is None else f"after {back:.1f} s"
        yield _check(f"{control}-back", claim, source, told, agrees=back is not None)


SOURCES = {"ledbat": RFC6817, "ledbatpp": LEDBATPP, "nice": NICE, "tcp_lp": TCP_LP}


def _unfairness(rows: Rows) -> Iterator[Check]:
    ratios = {(row["control"], row["queue"]): row["ratio"] for row in rows}
    errors = {(row["control"], row["queue"]): row["error"] for row in rows}

    def told(control: str) -> str:
        return f"{ratios[control, 'shared']:.2f} ± {errors[control, 'shared']:.2f}"

    reno, cubic = ratios["newreno", "shared"], ratios["cubic", "shared"]
    claim = "newreno under DropTail: the short path gets more, by more than the noise"
    surely = reno - NOISE * errors["newreno", "shared"] > 1
    yield _check("newreno-rtt", claim, "RFC 5348, section 3.1, from memory", told("newreno"), agrees=surely)
    claim = "cubic under DropTail: the short path gets more, but less so than with NewReno"
    yield _check("cubic-rtt", claim, CUBIC, f"{told('cubic')}, NewReno {told('newreno')}", agrees=1 < cubic < reno)
    claim = "bbr under DropTail: the long path gets more"
    agrees = ratios["bbr", "shared"] < 1
    yield _check("bbr-rtt", claim, "Hock et al. 2017, from memory", told("bbr"), agrees=agrees)
    claim = f"prague under DualPI2: at most the ratio of 100 ms to its virtual 25 ms, {PRAGUE_RATIO:g}"
    agrees = ratios["prague", "shared"] <= PRAGUE_RATIO
    yield _check("prague-rtt", claim, "draft-briscoe-iccrg-prague-congestion-control", told("prague"), agrees=agrees)
    fair = {control: ratio for (control, queue), ratio in ratios.items() if queue == "fq_codel"}
    outside = [control for control, ratio in fair.items() if not ISOLATED[0] <= ratio <= ISOLATED[1]]
    claim = f"a queue for each flow makes the ratio even ({ISOLATED[0]:g} to {ISOLATED[1]:g}), whatever the control"
    found = (
        f"{len(fair) - len(outside)} of {len(fair)} are, all from {min(fair.values()):.2f} to {max(fair.values()):.2f}"
    )
    yield _check("fq-rtt", claim, "RFC 8290", found, agrees=not outside)


def _loss(rows: Rows) -> Iterator[Check]:
    used = {(row["control"], row["loss"]): row["bottleneck_utilization"] for row in rows}

    def ratio(control: str, other: str, at: float) -> float:
        return float(used[control, at] / used[other, at])

    for at in RENO_LOSSES:
        law = min(1.0, 1.2 / math.sqrt(at) * PACKET_BITS / (LOSS_S * LOSS_MBPS * 1e6))
        found = used["newreno", at]
        claim = f"newreno has a window of 1.2 / sqrt(p) at p = {100 * at:g} %, within a factor of {WITHIN_RENO:g}"
        told = f"utilization {found:.3f}, by the law {law:.3f}"
        agrees = 1 / WITHIN_RENO <= found / law <= WITHIN_RENO
        yield _check("newreno-loss", claim, "RFC 3649, from memory", told, agrees=agrees)
    worst = min(ratio("cubic", "newreno", at) for at in RENO_LOSSES)
    claim = "cubic gets at least what NewReno gets (within 5 %)"
    yield _check("cubic-loss", claim, f"{CUBIC}, section 4.3", f"{worst:.2f} times or more", agrees=worst >= FULL)
    worst = max(ratio("ledbat", "newreno", at) for at in RENO_LOSSES)
    claim = "ledbat gets no more than NewReno (within 5 %)"
    yield _check("ledbat-loss", claim, RFC6817, f"{worst:.2f} times at most", agrees=worst <= 1 / FULL)
    for control, source in (
        ("westwood", "Mascolo et al. 2001, from memory"),
        ("cdg", "Hayes and Armitage 2011, from memory"),
    ):
        more = ratio(control, "newreno", 0.01)
        claim = f"{control} gets more than NewReno at 1 % of random loss"
        yield _check(f"{control}-loss", claim, source, f"{more:.1f} times", agrees=more > 1)
    for control, at in (("bbr", 0.02), ("bbr3", 0.01)):
        found = used[control, at]
        claim = f"{control} keeps most of the link (at least {MOST:g}) at {100 * at:g} % of random loss"
        yield _check(f"{control}-loss", claim, BBR, f"{found:.3f}", agrees=found >= MOST)


CLAIMS = {
    "alone": _alone,
    "together": _together,
    "latecomer": _latecomer,
    "yielding": _yielding,
    "recovery": _recovery,
    "unfairness": _unfairness,
    "loss": _loss,
}


def _last(rows: Rows, control: str) -> Mapping[str, Any]:
    """Return the row of the last window of time."""
    return max((row for row in rows if row["control"] == control), key=lambda row: float(row["from_s"]))
