"""Which speed is aimed at, and whether the numbers of `make bench` reach it."""

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks import media, startup
from benchmarks.common import Document, table, yes
from benchmarks.scaling import AS_NS2, DEFAULT, MAX_FLOWS

FEWEST, MOST = 10, 10_000
# Least ratio to the processor time of Sojourn with a transport.
PEERS = (("ns-2", AS_NS2, 25), ("ns-3", AS_NS2, 250), ("htsim", AS_NS2, 2), ("htsim", DEFAULT, 2))
# Most that the cost of a packet may grow from the fewest flows on, each with its own RTT.
GROWTH = ((AS_NS2, MOST, 1.6), (DEFAULT, MOST, 2.0), (DEFAULT, MAX_FLOWS, 2.5))
MEMORY_MB = 150
IDLE_BYTES = 1000
SPEEDUP = 1.8


def section(document: Document) -> str:
    """Return a table of the aims."""
    return table(["What", "Measured>", "Aim>", "Reached"], [*_peers(document), *_flows(document), *_others(document)])


def verdict(document: Document) -> str:
    """Return the aims that are missed, one on a line."""
    rows = [*_peers(document), *_flows(document), *_others(document)]
    return "\n".join(f"{what}: {found} ({aim})" for what, found, aim, reached in rows if reached != yes(True))


def growth(rows: Sequence[dict[str, Any]], most: int, own: bool, simulator: str) -> float | None:
    """Return how many times more a packet costs with so many flows than with the fewest, where that was measured."""
    cost = {row["flows"]: row["packet_ns"] for row in rows if (row["simulator"], row["own_rtt"]) == (simulator, own)}
    return cost[most] / cost[FEWEST] if most in cost else None


def _row(what: str, found: str, aim: str, reached: bool) -> list[str]:
    return [what, found, aim, yes(reached)]


def _peers(document: Document) -> Iterator[list[str]]:
    """Yield each peer's slowest variant, which is how it is used, and its fastest, the least that it can do."""
    rows = document["comparison"]["newreno"]
    ours = {row["variant"]: row["net_s"] for row in rows if row["simulator"] == "Sojourn"}
    for name, transport, least in PEERS:
        if ratios := [row["net_s"] / ours[transport] for row in rows if row["simulator"] == name]:
            # The same one where a peer has one variant.
            for ratio, how in {min(ratios): "at its fastest", max(ratios): "as it is used"}.items():
                what = f"Times the time of {transport}: {name} {how}"
                yield _row(what, f"{ratio:.1f}", f"at least {least}", ratio >= least)


def _flows(document: Document) -> Iterator[list[str]]:
    rows = document["scaling"]["rows"]
    for simulator, flows, limit in GROWTH:
        if (grown := growth(rows, flows, own=True, simulator=simulator)) is not None:
            what = f"Cost of a packet, {flows:,} flows with own RTTs to {FEWEST}: {simulator}"
            yield _row(what, f"{grown:.2f}", f"at most {limit:g}", grown <= limit)
    most = (DEFAULT, MOST, True)
    peak = next(row["peak_bytes"] for row in rows if (row["simulator"], row["flows"], row["own_rtt"]) == most)
    if peak is not None:
        what = f"Memory of {MOST:,} flows with own RTTs, MB"
        yield _row(what, f"{peak / 1e6:.0f}", f"at most {MEMORY_MB}", peak <= MEMORY_MB * 1e6)
    if (idle := document["idle"]["bytes_each"]) is not None:
        yield _row(
            "Memory of a flow that does nothing, B", f"{idle:,.0f}", f"at most {IDLE_BYTES:,}", idle <= IDLE_BYTES
        )


def _others(document: Document) -> Iterator[list[str]]:
    local = [row for row in document["campaign"] if row.get("how", "local") == "local"]
    if local[-1]["jobs"] > 1:
        speedup = local[0]["wall_s"] / local[-1]["wall_s"]
        what = f"Campaign, {local[-1]['jobs']} processors: times one"
        yield _row(what, f"{speedup:.2f}", f"at least {SPEEDUP:g}", speedup >= SPEEDUP)
    for name, aim in (("disciplines", "droptail"), ("controls", "newreno")):
        rows = [row for row in document["kinds"][name] if "refused" not in row]
        within = sum(row["packet_ratio"] <= row["aim"] for row in rows)
        what = f"{name.capitalize()} within {_aims(rows)} times `{aim}`'s time for a packet"
        yield _row(what, f"{within}", f"all {len(rows)}", within == len(rows))
    if document.get("media") is not None:
        wall_s = document["media"]["rows"][0]["wall_s"]
        what = "A minute of WiFi with four stations, ms"
        yield _row(what, f"{1e3 * wall_s:.0f}", f"at most {1e3 * media.LIMIT_S:.0f}", wall_s <= media.LIMIT_S)
    slowest = max(row["wall_s"] for row in document["startup"])
    yield _row("Start-up of a command, s", f"{slowest:.3f}", f"at most {startup.AIM_S}", slowest <= startup.AIM_S)


def _aims(rows: Sequence[dict[str, Any]]) -> str:
    return " or ".join(f"{aim:g}" for aim in sorted({row["aim"] for row in rows}))
